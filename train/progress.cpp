#include "train/progress.h"

#include "views/terminal.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace heed {

std::string progress_text(const ProgressState& s, int width) {
  std::vector<ProgressItem> parts{{0, fmt::format("step {}/{}", s.step, s.steps)},
                                  {1, fmt::format("loss {:.4f}", s.loss)}};
  if (!std::isnan(s.perplexity)) {
    parts.push_back({3, fmt::format("held-out {:.4f}", std::log(s.perplexity))});
    parts.push_back({4, fmt::format("perplexity {:.2f}", s.perplexity)});
  } else if (!std::isnan(s.accuracy))
    parts.push_back({3, "held-out " + percent(s.accuracy)});
  if (!std::isnan(s.counterpart_accuracy)) parts.push_back({4, "pairs " + percent(s.counterpart_accuracy)});
  if (s.steps_a_second > 0) {
    parts.push_back({5, s.tokens_a_step > 0 ? fmt::format("{:.0f} tokens/s", s.steps_a_second * s.tokens_a_step)
                                            : speed_text(s.steps_a_second)});
    parts.push_back({2, time_left(s.steps - s.step, s.steps_a_second)});
  }
  return fitted(parts, width);
}

ProgressLine::ProgressLine(std::int64_t steps, bool live, double tokens_a_step) : meter_(steps, live) {
  state_.steps = steps;
  state_.tokens_a_step = tokens_a_step;
}

Listener ProgressLine::listener() {
  return {.on_step = [this](std::int64_t step, double loss) { show(step, loss, false); },
          .on_evaluation =
              [this](std::int64_t step, double train_loss, const Evaluation& e) {
                state_.accuracy = e.accuracy;
                state_.counterpart_accuracy = e.counterpart_accuracy;
                state_.perplexity = e.perplexity;
                show(step, train_loss, true);
              }};
}

void ProgressLine::show(std::int64_t step, double loss, bool evaluated) {
  state_.step = step;
  state_.loss = loss;
  meter_.show(step, evaluated, [state = state_](double steps_a_second, int width) mutable {
    state.steps_a_second = steps_a_second;
    return progress_text(state, width);
  });
}

}  // namespace heed
