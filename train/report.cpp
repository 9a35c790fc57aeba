#include "train/report.h"

#include "autograd/cpu/blas.h"
#include "autograd/cpu/rates.h"
#include "autograd/cpu/thread_pool.h"
#include "inspect/views/view.h"
#include "train/relations.h"

#include <heed/autograd/machine.h>
#include <heed/version.h>

#include <fmt/ranges.h>

#include <cmath>
#include <cstdio>

namespace heed {
namespace {

// 39744 -> "39,744"
std::string grouped(std::int64_t number) {
  return number < 1000 ? fmt::format("{}", number) : fmt::format("{},{:03}", grouped(number / 1000), number % 1000);
}

std::string plural(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

std::string model_line(const Experiment& e) {
  const ReaderConfig& config = e.model.reader->config;
  return fmt::format("{}, {} each, d_model {}{}: {} parameters", plural(config.layers, "layer"),
                     plural(config.attention.heads, "head"), config.attention.d_model,
                     config.mlp ? fmt::format(", mlp {}", config.mlp) : "", grouped(e.model.parameters.numel()));
}

std::string data_line(const Experiment& e) {
  return fmt::format("{}: {} examples to learn from, {} held out, {} words{}", e.task.name,
                     grouped(std::ssize(e.task.train)), grouped(std::ssize(e.task.held_out)),
                     grouped(e.task.vocabulary.size()),
                     e.config.data.shuffle_antecedents ? "; ANTECEDENTS SHUFFLED" : "");
}

std::string duration(double seconds) {
  const std::int64_t s = std::llround(seconds);
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{}:{:02} min", s / 60, s % 60);
  return fmt::format("{}:{:02} h", s / 3600, s % 3600 / 60);
}

}  // namespace

std::string opening(const Experiment& e, const std::filesystem::path& run) {
  return fmt::format(
      "heed {} ({})  {}, {}\n"
      "model  {}\n"
      "data   {}\n"
      "run    {}\n"
      "The loss is the cross-entropy of the answer; no term of it touches an attention weight.\n",
      HEED_VERSION, vector_instructions(), blas_description(), plural(threads(), "thread"), model_line(e), data_line(e),
      run.string());
}

std::string dry_run(const Experiment& e) {
  const Config& config = e.config;
  const std::int64_t tokens = std::int64_t{config.train.batch_size} * e.task.max_length;
  return fmt::format(
      "{}\n"
      "# heed {} ({}), {}, {}\n"
      "# model  {}\n"
      "# data   {}\n"
      "# steps  {} of {} examples: up to {} tokens a step, {:.1f} times through the data\n"
      "# disk   {} bytes of weights, {} of checkpoint\n",
      to_yaml(config), HEED_VERSION, vector_instructions(), blas_description(), plural(threads(), "thread"),
      model_line(e), data_line(e), grouped(config.schedule.steps), grouped(config.train.batch_size), grouped(tokens),
      static_cast<double>(config.schedule.steps) * config.train.batch_size /
          static_cast<double>(std::ssize(e.task.train)),
      grouped(4 * e.model.parameters.numel()), grouped(12 * e.model.parameters.numel()));
}

std::string closing(const Experiment& e, const RunDirectory& run, const Terminal& terminal) {
  const std::vector<std::int64_t> steps = dump_steps(run.path());
  const Dump before = read_dump(dump_path(run.path(), steps.front()));
  const Dump after = read_dump(dump_path(run.path(), steps.back()));
  const std::vector<Metrics> history = read_metrics(run.path());
  const auto row = [&](const char* name, const auto& figure) {
    return fmt::format("  {:<38}{:>19}{:>19}\n", name, figure(history.back().held_out),
                       figure(history.front().held_out));
  };
  return fmt::format("\n{}\n", query_view(after, {.terminal = terminal, .layer = {}, .head = {}, .before = &before})) +
         fmt::format("  {:<38}{:>19}{:>19}\n", "on held-out examples", "trained", "untrained") +
         row("accuracy", [](const Evaluation& v) { return percent(v.accuracy); }) +
         row("twin accuracy (both of a pair right)", [](const Evaluation& v) { return percent(v.twin_accuracy); }) +
         row("weight on the antecedent, best head", best_head_text) +
         (has_relations(e.task.held_out)
              ? "\n" + relations_table(evaluate_relations(*e.model.reader, e.model.vocabulary, e.task.held_out))
              : "") +
         fmt::format("\nLook closer: inspect {}\n", run.path().string());
}

ProgressLine::ProgressLine(int steps, bool live) : steps_(steps), live_(live) {}

Listener ProgressLine::listener() {
  return {.on_step = [this](std::int64_t step, double loss) { show(step, loss, false); },
          .on_evaluation =
              [this](std::int64_t step, double train_loss, const Evaluation& e) {
                accuracy_ = e.accuracy;
                twins_ = e.twin_accuracy;
                show(step, train_loss, true);
              }};
}

void ProgressLine::show(std::int64_t step, double loss, bool evaluated) {
  const Clock::time_point now = Clock::now();
  if (first_step_ < 0) {
    first_step_ = evaluated ? step : step - 1;
    start_ = now;
  }
  if (live_ ? now - shown_ < std::chrono::milliseconds(50) && step < steps_ : !evaluated) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = seconds > 0 ? static_cast<double>(step - first_step_) / seconds : 0;
  const std::string left = rate > 0 ? duration(static_cast<double>(steps_ - step) / rate) : "-";
  const std::string line = fmt::format("step {}/{}  loss {:.4f}  held-out {}, twins {}  {:.0f} steps/s, {} left", step,
                                       steps_, loss, percent(accuracy_), percent(twins_), rate, left);
  fmt::print("{}{}{}", live_ ? "\r" : "", line, live_ ? "\x1b[K" : "\n");
  std::fflush(stdout);
  on_line_ = live_;
}

void ProgressLine::finish() {
  if (on_line_) fmt::print("\n");
  on_line_ = false;
}

}  // namespace heed
