#include "inspect/causal/cause_history.h"

#include "inspect/causal/causes.h"
#include "inspect/views/view.h"
#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/data/tasks/jsonl.h>

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

// A history of one head at steps 0, 10, ..., with a probability of the answer of 0.8.
CauseHistory history_of(const std::vector<std::pair<double, double>>& weights_and_effects) {
  CauseHistory history{.sentences = 6, .held_out = 9, .steps = {}};
  for (const auto& [weight, effect] : weights_and_effects) {
    const CauseHistory::Edge edge{weight, effect, 0.5};
    history.steps.push_back({10 * std::ssize(history.steps), 1, 0.8, {{edge}}, {edge}});
  }
  return history;
}

}  // namespace

TEST_CASE("The history of a look has at each step what causes() finds of that step's model") {
  const Scratch run;
  write_jsonl(held_out_path(run.path), some_held_out());
  SavedModel first = small_model(Positions::none), last = small_model();
  first.step = 0;
  std::filesystem::create_directory(run / "models");
  save_model(dumped_model_path(run.path, 0), first);
  save_model(model_path(run.path), last);
  const CauseHistory history = cause_history(run.path);
  CHECK((history.sentences == 6 && history.held_out == 9));
  REQUIRE(history.steps.size() == 2);
  std::vector<Example> used = some_held_out();
  std::erase_if(used, [](const Example& e) { return e.antecedent < 0; });
  for (const SavedModel* model : {&first, &last}) {
    const Causes found = causes(*model, used, {});
    const CauseHistory::Step& step = history.steps[model == &last];
    CHECK(step.step == model->step);
    CHECK(step.accuracy == Approx(found.accuracy));
    CHECK(step.probability == Approx(found.probability));
    for (int layer = 0; layer < 2; ++layer) {
      const auto l = static_cast<std::size_t>(layer);
      for (int head = 0; head < 2; ++head) {
        const Cause* edge = found.find(Cause::What::edge, layer, head, "antecedent");
        const CauseHistory::Edge& here = step.heads[l][static_cast<std::size_t>(head)];
        CHECK(here.weight == Approx(edge->weight));
        CHECK(here.effect == Approx(-edge->probability).margin(1e-12));
        CHECK(here.accuracy == Approx(edge->accuracy));
      }
      const Cause* all = found.find(Cause::What::edge_all_heads, layer, -1, "antecedent");
      CHECK(step.layers[l].effect == Approx(-all->probability).margin(1e-12));
      CHECK(step.layers[l].weight == Approx(all->weight));
    }
  }
  CHECK(cause_history(run.path, 2).sentences == 2);
  const Json json = history_json(history);
  CHECK(json["steps"][1]["heads"][1][0]["weight"] == history.steps[1].heads[1][0].weight);
  CHECK(json["verdict"][1].size() == 2);
  std::filesystem::remove_all(run / "models");
  CHECK(message([&] { cause_history(run.path); }) ==
        run.path.string() +
            ": keeps no model but the last, so nothing can be cut at earlier steps; train with dump.weights: true");
}

TEST_CASE("A run whose held-out sentences mean nothing has no edge to cut") {
  const Scratch run;
  Example e = some_held_out()[2];
  write_jsonl(held_out_path(run.path), {e});
  std::filesystem::create_directory(run / "models");
  save_model(dumped_model_path(run.path, 400), small_model());
  CHECK(message([&] {
          cause_history(run.path);
        }).ends_with(": no held-out sentence says what its query refers to, so there is no edge to cut"));
}

TEST_CASE("When a look became the cause is said in words") {
  const auto said = [](const std::vector<std::pair<double, double>>& points) {
    return history_verdict(history_of(points), 0, 0);
  };
  CHECK(
      said({{0.1, 0}, {0.5, 0}, {0.8, 0.1}, {0.8, 0.6}, {0.8, 0.7}}) ==
      std::vector<std::string>{
          "The weight has half of its largest (0.80) at step 10, the effect half of its (0.70) at step 30: it looked "
          "there before that mattered.",
          "As shares of their largest the two are more than a quarter apart from step 10 (weight 0.50, effect 0.00) to "
          "20 (weight 0.80, effect 0.10), the weight ahead.",
          "From step 30 on more than half of the answer's probability hangs on it."});
  CHECK(
      said({{0.1, 0}, {0.1, 0.3}, {0.1, 0.3}, {0.8, 0.3}}) ==
      std::vector<std::string>{
          "The weight has half of its largest (0.80) at step 30, the effect half of its (0.30) at step 10: its look "
          "mattered before it was strong.",
          "As shares of their largest the two are more than a quarter apart from step 10 (weight 0.10, effect 0.30) to "
          "20 (weight 0.10, effect 0.30), the effect ahead."});
  // A dumped step more or less is none.
  CHECK(said({{0.1, 0}, {0.1, 0.3}, {0.8, 0.3}})[0].ends_with(": it looked there when that mattered."));
  CHECK(
      said({{0.1, 0}, {0.8, 0.7}, {0.8, 0.3}, {0.8, 0.7}}) ==
      std::vector<std::string>{
          "The weight has half of its largest (0.80) at step 10, the effect half of its (0.70) at step 10: it looked "
          "there when that mattered.",
          "As shares of their largest the two are more than a quarter apart at step 20 (weight 0.80, effect 0.30), the "
          "weight ahead.",
          "From step 30 on more than half of the answer's probability hangs on it."});
  CHECK(said({{0, 0}, {0.5, 0.5}, {1, 1}})[1] ==
        "As shares of their largest the two are never more than a quarter apart.");
  CHECK(said({{0.1, -0.2}, {0.9, 0.04}}) ==
        std::vector<std::string>{"Cutting that edge never costs the answer more than 0.04 of its probability, with a "
                                 "weight of up to 0.90: it was never the cause."});
}

TEST_CASE("The view of a history shows the head that points last, or the chosen one") {
  CauseHistory history = history_of({{0.125, 0}, {0.75, 0.5}});
  for (CauseHistory::Step& step : history.steps) step.heads[0].push_back({0.25, 0, 1});
  CHECK("\n" + history_view(history, {}) == R"(
Over 6 of 9 held-out sentences: the query's mean weight on the antecedent, and
the effect of cutting that edge: by how much the answer's probability falls.
right: answers that are; without: right without that edge; all heads: right
without it in every head of the layer.

layer 1 head 1: query -> antecedent
  step    right   weight             effect           without    all heads
     0  100.0 %   0.12 █▎            0.00              50.0 %       50.0 %
    10  100.0 %   0.75 ███████▌      0.50 █████        50.0 %       50.0 %
The weight has half of its largest (0.75) at step 10, the effect half of its
(0.50) at step 10: it looked there when that mattered.
As shares of their largest the two are never more than a quarter apart.
From step 10 on more than half of the answer's probability hangs on it.
)");
  CHECK(history_view(history, {.terminal = {}, .layer = 1, .head = 2}).find("layer 1 head 2") != std::string::npos);
  CHECK(history_view(history, {.terminal = {}, .layer = 1, .head = 2}).find("layer 1 head 1") == std::string::npos);
  CHECK(history_view(history, {.terminal = {}, .layer = 1, .head = {}}).find("layer 1 head 2") != std::string::npos);
}
