#include "tests/catch.h"
#include "tests/views/helpers.h"
#include "views/view.h"

#include <heed/explain/studies/cause_history.h>

using namespace heed;

namespace {

Interval about(double mean, double error) { return {mean, mean - error, mean + error}; }

// A history of one head at steps 0, 10, ..., with a probability of the answer of 0.8; effects have this error.
CauseHistory history_of(const std::vector<std::pair<double, double>>& weights_and_effects, double error = 0.01) {
  CauseHistory history{.sentences = 6, .held_out = 9, .steps = {}};
  for (const auto& [weight, effect] : weights_and_effects) {
    const Verdict lost{.kind = effect - error > 0.4 ? Verdict::Kind::all : Verdict::Kind::unknown};
    const CauseHistory::Edge edge{about(weight, 0.01), about(effect, error), about(0.5, 0.1), lost};
    history.steps.push_back({10 * std::ssize(history.steps), 1, 0.8, {{edge}}, {edge}});
  }
  return history;
}

}  // namespace

TEST_CASE("history_verdict says whether weight or effect grew first, if the intervals show it") {
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
            "From step 30 on, at least 80 % of the advantage over chance is lost without that edge."});
  CHECK(said({{0.1, 0}, {0.1, 0.3}, {0.1, 0.3}, {0.8, 0.3}}) ==
        std::vector<std::string>{
            "The weight reaches half of its largest, 0.80 ± 0.01, at step 30; the effect reaches half of its largest, "
            "0.30 ± 0.01, at step 10.",
            "The effect grew before the weight: at step 10 the weight is still 0.10 ± 0.01.",
            "As shares of their largest the two are more than a quarter apart from step 10 (weight 0.10 ± 0.01, effect "
            "0.30 ± 0.01) to 20 (weight 0.10 ± 0.01, effect 0.30 ± 0.01), the effect ahead."});
  // Similar figures with intervals too wide to show an order.
  const std::vector<std::string> unsure = said({{0.1, 0}, {0.5, 0.2}, {0.8, 0.6}, {0.8, 0.7}}, 0.3);
  CHECK(unsure ==
        std::vector<std::string>{
            "The weight reaches half of its largest, 0.80 ± 0.01, at step 10; the effect reaches half of its largest, "
            "0.70 ± 0.30, at step 20.",
            "This does not show which of the two grew first.",
            "As shares of their largest the two are nowhere shown to be more than a quarter apart."});
  CHECK(said({{0.1, 0}, {0.9, 0.06}}, 0.08) ==
        std::vector<std::string>{"The largest cost of cutting that edge at a kept step is 0.06 ± 0.08 of the answer's "
                                 "probability, which is not shown to be above 0; the largest weight is 0.90 ± 0.01."});
  CHECK(said({{0.1, -0.2}, {0.9, 0.04}}) ==
        std::vector<std::string>{"The largest cost of cutting that edge at a kept step is 0.04 ± 0.01 of the answer's "
                                 "probability; the largest weight is 0.90 ± 0.01."});
  // If both grow at the same step, the verdict names no order.
  CHECK(said({{0, 0}, {0.5, 0.5}, {1, 1}})[1] ==
        "As shares of their largest the two are nowhere shown to be more than a quarter apart.");
}

TEST_CASE("history_view shows the head that points at the last step, or the chosen head") {
  CauseHistory history = history_of({{0.125, 0}, {0.75, 0.5}});
  for (CauseHistory::Step& step : history.steps)
    step.heads[0].push_back({about(0.25, 0), about(0, 0), about(1, 0), {}});
  CHECK("\n" + history_view(history, {}) == R"(
layer 1 head 1: query -> antecedent
The weight reaches half of its largest, 0.75 ± 0.01, at step 10; the effect
reaches half of its largest, 0.50 ± 0.01, at step 10.
As shares of their largest the two are nowhere shown to be more than a quarter
apart.
From step 10 on, at least 80 % of the advantage over chance is lost without that
edge.
  step   before   weight             effect             after  every head
     0  100.0 %   0.12 █▎            0.00              50.0 %      50.0 %
    10  100.0 %   0.75 ███████▌      0.50 █████        50.0 %      50.0 %

Over 6 of 9 held-out sentences; ± is half of an interval that holds at all steps
with 95 %:
before      accuracy before the cut
weight      the query's mean weight on the antecedent
effect      by how much the answer's probability falls when that edge is cut
after       accuracy after the cut in that head
every head  accuracy after the cut in every head of the layer
)");
  CHECK(history_view(history, {.terminal = {}, .layer = 1, .head = 2}).find("layer 1 head 2") != std::string::npos);
  CHECK(history_view(history, {.terminal = {}, .layer = 1, .head = 2}).find("layer 1 head 1") == std::string::npos);
  CHECK(history_view(history, {.terminal = {}, .layer = 1, .head = {}}).find("layer 1 head 2") != std::string::npos);
  for (const int width : {40, 60, 79}) check_width(history_view(history, at_width(width)), width);
}
