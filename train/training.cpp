#include "train/training.h"

#include "train/diagnosis.h"
#include "train/run_files.h"

#include <heed/autograd/autocast.h>
#include <heed/autograd/profile.h>
#include <heed/autograd/record.h>
#include <heed/optim/clip.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heed {
namespace {

class Training {
 public:
  Training(Experiment& experiment, const RunDirectory* run, const Listener& listener,
           const volatile std::sig_atomic_t& stop, const GradientReducer& reducer)
      : experiment_(experiment),
        config_(experiment.config),
        parameters_(experiment.model.parameters),
        listener_(listener),
        stop_(stop),
        reducer_(reducer),
        state_{reducer.optimizer(parameters_, optimizer_options(experiment)), WeightAverage(parameters_)},
        files_(experiment, state_, run),
        diagnosis_{parameters_, files_.path()} {
    files_.load_checkpoint(reducer);
    const std::int64_t taken = state_.progress.step;
    if (state_.average.steps() > taken - first_averaged())
      state_.average.restart();  // its steps are not the last ones now
    if (taken > steps()) {
      fail("{}: {} steps are taken; train.steps must not be less, got {}", files_.path(), taken, steps());
    }
  }

  std::int64_t run() {
    if (listener_.on_begin) listener_.on_begin(progress().step);
    files_.write_beginning();
    progress().metrics.empty() ? begin() : resume();
    if (progress().metrics.empty()) return 0;  // interrupted: a resumed run starts again
    bool stopped = reducer_.any(stop_ != 0);
    while (progress().step < steps() && !stopped && !is_out_of_patience()) {
      step();
      if (due(config_.dump.every)) files_.write_snapshot();
      if (due(config_.train.evaluate_every)) evaluate();
      const bool ends = is_out_of_patience();
      if (ends && !files_.has_snapshot()) files_.write_snapshot();
      stopped = reducer_.any(stop_ != 0);
      if (due(config_.train.checkpoint_every) || stopped || ends) save();
    }
    return is_unevaluated() ? progress().step - 1 : progress().step;
  }

 private:
  // Takes one step, on the next batch.
  void step() {
    const std::vector<Batch> parts = micro_batches(progress().step);
    const std::vector<double> counts = counts_of(parts);
    note_work("(batch)");
    const std::unique_ptr<GradientSum> sum = reducer_.gradient_sum(parameters_, counts);
    for (const int part : sum->parts()) {
      const Recording recording;
      const Tensor loss = loss_of(parts, part);
      sum->backward(loss);
    }
    const auto [losses, gradients] = sum->mean();
    for (int part = 0; part < std::ssize(parts); ++part) {
      diagnosis_.check_loss(progress().step + 1, losses[static_cast<std::size_t>(part)], [&] {
        const Recording recording;
        static_cast<void>(loss_of(parts, part));
      });
    }
    const double norm = global_norm(gradients);
    diagnosis_.check_gradients(progress().step + 1, norm, gradients);
    note_work("(clip)");
    const double clip = config_.optim.clip;
    state_.optimizer->step(gradients, learning_rate(config_.optim.schedule, progress().step),
                           clip > 0 ? clip_factor(norm, clip) : 1);
    note_work("(optimizer)");

    const double loss = mean_over_parts(losses, counts);
    ++progress().step;
    if (progress().step > first_averaged()) state_.average.add();
    progress().loss_sum += loss;
    listener_.on_step(progress().step, loss);
  }

  // Evaluates on the held-out set, unless it is interrupted: then a resumed run does it.
  void evaluate() {
    const WeightAverage::Shown shown(state_.average);
    Evaluation evaluation;
    try {
      const auto between = [&] {
        if (stop_) throw Interrupted();
      };
      evaluation = heed::evaluate(experiment_, between, reducer_);
    } catch (const Interrupted&) {
      return;
    }
    diagnosis_.check_evaluation(progress().step, evaluation.loss, [&] {  // on all processes, each alone
      std::optional<Recording> of_batch;
      heed::evaluate(experiment_, [&] { of_batch.reset(), of_batch.emplace(); });
    });
    const std::int64_t since = std::max<std::int64_t>(1, progress().step - progress().evaluated);
    const double train_loss = progress().loss_sum / static_cast<double>(since);
    progress().loss_sum = 0;
    progress().evaluated = progress().step;
    note_work("(evaluation)");
    files_.write_evaluation(evaluation, train_loss,
                            learning_rate(config_.optim.schedule, std::max<std::int64_t>(progress().step - 1, 0)));
    listener_.on_evaluation(progress().step, train_loss, evaluation);
  }

