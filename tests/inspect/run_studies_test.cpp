#include "inspect/run_studies.h"

#include "tests/catch.h"
#include "tests/explain/studies/helpers.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"
#include "tests/scratch.h"
#include "views/view.h"

#include <heed/files/file.h>
#include <heed/formats/datasets/jsonl.h>

#include <algorithm>
#include <cmath>

using namespace heed;

namespace {

// Held-out sentences in words of small_model(), one in three without an antecedent.
std::vector<Example> some_held_out() {
  std::vector<Example> examples;
  for (const char* noun : {"dog", "animal", "street"}) {
    for (const char* end : {"tired", "was", "too"}) {
      Example e;
      e.tokens = {"The", noun, "was", end, "because", "it", "was", end};
      e.query = 5;
      e.antecedent = end == std::string("too") ? -1 : 1;
      e.answer = noun;
      examples.push_back(e);
    }
  }
  return examples;
}

// Minimal pairs in words of small_model().
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
        e.cue = e.tokens[7];
        e.answer = turned ? second : first;
        e.counterpart = static_cast<int>(examples.size()) + (turned ? -1 : 1);
        examples.push_back(e);
      }
    }
  }
  return examples;
}

// Scales the parameters, so that the heads attend to few tokens.
Model sharp(Model model, double factor = 3) {
  for (const auto& [name, value] : model.parameters) {
    Tensor parameter = value;
    parameter.copy_from((value.detach() * factor).detach());
  }
  return model;
}

// Swaps the two heads of a layer.
Model with_heads_swapped(Model model, int layer) {
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
  void add(const Model& model) {
    paths.push_back(path / fmt::format("seed-{}", paths.size() + 1));
    std::filesystem::create_directory(paths.back());
    save_model(model_path(paths.back()), model);
    write_jsonl(held_out_path(paths.back()), pairs());
  }
};

}  // namespace

TEST_CASE("causes names the file of a run that is missing, empty or from another run") {
  const Scratch run;
  const Model model = small_model();
  const auto error = [&] {
    std::string text = message([&] { causes(model, run.path); });
    const std::size_t at = text.find(run.path.string());
    return at == std::string::npos ? text : text.replace(at, run.path.string().size(), "RUN");
  };
  CHECK(error().starts_with("RUN/held_out.jsonl: is missing; "));
  write_file(held_out_path(run.path), "");
  CHECK(error() == "RUN/held_out.jsonl: no examples; expected one JSON object per line");
  write_jsonl(held_out_path(run.path), sentences());
  CHECK(error() == "RUN: has no snapshots of attention");
  write_dump(run.path, {400, {chinese_sentence()}});
  CHECK(error() ==
        "RUN/attention/step-000400.safetensors: comes from a model of 1 layer with 1 head, but the run's model has 2 "
        "layers with 2 heads: they belong to different runs");
  SentenceAttention other = english_sentence();
  other.tokens[1] = "wombat";
  write_dump(run.path, {400, {other}});
  CHECK(error() ==
        "RUN/attention/step-000400.safetensors: the run's model does not know the word 'wombat': they belong to "
        "different runs");
  write_dump(run.path, {400, {english_sentence()}});
  CHECK(error() == "no error");
}

