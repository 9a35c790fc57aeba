#include "inspect/causal/causes.h"

#include "inspect/causal/baseline.h"
#include "inspect/causal/rank_correlation.h"
#include "inspect/views/view.h"
#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"

#include <heed/files/utf8.h>
#include <heed/nn/hook.h>

#include <cmath>
#include <map>

using namespace heed;

namespace {

// Two pairs of twins and one sentence alone, of different lengths.
std::vector<Example> sentences() {
  const auto make = [](std::vector<std::string> tokens, int antecedent, int other, int twin) {
    Example e;
    e.query = 2;
    e.antecedent = antecedent;
    e.distractor = other;
    e.answer = tokens[static_cast<std::size_t>(antecedent)];
    e.decider = tokens.back();
    e.tokens = std::move(tokens);
    e.twin = twin;
    return e;
  };
  return {make({"dog", "street", "it", "was", "tired"}, 0, 1, 2), make({"animal", "street", "it", "too"}, 1, 0, -1),
          make({"dog", "street", "it", "was", "too"}, 1, 0, 0),
          make({"the", "street", "it", "was", "too", "tired"}, 0, 1, 4),
          make({"the", "street", "it", "was", "too", "because"}, 1, 0, 3)};
}

constexpr std::size_t all = 100;

// Answers with one value replaced by what `edit` makes of it, for each sentence alone.
std::vector<HeldOut::Answer> by_hand(const HeldOut& held_out, const std::string& wanted,
                                     const std::function<void(std::vector<double>&, std::int64_t T)>& edit) {
  return held_out.answers([&](const std::string& name, Tensor& value, std::size_t) {
    if (name != wanted) return;
    std::vector<double> values = value.to_vector();
    edit(values, value.size(2));
    value = tensor(value.shape(), values);
  });
}

void check_equal(const std::vector<HeldOut::Answer>& a, const std::vector<HeldOut::Answer>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].probability == Approx(b[i].probability).epsilon(1e-5));
    CHECK(a[i].word == b[i].word);
  }
}

std::vector<HeldOut::Answer> unchanged(const HeldOut& held_out) {
  return held_out.answers([](const std::string&, Tensor&, std::size_t) {});
}

bool differ(const std::vector<HeldOut::Answer>& a, const std::vector<HeldOut::Answer>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i].probability - b[i].probability));
  return most > 1e-4;
}

}  // namespace

TEST_CASE("held-out sentences stand beside their twins, and are as many as asked for") {
  const SavedModel model = small_model();
  const HeldOut held_out(model, sentences(), all);
  REQUIRE(held_out.sentences().size() == 5);
  for (std::size_t i = 0; i < 4; ++i) CHECK(held_out.sentences()[i].twin == static_cast<int>(i ^ 1));
  CHECK(held_out.sentences()[1].tokens.back() == "too");
  CHECK(held_out.sentences()[4].twin == -1);
  CHECK(HeldOut(model, sentences(), 1).sentences().size() == 2);  // no pair is parted
  std::vector<Example> unknown = sentences();
  unknown[1].tokens[0] = "cat";
  CHECK(message([&] { HeldOut(model, unknown, all); }) ==
        "not among the 14 words that the model knows: 'cat' (did you mean 'it'?)");
}

TEST_CASE("cutting an edge takes its weight to 0 and leaves the others their proportions") {
  const SavedModel model = small_model();
  const HeldOut held_out(model, sentences(), all);
  const int layer = GENERATE(0, 1);
  const Edge edge{2, 1};
  const auto renormalised = [&](bool only) {
    return by_hand(held_out, value_of(layer, "weights"), [=](std::vector<double>& w, std::int64_t T) {
      for (std::size_t b = 0; b < 5; ++b) {
        double* row = &w[((b * 2 + 1) * static_cast<std::size_t>(T) + 2) * static_cast<std::size_t>(T)];  // head 1
        const double of_edge = row[1];
        for (std::int64_t key = 0; key < T; ++key) row[key] = only ? key == 1 : key == 1 ? 0 : row[key] / (1 - of_edge);
      }
    });
  };
  const auto edge_of = [=](const Example&) { return edge; };
  const auto cut_answers = held_out.answers(cut({layer, 1}, held_out, edge_of));
  check_equal(cut_answers, renormalised(false));
  check_equal(held_out.answers(keep_only({layer, 1}, held_out, edge_of)), renormalised(true));
  CHECK(differ(cut_answers, unchanged(held_out)));
  check_equal(held_out.answers(cut({layer, 1}, held_out, [](const Example&) { return Edge{}; })), unchanged(held_out));
}

