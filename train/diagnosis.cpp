#include "train/diagnosis.h"

#include <heed/autograd/error.h>
#include <heed/files/utf8.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace heed {
namespace {

[[noreturn]] void stop_at(std::int64_t step, const std::string& what, const std::string& tensor,
                          const std::string& kept_in) {
  fail(
      "step {}: {} is not finite; the first bad tensor is {}. The last good state is kept in {}. Try a smaller "
      "optim.lr or a smaller optim.clip",
      step, what, tensor, kept_in);
}

// Returns the first parameter, or value that `compute` records, that is not finite.
std::string first_bad(const Parameters& parameters, const std::function<void()>& compute) {
  for (const auto& [name, parameter] : parameters) {
    if (!is_finite(parameter)) return "parameter " + name;
  }
  try {
    const FiniteCheck check;
    compute();
  } catch (const NotFinite& bad) {
    return bad.what();
  }
  return "the loss itself";
}

}  // namespace

void Diagnosis::check_loss(std::int64_t step, double loss, const std::function<void()>& compute) const {
  if (std::isfinite(loss)) return;
  stop_at(step, fmt::format("the loss ({})", std::abs(loss)), first_bad(parameters, compute),
          kept_in);  // NaN may be -NaN
}

void Diagnosis::check_evaluation(std::int64_t step, double loss, const std::function<void()>& compute) const {
  if (std::isfinite(loss)) return;
  stop_at(step, fmt::format("the held-out loss ({})", std::abs(loss)), first_bad(parameters, compute), kept_in);
}

void Diagnosis::check_gradients(std::int64_t step, double norm, const Gradients& gradients) const {
  if (std::isfinite(norm)) return;
  for (const auto& [name, parameter] : parameters) {
    if (!is_finite(gradients[parameter])) stop_at(step, "the gradient", "the gradient of " + name, kept_in);
  }
  stop_at(step, "the gradient's norm", "none: their squares overflow", kept_in);
}

void Diagnosis::check_weights(std::int64_t step) const {
  for (const auto& [name, parameter] : parameters) {
    if (!is_finite(parameter)) stop_at(step, "a value", "parameter " + name, kept_in);
  }
}

void check_same_data(const Experiment& experiment, const RunDirectory& run, const DataDigest& data) {
  if (!run.has_checkpoint()) return;
  const TaskOptions& options = experiment.config.data;
  const auto refuse = [&](bool of_training, const std::string& what) {
    const bool is_test = !of_training && !options.test.empty();
    const std::string source = reads_files(options.kind) ? fmt::format("{} '{}'", is_test ? "data.test" : "data.train",
                                                                       is_test ? options.test : options.train)
                                                         : fmt::format("task {}", name_of(options.kind));
    fail("{}: {} differs from the data of this run: {}. {}, or begin a new run with --set model.from={}",
         run.path().string(), source, what,
         reads_files(options.kind) ? "Resume with the same data" : "Resume with the version of heed that began it",
         run.path().string());
  };
  if (const std::optional<Origin> origin = done_by(run).origin) {
    const bool of_training = origin->data.train != data.train;
    if (origin->data == data) return;
    refuse(of_training,
           fmt::format("expected {} of digest {}, got {}", of_training ? "sentences or text" : "held-out data",
                       of_training ? origin->data.train : origin->data.held_out,
                       of_training ? data.train : data.held_out));
  }
  if (!std::filesystem::exists(model_path(run.path()))) return;
  const Vocabulary there = load_model(model_path(run.path())).vocabulary, &here = experiment.task.vocabulary;
  if (there.words() == here.words()) return;
  const auto both = std::min(there.words().size(), here.words().size());
  const auto first = std::mismatch(there.words().begin(), there.words().begin() + static_cast<std::ptrdiff_t>(both),
                                   here.words().begin())
                         .first -
                     there.words().begin();
  const auto word = [&](const Vocabulary& words) {
    return first < words.size() ? "'" + excerpt(words.word(static_cast<int>(first)), 20) + "'" : "none";
  };
  refuse(true,
         fmt::format("expected {0} {1}, of which number {2} is {3}; got {4}, of which number {2} is {5}", there.size(),
                     name_of(experiment.config.data.split), first + 1, word(there), here.size(), word(here)));
}

}  // namespace heed
