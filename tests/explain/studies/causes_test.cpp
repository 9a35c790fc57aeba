#include "tests/explain/studies/helpers.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/explain/intervention.h>
#include <heed/explain/studies/causes.h>
#include <heed/files/file.h>
#include <heed/formats/datasets/jsonl.h>

#include <map>

using namespace heed;

TEST_CASE("causes has a row for each intervention, with the accuracy before it") {
  const Model model = small_model();
  const Causes found = causes(model, sentences(), {question(model, "The dog was it")});
  CHECK((found.step == 400 && found.sentences == 5 && found.held_out == 5));
  CHECK((found.chance == 0.6 && found.is_constant));  // "street" is right in 3 of 5
  CHECK(found.attention_alone);                       // small_config() has no residual in the last layer
  CHECK(found.left_out.empty());
  REQUIRE(found.pointing);
  std::map<Cause::What, int> count;
  for (const Cause& row : found.rows) {
    ++count[row.what];
    CHECK(row.accuracy.share >= 0);
    CHECK(row.lost.share == Approx(row.before.share - row.accuracy.share));
    CHECK(row.sentences == (row.what == Cause::What::patch_head || row.what == Cause::What::patch_layer ? 4
                            : row.to == "rest"                                                          ? 4
                                                                                                        : 5));
  }
  // 2 layers x 2 heads; from the query 5 edges, between the other roles 9 in the first layer.
  CHECK(count == std::map<Cause::What, int>{{Cause::What::zero_ablation, 4},
                                            {Cause::What::mean_ablation, 4},
                                            {Cause::What::edge, 4 * 5 + 2 * 9},
                                            {Cause::What::only_edge, 4},
                                            {Cause::What::edge_all_heads, 2 * 5},
                                            {Cause::What::edge_everywhere, 1},
                                            {Cause::What::zero_weight, 4},
                                            {Cause::What::zero_weight_all_heads, 2},
                                            {Cause::What::zero_weight_everywhere, 1},
                                            {Cause::What::patch_head, 4},
                                            {Cause::What::patch_layer, 2}});
  // Compares one row with the answers.
  const HeldOut held_out(model, sentences(), any_number);
  const auto before = held_out.answers();
  const auto after = held_out.answers(cut_in_each({1, 0}, [](const Example& e) {
    return Edge{e.query, {e.antecedent, e.antecedent + 1}};
  }));
  double change = 0, squares = 0, weight = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    const double difference = after[i].probability - before[i].probability;
    change += difference / 5;
    squares += difference * difference / 5;
    const Example& e = held_out.sentences()[i];
    weight += attend(model, e).layers[1].at({0, e.query, e.antecedent}) / 5;
  }
  const Cause* row = found.find(Cause::What::edge, 1, 0, "antecedent");
  REQUIRE(row);
  CHECK(row->probability == Approx(change));
  CHECK(row->spread == Approx(std::sqrt(squares - change * change)));
  CHECK(row->weight == Approx(weight));
}

TEST_CASE("The chance level of causes is the most frequent answer's where that is above a fair choice, in each row") {
  const Model model = small_model();
  std::vector<Example> mostly(24, sentences()[1]);
  for (std::size_t i = 0; i < mostly.size(); ++i) mostly[i].tokens.push_back(i % 2 == 0 ? "dog" : "tired");
  const std::string usual = attend(model, mostly[0]).predicted;
  for (Example& e : mostly) e.answer = usual;
  for (const int i : {3, 9}) mostly[static_cast<std::size_t>(i)].answer = usual == "dog" ? "street" : "dog";
  const Causes found = causes(model, mostly);
  CHECK((found.chance == Approx(22.0 / 24) && found.is_constant));
  for (const Cause& row : found.rows) {
    CHECK((row.verdict.chance == Approx(22.0 / 24) && row.verdict.is_constant));
    CHECK(row.verdict.kind == Verdict::Kind::no_answers);
  }
  for (std::size_t i = 0; i < mostly.size(); i += 2) mostly[i].answer = "street";
  for (std::size_t i = 1; i < mostly.size(); i += 2) mostly[i].answer = "animal";
  const Causes balanced = causes(model, mostly);
  CHECK((balanced.chance == 0.5 && !balanced.is_constant));
}

TEST_CASE("An answer flips if it becomes the counterpart's, and was another one before") {
  const Model model = small_model();
  const HeldOut held_out(model, sentences(), any_number);
  REQUIRE(held_out.sentences()[0].counterpart == 1);
  const HeldOut::Answer own{0.5, held_out.right(0)}, counterpart{0.5, held_out.right(1)};
  CHECK(held_out.flips(0, own, counterpart));
  CHECK(held_out.flips(1, counterpart, own));
  CHECK_FALSE(held_out.flips(0, counterpart, counterpart));  // the answer does not change
  CHECK_FALSE(held_out.flips(0, counterpart, own));
}

