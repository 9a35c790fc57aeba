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

Interval about(double mean, double error) { return {mean, mean - error, mean + error}; }

// A history of one head at steps 0, 10, ..., with a probability of the answer of 0.8; effects have this error.
CauseHistory history_of(const std::vector<std::pair<double, double>>& weights_and_effects, double error = 0.01) {
  CauseHistory history{.sentences = 6, .held_out = 9, .steps = {}};
  for (const auto& [weight, effect] : weights_and_effects) {
    const CauseHistory::Edge edge{about(weight, 0.01), about(effect, error), about(0.5, 0.1)};
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
  CHECK(cause_history(run.path, 2).sentences == 2);
  const Json json = history_json(history);
  CHECK(json["steps"][1]["heads"][1][0]["weight"] == history.steps[1].heads[1][0].weight.share);
  CHECK(json["steps"][1]["heads"][1][0]["effect_error"] == history.steps[1].heads[1][0].effect.error());
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

TEST_CASE("When attention became the cause is said in words, as far as the intervals tell") {
  const auto said = [](const std::vector<std::pair<double, double>>& points, double error = 0.01) {
    return history_verdict(history_of(points, error), 0, 0);
  };
  CHECK(said({{0.1, 0}, {0.5, 0}, {0.8, 0.1}, {0.8, 0.6}, {0.8, 0.7}}) ==
        std::vector<std::string>{
            "The weight reaches half of its largest, 0.80 ± 0.01, at step 10; the effect reaches half of its largest, "
            "0.70 ± 0.01, at step 30.",
            "The weight grew before the effect: at step 10 the effect is still 0.00 ± 0.01.",
            "As shares of their largest the two are more than a quarter apart from step 10 (weight 0.50 ± 0.01, effect "
            "0.00 ± 0.01) to 20 (weight 0.80 ± 0.01, effect 0.10 ± 0.01), the weight ahead.",
            "From step 30 on cutting that edge takes more than half of the answer's probability."});
  CHECK(said({{0.1, 0}, {0.1, 0.3}, {0.1, 0.3}, {0.8, 0.3}}) ==
        std::vector<std::string>{
            "The weight reaches half of its largest, 0.80 ± 0.01, at step 30; the effect reaches half of its largest, "
            "0.30 ± 0.01, at step 10.",
            "The effect grew before the weight: at step 10 the weight is still 0.10 ± 0.01.",
            "As shares of their largest the two are more than a quarter apart from step 10 (weight 0.10 ± 0.01, effect "
            "0.30 ± 0.01) to 20 (weight 0.10 ± 0.01, effect 0.30 ± 0.01), the effect ahead."});
  // The same figures, of too few sentences to tell.
  const std::vector<std::string> unsure = said({{0.1, 0}, {0.5, 0.2}, {0.8, 0.6}, {0.8, 0.7}}, 0.3);
  CHECK(unsure ==
        std::vector<std::string>{
            "The weight reaches half of its largest, 0.80 ± 0.01, at step 10; the effect reaches half of its largest, "
            "0.70 ± 0.30, at step 20.",
            "Which of the two grew first is not shown.",
            "As shares of their largest the two are nowhere shown to be more than a quarter apart."});
  CHECK(said({{0.1, 0}, {0.9, 0.06}}, 0.08) ==
        std::vector<std::string>{"At no kept step does cutting that edge cost the answer more than 0.06 ± 0.08 of its "
                                 "probability, which is not shown to be above 0; the largest weight is 0.90 ± 0.01."});
  CHECK(said({{0.1, -0.2}, {0.9, 0.04}}) ==
        std::vector<std::string>{"At no kept step does cutting that edge cost the answer more than 0.04 ± 0.01 of its "
                                 "probability; the largest weight is 0.90 ± 0.01."});
  // At the same step there is no order.
  CHECK(said({{0, 0}, {0.5, 0.5}, {1, 1}})[1] ==
        "As shares of their largest the two are nowhere shown to be more than a quarter apart.");
}

TEST_CASE("The view of a history shows the head that points last, or the chosen one") {
  CauseHistory history = history_of({{0.125, 0}, {0.75, 0.5}});
  for (CauseHistory::Step& step : history.steps) step.heads[0].push_back({about(0.25, 0), about(0, 0), about(1, 0)});
  CHECK("\n" + history_view(history, {}) == R"(
layer 1 head 1: query -> antecedent
The weight reaches half of its largest, 0.75 ± 0.01, at step 10; the effect
reaches half of its largest, 0.50 ± 0.01, at step 10.
As shares of their largest the two are nowhere shown to be more than a quarter
apart.
From step 10 on cutting that edge takes more than half of the answer's
probability.
  step   before   weight             effect             after  every head
     0  100.0 %   0.12 █▎            0.00              50.0 %      50.0 %
    10  100.0 %   0.75 ███████▌      0.50 █████        50.0 %      50.0 %

Over 6 of 9 held-out sentences. weight: the query's mean weight on the
antecedent; effect: by how much the answer's probability falls when that edge is
cut; before, after: accuracy before the cut and after it; every head: after
cutting it in every head of the layer. ± is half of a 95 % interval.
)");
  CHECK(history_view(history, {.terminal = {}, .layer = 1, .head = 2}).find("layer 1 head 2") != std::string::npos);
  CHECK(history_view(history, {.terminal = {}, .layer = 1, .head = 2}).find("layer 1 head 1") == std::string::npos);
  CHECK(history_view(history, {.terminal = {}, .layer = 1, .head = {}}).find("layer 1 head 2") != std::string::npos);
}