  // Evaluates the first weights.
  void begin() {
    progress().loss_sum = first_loss();
    files_.write_snapshot();
    evaluate();
    if (!progress().metrics.empty()) save();
  }

  void resume() {
    files_.restore();
    if (is_unevaluated()) {
      evaluate();
      save();
    }
    files_.find_best();
  }

  // A state that is not finite never replaces a good one.
  void save() {
    diagnosis_.check_weights(progress().step);
    files_.save();
  }

  std::vector<Batch> micro_batches(std::int64_t step) const {
    const Batch batch = training_batch(experiment_, step);
    const int count = config_.train.accumulate;
    std::vector<Batch> parts;
    for (int part = 0; part < count; ++part) parts.push_back(count == 1 ? batch : part_of(batch, part, count));
    return parts;
  }

  // Returns the number of predictions of each micro-batch.
  std::vector<double> counts_of(const std::vector<Batch>& parts) const {
    std::vector<double> counts;
    for (const Batch& part : parts) {
      counts.push_back(static_cast<double>(experiment_.model.predictions(part)));
    }
    return counts;
  }

  // Returns the loss of a micro-batch of the next step, with dropout.
  Tensor loss_of(const std::vector<Batch>& parts, int part) const {
    Random random = Random(config_.seed).stream("dropout").stream(static_cast<std::uint64_t>(progress().step));
    if (part > 0) random = random.stream(static_cast<std::uint64_t>(part));
    const Autocast autocast(config_.train.precision);
    return experiment_.model.loss(parts[static_cast<std::size_t>(part)],
                                  {config_.dropout, &random, config_.embedding_dropout, config_.attention_dropout});
  }

  // Returns the mean loss of the first batch before any step, without dropout.
  double first_loss() const {
    const std::vector<Batch> parts = micro_batches(0);
    const Share own = reducer_.own_part(std::ssize(parts));
    std::vector<double> losses;
    for (std::int64_t part = own.first; part < own.end; ++part) {
      losses.push_back(experiment_.model.loss(parts[static_cast<std::size_t>(part)]).item());
    }
    return mean_over_parts(reducer_.gather(losses), counts_of(parts));
  }

  Progress& progress() { return state_.progress; }
  const Progress& progress() const { return state_.progress; }
  int steps() const { return config_.optim.schedule.steps; }

  // Returns the number of steps after which averaging begins.
  std::int64_t first_averaged() const { return config_.train.average > 0 ? steps() - config_.train.average : steps(); }

  // Returns whether this step is a multiple of `every`, or the last.
  bool due(int every) const { return progress().step == steps() || progress().step % every == 0; }

  // Returns whether an interrupt ended this step's evaluation.
  bool is_unevaluated() const { return progress().evaluated < progress().step && due(config_.train.evaluate_every); }

  bool is_out_of_patience() const {
    const int patience = config_.train.patience;
    if (patience == 0 || progress().step != progress().evaluated) return false;
    return reducer_.any(files_.evaluations_without_progress() >= patience);
  }

  Experiment& experiment_;
  const Config& config_;
  const Parameters& parameters_;
  const Listener& listener_;
  const volatile std::sig_atomic_t& stop_;
  const GradientReducer& reducer_;
  TrainingState state_;
  RunFiles files_;
  const Diagnosis diagnosis_;
};

}  // namespace

std::int64_t train(Experiment& experiment, const RunDirectory* run, const Listener& listener,
                   const volatile std::sig_atomic_t& stop, const GradientReducer& reducer) {
  return Training(experiment, run, listener, stop, reducer).run();
}

}  // namespace heed
