#include "inspect/causal/matched_heads.h"

#include "inspect/causal/causes.h"
#include "inspect/views/view.h"
#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/data/tasks/jsonl.h>

#include <algorithm>
#include <cmath>

using namespace heed;

namespace {

// Pairs of twins in words of small_model().
std::vector<Example> pairs() {
  std::vector<Example> examples;
  for (const char* first : {"dog", "animal", "street", "cross"}) {
    for (const char* second : {"was", "too", "the"}) {
      for (const bool turned : {false, true}) {
        Example e;
        e.tokens = {"The", first, "didn't", second, "because", "it", "was", turned ? "tired" : "too"};
        e.query = 5;
        e.antecedent = turned ? 3 : 1;
        e.distractor = turned ? 1 : 3;
        e.decider = e.tokens[7];
        e.answer = turned ? second : first;
        e.twin = static_cast<int>(examples.size()) + (turned ? -1 : 1);
        examples.push_back(e);
      }
    }
  }
  return examples;
}

// Whose heads look at few tokens.
SavedModel sharp(SavedModel model, double factor = 3) {
  for (const auto& [name, value] : model.parameters) {
    Tensor parameter = value;
    parameter.copy_from((value.detach() * factor).detach());
  }
  return model;
}

// The same model with the two heads of a layer in each other's place.
SavedModel with_heads_swapped(SavedModel model, int layer) {
  for (const char* name : {"W_Q.weight", "W_K.weight", "W_V.weight", "W_O.weight"}) {
    Tensor W = model.parameters[fmt::format("encoder.{}.attention.{}", layer, name)];
    const int axis = name == std::string("W_O.weight") ? 0 : 1;
    const std::int64_t half = W.size(axis) / 2;
    W.copy_from(contiguous(concat({slice(W, axis, half, 2 * half), slice(W, axis, 0, half)}, axis)).detach());
  }
  return model;
}

struct Runs : Scratch {
  std::vector<std::filesystem::path> paths;
  void add(const SavedModel& model) {
    paths.push_back(path / fmt::format("seed-{}", paths.size() + 1));
    std::filesystem::create_directory(paths.back());
    save_model(model_path(paths.back()), model);
    write_jsonl(held_out_path(paths.back()), pairs());
  }
};

}  // namespace

TEST_CASE("Heads that were put in each other's place are matched, and no random matching is as alike") {
  Runs runs;
  for (int i = 0; i < 5; ++i) {
    runs.add(i % 2 ? with_heads_swapped(sharp(small_model()), i / 2) : sharp(small_model()));
  }
  write_jsonl(held_out_path(runs.paths[1]), {pairs()[0], pairs()[1]});
  const MatchedHeads found = match_heads(runs.paths);
  CHECK(found.sentences == 24);
  CHECK((found.runs[0].held_out == 24 && found.runs[1].held_out == 2));
  CHECK(matched_heads_view(found, {}).find(
            "\nseed-2 held out only 2 of these sentences; it may have trained on the rest.\n") != std::string::npos);
  CHECK((found.reference == 0 || found.reference == 2 || found.reference == 4));
  REQUIRE(found.roles.size() == 4);
  CHECK(found.similarity == Approx(1).margin(1e-5));
  CHECK(found.random < 0.99);
  CHECK(found.p < 0.001);
  for (std::size_t role = 0; role < 4; ++role) {
    const int layer = static_cast<int>(role) / 2, head = static_cast<int>(role) % 2;
    for (std::size_t i = 0; i < 5; ++i) {
      const MatchedHeads::Member& member = found.roles[role].members[i];
      const bool swapped = i % 2 == 1 && static_cast<int>(i) / 2 == layer;
      CHECK((member.layer == layer && member.head == (swapped ? 1 - head : head)));
      CHECK(member.similarity == Approx(1).margin(1e-5));
    }
    CHECK(found.roles[role].random < found.roles[role].similarity);
    CHECK(found.roles[role].p < 0.05);
  }
  const Json json = matched_heads_json(found);
  CHECK(json["roles"][1]["members"][1]["head"] == 0);
  CHECK(json["runs"][4]["name"] == runs.paths[4].string());
}