TEST_CASE("a head's output is zeroed, averaged, or taken from the twin") {
  const SavedModel model = small_model();
  const HeldOut held_out(model, sentences(), all);
  const auto before = unchanged(held_out);

  // Without its rows of W_O a head gives nothing.
  SavedModel without = small_model();
  Tensor W_O = without.parameters["encoder.0.attention.W_O.weight"];  // (2 x 5, 8)
  std::vector<double> values = W_O.to_vector();
  std::fill_n(values.begin(), 5 * 8, 0.0);
  W_O.copy_from(tensor(W_O.shape(), values));
  const auto zeroed = held_out.answers(zero_output({0, 0}));
  check_equal(zeroed, unchanged(HeldOut(without, sentences(), all)));
  CHECK(differ(zeroed, before));

  // In the last layer the query's output is all that the answer is made of: with the twin's, the answer is the twin's.
  const auto patched = held_out.answers(output_of_twin({1, -1}, held_out));
  for (std::size_t i = 0; i < 4; ++i) CHECK(patched[i].word == before[i ^ 1].word);
  CHECK(patched[4].probability == before[4].probability);  // has no twin
  CHECK(differ(patched, before));

  const Baseline baseline(held_out);
  std::vector<double> at_query(10, 0.0), elsewhere(10, 0.0);
  std::size_t first_word = 0, others = 0;
  for (const Example& e : held_out.sentences()) {
    const Hook hook([&](const std::string& name, Tensor& value) {
      if (name != "encoder.1.attention.heads") return;
      for (int t = 0; t < std::ssize(e.tokens); ++t) {
        for (std::size_t d = 0; d < 10; ++d) {
          (t == 2 ? at_query : elsewhere)[d] += value.at({0, static_cast<int>(d / 5), t, static_cast<int>(d % 5)});
        }
        others += t != 2;
      }
    });
    (*model.reader)(reader_input(*model.reader, model.vocabulary, e));
    ++first_word;
  }
  for (std::size_t d = 0; d < 10; ++d) {
    CHECK(baseline.mean_output(1).at_query[d] == Approx(at_query[d] / 5).margin(1e-6));
    CHECK(baseline.mean_output(1).elsewhere[d] == Approx(elsewhere[d] / static_cast<double>(others)).margin(1e-6));
  }
  const auto averaged = held_out.answers(mean_output({1, -1}, held_out, baseline.mean_output(1)));
  for (const HeldOut::Answer& answer : averaged) CHECK(answer.word == averaged[0].word);  // nothing of the text is left
  const SentenceAttention read = attend(*model.reader, model.vocabulary, sentences()[0]);
  CHECK(baseline.weight(0, {1, 0}, Role::query, 4) == Approx(read.layers[1].at({0, 2, 4})));
  CHECK(baseline.weight(0, {1, -1}, Role::decider, 0) ==
        Approx((read.layers[1].at({0, 4, 0}) + read.layers[1].at({1, 4, 0})) / 2));
}

TEST_CASE("rank_correlation is Spearman's") {
  CHECK(rank_correlation({1, 2, 3, 4}, {10, 30, 20, 40}) == Approx(0.8));
  CHECK(rank_correlation({1, 2, 3}, {3, 2, 1}) == Approx(-1));
  CHECK(rank_correlation({5, 5, 7}, {1, 2, 3}) == Approx(std::sqrt(3) / 2));  // ties share a rank
  CHECK(std::isnan(rank_correlation({1, 1}, {1, 2})));
}

TEST_CASE("a logit is the sum of what heads brought from tokens and of the biases") {
  const auto tie = GENERATE(Tie::none, Tie::K_is_V);
  SavedModel model = small_model(Positions::learned, tie, Bias::yes);
  for (const auto& [name, parameter] : model.parameters) {  // biases and gains begin as 0 and 1
    std::vector<double> values = parameter.to_vector();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.3 * std::sin(static_cast<double>(i * i + 1));
    Tensor(parameter).copy_from(tensor(parameter.shape(), values));
  }
  const Example example = question(model, "The dog didn't cross the street because it was too tired");
  const Attribution one = attribute(model, example);
  REQUIRE(one.terms.size() == 22);
  std::vector<std::string> rest;
  for (const auto& part : one.rest) rest.push_back(part.what);
  CHECK(rest == std::vector<std::string>{"W_O bias", "MLP", "final norm bias", "output bias"});
  for (const auto& part : one.rest) CHECK(std::abs(part.logit) > 1e-4);
  CHECK(one.sum() == Approx(one.logit).epsilon(1e-5));
  const SentenceAttention read = attend(*model.reader, model.vocabulary, example);
  CHECK(one.answer == read.predicted);
  CHECK((one.query == 7 && one.layer == 1));
}