TEST_CASE("cause_history gives at each step the results of causes() for the model of that step") {
  const Scratch run;
  write_jsonl(held_out_path(run.path), some_held_out());
  Model first = small_model(Positions::none), last = small_model();
  first.step = 0;
  std::filesystem::create_directory(run / "models");
  save_model(dumped_model_path(run.path, 0), first);
  save_model(model_path(run.path), last);
  const CauseHistory history = cause_history(run.path);
  CHECK((history.sentences == 6 && history.held_out == 9));
  REQUIRE(history.steps.size() == 2);
  std::vector<Example> used = some_held_out();
  std::erase_if(used, [](const Example& e) { return e.antecedent < 0; });
  for (const Model* model : {&first, &last}) {
    const Causes found = causes(*model, used, {});
    const CauseHistory::Step& step = history.steps[model == &last];
    CHECK(step.step == model->step);
    CHECK(step.accuracy == Approx(found.accuracy.share));
    CHECK(step.probability == Approx(found.probability));
    for (int layer = 0; layer < 2; ++layer) {
      const auto l = static_cast<std::size_t>(layer);
      for (int head = 0; head < 2; ++head) {
        const Cause* edge = found.find(Cause::What::edge, layer, head, "antecedent");
        const CauseHistory::Edge& here = step.heads[l][static_cast<std::size_t>(head)];
        CHECK(here.weight.share == Approx(edge->weight));
        CHECK(here.effect.share == Approx(-edge->probability).margin(1e-12));
        CHECK(here.accuracy.share == Approx(edge->accuracy.share));
        CHECK(here.accuracy.error() == Approx(edge->accuracy.error()));
      }
      const Cause* all = found.find(Cause::What::edge_all_heads, layer, -1, "antecedent");
      CHECK(step.layers[l].effect.share == Approx(-all->probability).margin(1e-12));
      CHECK(step.layers[l].weight.share == Approx(all->weight));
    }
  }
  CHECK(cause_history(run.path, {.most = 2}).sentences == 2);
  const Json json = history_json(history);
  CHECK(json["steps"][1]["heads"][1][0]["weight"] == history.steps[1].heads[1][0].weight.share);
  CHECK(json["steps"][1]["heads"][1][0]["effect_error"] == history.steps[1].heads[1][0].effect.error());
  CHECK(json["verdict"][1].size() == 2);
  std::filesystem::remove_all(run / "models");
  CHECK(message([&] { cause_history(run.path); }) ==
        run.path.string() +
            ": keeps only the last model, so earlier steps cannot be "
            "measured; RunWriter keeps the others with {.keep_models = true}");
}

TEST_CASE("cause_history refuses a run whose held-out sentences have no antecedents") {
  const Scratch run;
  Example e = some_held_out()[2];
  write_jsonl(held_out_path(run.path), {e});
  std::filesystem::create_directory(run / "models");
  save_model(dumped_model_path(run.path, 400), small_model());
  CHECK(message([&] {
          cause_history(run.path);
        }).ends_with(": the held-out sentences have no antecedents, so no edge can be cut"));
}

TEST_CASE("match_heads matches swapped heads, and random matchings are less similar") {
  Runs runs;
  for (int i = 0; i < 5; ++i) {
    runs.add(i % 2 ? with_heads_swapped(sharp(small_model()), i / 2) : sharp(small_model()));
  }
  write_jsonl(held_out_path(runs.paths[1]), {pairs()[0], pairs()[1]});
  const MatchedHeads found = match_heads(runs.paths);
  CHECK(found.sentences == 24);
  CHECK((found.runs[0].held_out == 24 && found.runs[1].held_out == 2));
  CHECK(matched_heads_view(found, {}).find(
            "\nseed-2 held out only 2 of these sentences; it may have trained on the rest.\n--test") !=
        std::string::npos);
  CHECK((found.reference == 0 || found.reference == 2 || found.reference == 4));
  REQUIRE(found.roles.size() == 4);
  CHECK(found.similarity == Approx(1).margin(1e-5));
  CHECK(found.random < 0.99);
  for (std::size_t role = 0; role < 4; ++role) {
    const int layer = static_cast<int>(role) / 2, head = static_cast<int>(role) % 2;
    for (std::size_t i = 0; i < 5; ++i) {
      const MatchedHeads::Member& member = found.roles[role].members[i];
      const bool swapped = i % 2 == 1 && static_cast<int>(i) / 2 == layer;
      CHECK((member.layer == layer && member.head == (swapped ? 1 - head : head)));
      CHECK(member.similarity == Approx(1).margin(1e-5));
    }
    CHECK(found.roles[role].random < found.roles[role].similarity);
  }
  const Json json = matched_heads_json(found);
  CHECK(json["roles"][1]["members"][1]["head"] == 0);
  CHECK(json["runs"][4]["name"] == runs.paths[4].string());
}