TEST_CASE("The head that points, and what it costs to cut it, are as causes() has them") {
  Runs runs;
  const SavedModel first = sharp(small_model());
  runs.add(first);
  for (const double factor : {2.0, 4.0, 5.0}) runs.add(sharp(small_model(), factor));
  for (const double factor : {2.0, 3.0}) runs.add(sharp(small_model(Positions::none), factor));
  // Right is what the first model says, so that a cut changes how many are.
  std::vector<Example> held_out = pairs();
  for (Example& e : held_out) e.answer = attend(*first.network, first.vocabulary, e).predicted;
  write_jsonl(held_out_path(runs.paths[0]), held_out);
  const MatchedHeads found = match_heads(runs.paths);
  CHECK(found.chance == 0.5);
  CHECK(found.runs[0].accuracy == 1);
  CHECK(std::ranges::any_of(found.runs, [](const MatchedHeads::Run& run) {
    return run.pointing->without.share != run.pointing->without_in_layer.share;
  }));
  for (std::size_t i = 0; i < runs.paths.size(); ++i) {
    const Causes expected = causes(load_model(model_path(runs.paths[i])), held_out, {});
    REQUIRE(found.runs[i].pointing);
    const MatchedHeads::Pointing& pointing = *found.runs[i].pointing;
    CHECK(found.runs[i].accuracy == Approx(expected.accuracy.share));
    CHECK((pointing.layer == expected.pointing->layer && pointing.head == expected.pointing->head));
    CHECK(pointing.weight == Approx(expected.pointing->weight).epsilon(1e-6));
    const auto row = [&](Cause::What what, int head, const char* to) {
      return expected.find(what, pointing.layer, head, to);
    };
    const auto equal = [](const Interval& a, const Interval& b) {
      CHECK(a.share == Approx(b.share));
      CHECK(a.error() == Approx(b.error()));
    };
    const Cause *alone = row(Cause::What::edge, pointing.head, "antecedent"),
                *in_layer = row(Cause::What::edge_all_heads, -1, "antecedent");
    equal(pointing.before, alone->before);
    equal(pointing.without, alone->accuracy);
    equal(pointing.without_in_layer, in_layer->accuracy);
    equal(pointing.flipped, row(Cause::What::patch_head, pointing.head, "")->flipped);
    for (const MatchedHeads::Role& role : found.roles) {
      const MatchedHeads::Member& member = role.members[i];
      CHECK(member.effect ==
            Approx(-expected.find(Cause::What::zero_ablation, member.layer, member.head)->probability).margin(1e-6));
      CHECK(member.antecedent ==
            Approx(expected.find(Cause::What::edge, member.layer, member.head, "antecedent")->weight).epsilon(1e-6));
    }
  }
}

TEST_CASE("Runs whose heads cannot be matched are refused") {
  Runs runs;
  runs.add(small_model());
  SavedModel other;
  for (const char* word : {"it", "dog"}) other.vocabulary.add(word);
  other.queries = {"it"};
  make_network(other, answerer_of(small_config()), 1);
  runs.add(other);
  const auto told = [&] { return message([&] { match_heads(runs.paths); }); };
  CHECK(
      told().starts_with(fmt::format("{} cannot read the held-out sentences of {}, so their heads cannot be matched: "
                                     "not among the 2 words that the model knows: 'The'",
                                     runs.paths[1].string(), runs.paths[0].string())));
  TransformerConfig deeper = small_config();
  deeper.layers = 4;
  deeper.block.attention.heads = 1;
  save_model(model_path(runs.paths[1]), small_model(answerer_of(deeper)));
  CHECK(told() == fmt::format("{} has 4 layers of 1 heads, {} others: heads of models of one shape are matched",
                              runs.paths[1].string(), runs.paths[0].string()));
  std::filesystem::remove(model_path(runs.paths[1]));
  CHECK(told().ends_with("seed-2/model.safetensors: is missing; has the run been saved?"));
  write_jsonl(held_out_path(runs.paths[0]), {pairs()[0], pairs()[1]});
  CHECK(told().find("holds 2 sentences; heads are matched on one half of them") != std::string::npos);
}