TEST_CASE("causes leaves out studies that need annotations which the sentences do not have, and says so") {
  const Model model = small_model();
  std::vector<Example> bare = sentences();
  for (Example& e : bare) e.antecedent = e.distractor = e.counterpart = -1, e.cue = "";
  const Causes found = causes(model, bare, {});
  CHECK(found.left_out ==
        std::vector<std::string>{
            "No sentence has an antecedent: edges to it, to a distractor and to a cue word are left out.",
            "No sentence has a counterpart: there is nothing to patch with."});
  CHECK_FALSE(found.pointing);
  for (const Cause& row : found.rows) {
    CHECK((row.to.empty() || row.to == "itself" || row.to == "rest"));
    CHECK(row.what != Cause::What::only_edge);
    CHECK(row.what != Cause::What::patch_head);
  }
}

TEST_CASE("causes reports strictly increasing progress") {
  const Model model = small_model();
  double last = -1;
  int times = 0;
  const OnProgress progress = [&](const std::string& what, double share, double) {
    CHECK(what == "causes");
    CHECK(share > last);
    last = share;
    ++times;
  };
  causes(model, sentences(), {}, {.progress = progress});
  CHECK(times > 60);
  CHECK(last > 0.6);
  CHECK(last < 1);
}

TEST_CASE("causes accepts sentences of one token") {
  Example one;
  one.tokens = {"it"};
  one.query = 0;
  one.answer = "it";
  const Causes found = causes(small_model(), {one, one}, {});
  CHECK(found.sentences == 2);
  CHECK(std::isfinite(found.accuracy.share));
}

TEST_CASE("causes also removes the edge to the antecedent in all heads of all layers") {
  using What = Cause::What;
  const auto [what, in_each] = GENERATE(std::pair(What::edge_everywhere, &cut_in_each),
                                        std::pair(What::zero_weight_everywhere, &zero_weight_in_each));
  const Model model = small_model();
  const Causes found = causes(model, sentences(), {});
  const HeldOut held_out(model, sentences(), any_number);
  const auto before = held_out.answers();
  const auto after = held_out.answers(in_each({-1, -1}, [](const Example& e) {
    return Edge{e.query, {e.antecedent, e.antecedent + 1}};
  }));
  double change = 0, weight = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    change += (after[i].probability - before[i].probability) / 5;
    const Example& e = held_out.sentences()[i];
    for (const Tensor& layer : attend(model, e).layers) {
      for (const int head : {0, 1}) weight += layer.at({head, e.query, e.antecedent}) / 20;
    }
  }
  const Cause* row = found.find(what, -1, -1, "antecedent");
  REQUIRE(row);
  CHECK(row->probability == Approx(change));
  CHECK(row->weight == Approx(weight));
}

TEST_CASE("causes of a chosen head gives the same rows as causes of all heads") {
  const Model model = small_model();
  const Causes all = causes(model, sentences(), {}, {.most = any_number});
  REQUIRE(all.pointing);
  const Heads chosen{1 - all.pointing->layer, 1};
  const Causes some = causes(model, sentences(), {}, {.most = any_number}, chosen);
  CHECK(some.rows.size() < all.rows.size());
  CHECK(some.pointing->head == all.pointing->head);
  CHECK(some.pointing->others.share == all.pointing->others.share);
  for (const Cause& row : some.rows) {
    const bool is_chosen = row.layer == chosen.layer && row.head == chosen.head;
    const bool is_pointing = row.layer == all.pointing->layer && row.head == all.pointing->head;
    CHECK((is_chosen || is_pointing || row.head == -1));
    const auto same = std::ranges::find_if(all.rows, [&](const Cause& other) {
      return other.what == row.what && other.layer == row.layer && other.head == row.head && other.from == row.from &&
             other.to == row.to;
    });
    REQUIRE(same != all.rows.end());
    CHECK(same->probability == row.probability);
    CHECK(same->accuracy.share == row.accuracy.share);
  }
  CHECK(std::ranges::any_of(some.rows, [&](const Cause& row) { return row.layer == chosen.layer && row.head == 1; }));
}

TEST_CASE("causes keeps a single edge only in heads with enough weight on it") {
  const Model model = small_model();
  for (const auto& [name, value] : model.parameters) {  // makes attention sharp in some heads
    if (name.find("W_Q") == name.npos && name.find("W_K") == name.npos) continue;
    Tensor(value).copy_from((value.detach() * 5.0).detach());
  }
  const Causes found = causes(model, sentences(), {});
  int kept = 0, left = 0;
  for (int layer = 0; layer < 2; ++layer) {
    for (int head = 0; head < 2; ++head) {
      const bool looks = found.find(Cause::What::edge, layer, head, "antecedent")->weight >= kept_weight;
      CHECK((found.find(Cause::What::only_edge, layer, head, "antecedent") != nullptr) == looks);
      (looks ? kept : left) += 1;
    }
  }
  CHECK((kept > 0 && left > 0));
}

TEST_CASE("causes reports how much more accuracy a layer loses than its pointing head") {
  const Model model = small_model();
  const Causes found = causes(model, sentences(), {});
  REQUIRE(found.pointing);
  const auto& [layer, head, weight, others, flips_more] = *found.pointing;
  const Cause* alone = found.find(Cause::What::edge, layer, head, "antecedent");
  const Cause* in_layer = found.find(Cause::What::edge_all_heads, layer, -1, "antecedent");
  CHECK(others.share == Approx(in_layer->lost.share - alone->lost.share).margin(1e-12));
}