TEST_CASE("causes has a row for each intervention, and the baseline beside it") {
  const SavedModel model = small_model();
  const Causes found = causes(model, sentences(), {question(model, "The dog was it")});
  CHECK((found.step == 400 && found.sentences == 5 && found.held_out == 5));
  CHECK(found.chance == 0.5);
  CHECK(found.left_out.empty());
  REQUIRE(found.pointing);
  std::map<int, int> count;
  for (const Cause& row : found.rows) {
    ++count[row.what];
    CHECK(row.accuracy >= 0);
    CHECK(row.sentences == (row.what == Cause::patch_head || row.what == Cause::patch_layer ? 4
                            : row.to == "rest"                                              ? 4
                                                                                            : 5));
  }
  // 2 layers x 2 heads; from the query 5 edges, between the other roles 9 in the first layer.
  CHECK(count == std::map<int, int>{{Cause::zero_ablation, 4},
                                    {Cause::mean_ablation, 4},
                                    {Cause::edge, 4 * 5 + 2 * 9},
                                    {Cause::only_edge, 4},
                                    {Cause::edge_all_heads, 2 * 5},
                                    {Cause::patch_head, 4},
                                    {Cause::patch_layer, 2}});
  // A row against the answers themselves.
  const HeldOut held_out(model, sentences(), all);
  const auto before = unchanged(held_out);
  const auto after = held_out.answers(cut({1, 0}, held_out, [](const Example& e) {
    return Edge{e.query, e.antecedent};
  }));
  double change = 0, squares = 0, weight = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    const double difference = after[i].probability - before[i].probability;
    change += difference / 5;
    squares += difference * difference / 5;
    const Example& e = held_out.sentences()[i];
    weight += attend(*model.reader, model.vocabulary, e).layers[1].at({0, e.query, e.antecedent}) / 5;
  }
  const Cause* row = found.find(Cause::edge, 1, 0, "antecedent");
  REQUIRE(row);
  CHECK(row->probability == Approx(change));
  CHECK(row->spread == Approx(std::sqrt(squares - change * change)));
  CHECK(row->weight == Approx(weight));

  const Json json = causes_json(found);
  CHECK(json["pointing"]["layer"] == found.pointing->layer);
  CHECK(json["rows"][0]["what"] == "head zero");
  CHECK(json["rows"].back()["what"] == "patch layer");
  CHECK(json["rows"].back()["head"].is_null());
  CHECK(json["rank_correlation"]["last_layer"] == found.rank_correlation_last);
  CHECK(json["attribution"][0]["terms"].size() == 2 * 4);
}

TEST_CASE("what does not apply to the sentences is left out, and said") {
  const SavedModel model = small_model();
  std::vector<Example> bare = sentences();
  for (Example& e : bare) e.antecedent = e.distractor = e.twin = -1, e.decider = "";
  const Causes found = causes(model, bare, {});
  CHECK(found.left_out == std::vector<std::string>{
                              "No sentence says what its query refers to: edges to an antecedent are left out.",
                              "No sentence has another candidate: edges to it are left out, and chance is not known.",
                              "No sentence names another word that decides: edges to it are left out.",
                              "No sentence has a twin: there is nothing to patch with."});
  CHECK_FALSE(found.pointing);
  for (const Cause& row : found.rows) {
    CHECK((row.to.empty() || row.to == "itself" || row.to == "rest"));
    CHECK(row.what != Cause::only_edge);
    CHECK(row.what != Cause::patch_head);
  }
  const Json json = causes_json(found);
  CHECK(json["chance"].is_null());
  CHECK(json["pointing"].is_null());
  CHECK(json["twin_accuracy"].is_null());
  CHECK(causes_view(found, {}).find(found.left_out[3]) != std::string::npos);
}

TEST_CASE("causes_view fits the terminal, and shows the layer and head chosen") {
  const SavedModel model = small_model();
  const Causes found = causes(model, sentences(), {question(model, "The dog was it")});
  const std::string text = causes_view(found, {});
  CHECK(text.starts_with("step 400: 5 of 5 held-out sentences\n"));
  CHECK(text.find("layer 2 all heads at once\n") != std::string::npos);
  CHECK(text.find("    in 4 of 5 sentences\n") != std::string::npos);
  CHECK(text.find("\nThe dog was it\nthe logit of ") != std::string::npos);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    INFO(text.substr(begin, end - begin));
    CHECK(display_width(text.substr(begin, end - begin)) <= 80);
    begin = end + 1;
  }
  CHECK(text.find("brackets") == std::string::npos);  // no antecedent is known
  Causes marked = found;
  marked.attribution[0].antecedent = 1;
  CHECK(causes_view(marked, {}).ends_with("\n[brackets] mark the antecedent: the token that the query refers to.\n"));
  View view;
  view.layer = 2, view.head = 1;
  const std::string one = causes_view(found, view);
  CHECK(one.find("layer 2 head 1\n") != std::string::npos);
  CHECK(one.find("layer 1 head") == one.find("layer 1 head 1 alone"));
  CHECK(one.find("all heads at once") == std::string::npos);
}