TEST_CASE("The view of matched heads says who points, what is stable, and what is luck") {
  using Is = MatchedHeads::Pointing::Cause;
  MatchedHeads matched{
      .sentences = 200, .with_antecedent = 132, .with_twin = 100, .runs = {}, .chance = 0.5, .roles = {}};
  const auto about = [](double share) { return Interval{share, share - 0.05, share + 0.05}; };
  const auto add = [&](int layer, int head, double weight, double without, Is cause) {
    matched.runs.push_back(
        {fmt::format("runs/s/seed-{}", matched.runs.size() + 1), 300, 200, 0.9,
         MatchedHeads::Pointing{layer, head, weight, about(1), about(without), about(0.25), about(0.75), cause}});
  };
  add(1, 0, 0.9, 0.25, Is::alone);
  add(1, 1, 0.8, 0.75, Is::shared);
  add(0, 1, 0.6, 0.9, Is::neither);
  add(1, 1, 0.3, 0.9, Is::neither);
  matched.reference = 1;
  const auto member = [](int layer, int head, double effect) {
    return MatchedHeads::Member{layer, head, 0.9, 0.75, 0.1, std::nan(""), effect};
  };
  matched.roles = {{{member(0, 0, 0), member(0, 0, 0), member(0, 0, 0), member(0, 0, 0)}, 0.75, 0.5, 0.25},
                   {{member(1, 0, 0.5), member(1, 1, 0.5), member(0, 1, 0.5), member(1, 1, 0.5)}, 0.9, 0.5, 0.0001}};
  matched.similarity = 0.825, matched.random = 0.5, matched.p = 0.0002;
  const std::string text = matched_heads_view(matched, {});
  CHECK(text.find("right: accuracy over the 132 of 200 sentences whose antecedent is known; without\nit: ") !=
        std::string::npos);
  CHECK(text.find(R"(
The weight of that head is 0.30 to 0.90 over the 4 runs, 0.70 in the median.
A head points, with a weight of 0.5 or more, in 3 of 4 runs: layer 2 in 2, layer
1 in 1.
alone (1 of 3): without that edge in that head, accuracy is not shown to stay
above chance.
shared (1 of 3): the same holds without it in every head of the layer, but not
in that head alone.
another way (1 of 3): without the edge in every head of the layer, accuracy
stays above chance.
With that head patched from the minimal pair, 75.0 % to 75.0 % of 100 answers
flip, 75.0 % in the median of the runs.

run       right  head  weight   without it      in layer   flipped
seed-1  100.0 %   2.1    0.90  25.0 % ± 5.0  25.0 % ± 5.0   75.0 %  alone
seed-2  100.0 %   2.2    0.80  75.0 % ± 5.0  25.0 % ± 5.0   75.0 %  shared
seed-3  100.0 %   1.2    0.60  90.0 % ± 5.0  25.0 % ± 5.0   75.0 %  another way
seed-4  100.0 %   2.2    0.30  90.0 % ± 5.0  25.0 % ± 5.0   75.0 %  another way
)") != std::string::npos);
  CHECK(text.find(R"(
All heads together: 0.82 alike, 0.50 at random, p 0.0002.

head   layer   antecedent     cue word      ablated    alike  random       p
 2.2  3 of 4  0.75 ± 0.00            -  0.50 ± 0.00     0.90    0.50  0.0001
 1.1  4 of 4  0.75 ± 0.00            -  0.00 ± 0.00     0.75    0.50  0.2500
)") != std::string::npos);
  CHECK(text.find("Each head of seed-2, the run most like the others,") != std::string::npos);
  matched.runs[1].held_out = 5, matched.runs[3].held_out = 0;
  CHECK(matched_heads_view(matched, {})
            .starts_with(
                "4 runs answer the same 200 sentences, held out of the first.\nseed-2, seed-4 held out only 0 to 5 "
                "of these sentences; they may have trained on\nthe rest.\n"));
  for (MatchedHeads::Run& run : matched.runs) run.pointing.reset();
  CHECK(matched_heads_view(matched, {}).find("Which head points?") == std::string::npos);
}