TEST_CASE(
    "match_heads asks the sentences that all runs held out, those of the first where they are few, or those of a "
    "file") {
  const auto numbered = [](int first, int end) {
    std::vector<Example> sentences;
    for (int i = first; i < end; ++i) {
      const auto word = [&](int n) { return tired_animal[static_cast<std::size_t>(n % 11)]; };
      sentences.push_back({.tokens = {word(i), word(i / 11 + 1), "it", "was"}, .query = 2, .antecedent = 0});
      sentences.back().answer = sentences.back().tokens[0];
    }
    return sentences;
  };
  Runs runs;
  for (int i = 0; i < 2; ++i) runs.add(sharp(small_model()));
  write_jsonl(held_out_path(runs.paths[0]), numbered(0, 110));
  write_jsonl(held_out_path(runs.paths[1]), numbered(5, 115));
  const MatchedHeads common = match_heads(runs.paths);
  CHECK((common.sentences == 105 && common.runs[0].held_out == 105 && common.runs[1].held_out == 105));
  CHECK(matched_heads_view(common, {}).find("may have trained") == std::string::npos);
  write_jsonl(held_out_path(runs.paths[1]), numbered(20, 115));
  const MatchedHeads of_first = match_heads(runs.paths);
  CHECK((of_first.sentences == 110 && of_first.runs[1].held_out == 90));
  const std::string test = (runs.paths[0] / "test.jsonl").string();
  write_jsonl(test, numbered(40, 60));
  const MatchedHeads tested = match_heads(runs.paths, {}, test);
  CHECK((tested.sentences == 20 && tested.runs[0].held_out == 20 && tested.runs[1].held_out == 20));
  CHECK(matched_heads_view(tested, {.terminal = {.width = 500}, .layer = {}, .head = {}})
            .starts_with("2 runs answer the same 20 sentences, of " + test));

  // The second run was trained on some of them: it held out 20 to 114, of a file with 0 to 114.
  const std::string own = (runs.paths[1] / "own.jsonl").string();
  write_jsonl(own, numbered(0, 115));
  write_file(runs.paths[1] / "config.yaml", "seed: 1\ndata:\n  train: \"missing.jsonl," + own + "\"\n");
  CHECK(match_heads(runs.paths, {}, test).sentences == 20);
  write_jsonl(test, numbered(15, 60));
  CHECK(message([&] { match_heads(runs.paths, {}, test); }) == test + ": " + runs.paths[1].string() +
                                                                   " was trained on 5 of its 45 sentences, those of " +
                                                                   own + "; name a file on which no run was trained");
}

TEST_CASE("match_heads gives the pointing head and its knockout effects as causes() does") {
  Runs runs;
  const Model first = sharp(small_model());
  runs.add(first);
  for (const double factor : {2.0, 4.0, 5.0}) runs.add(sharp(small_model(), factor));
  for (const double factor : {2.0, 3.0}) runs.add(sharp(small_model(Positions::none), factor));
  // The answers of the first model count as right, so that a knockout changes the accuracy.
  std::vector<Example> held_out = pairs();
  for (Example& e : held_out) e.answer = attend(first, e).predicted;
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

TEST_CASE("match_heads refuses runs whose heads cannot be matched") {
  Runs runs;
  runs.add(small_model());
  Model other;
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
  CHECK(told() ==
        fmt::format("{} has 4 layers of 1 head, but {} differs: only models of the same shape can be compared",
                    runs.paths[1].string(), runs.paths[0].string()));
  std::filesystem::remove(model_path(runs.paths[1]));
  CHECK(told().ends_with("seed-2/model.safetensors: is missing; has the run been saved?"));
  write_jsonl(held_out_path(runs.paths[0]), {pairs()[0], pairs()[1]});
  CHECK(told().find("expected at least 4 held-out sentences, got 2: heads are matched on one half") !=
        std::string::npos);
}
