#include "train/training.h"

#include "run/dump.h"
#include "run/internal/baselines.h"
#include "tokenizers/internal/json.h"
#include "train/agreement.h"

#include <heed/autograd/profile.h>
#include <heed/autograd/record.h>
#include <heed/distributed/mean_gradients.h>
#include <heed/distributed/parallel_optimizer.h>
#include <heed/files/file.h>
#include <heed/files/utf8.h>
#include <heed/models/predictions.h>
#include <heed/optim/clip.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heed {
namespace fs = std::filesystem;
namespace {

class Training {
 public:
  Training(Experiment& experiment, const RunDirectory* run, const Listener& listener,
           const volatile std::sig_atomic_t& stop, const Communicator& processes)
      : experiment_(experiment),
        processes_(processes),
        run_(run),
        listener_(listener),
        optimizer_(experiment.model.parameters, experiment.config.optimizer, processes,
                   experiment.config.train.shard_optimizer ? Moments::part : Moments::all),
        average_(experiment.model.parameters),
        schedule_(experiment.config.schedule),
        stop_(stop),
        data_(digest_of(experiment.task)) {
    const bool first_weights_are_drawn = experiment.config.from.empty();
    NamedTensors moments;
    if (run_) {
      run_->refuse_lost_checkpoint();
      refuse_other_data();
      if (run_->has_checkpoint() && first_weights_are_drawn && !has_dump())
        dump();  // of step 0, whose weights exist only now
      moments = load_checkpoint(*run_, experiment_.model, average_, progress_);
    }
    if (processes_.any(run_ && run_->has_checkpoint())) {
      share_checkpoint(processes_, experiment_.model.parameters, average_, progress_);
      optimizer_.load_state(moments, path() + "/checkpoint.safetensors");
    }
    // its steps are no longer among the last
    if (average_.steps() > progress_.step - first_averaged()) average_.restart();
    if (progress_.step > experiment.config.schedule.steps) {
      fail("{}: {} steps are taken; train.steps must not be less, got {}", path(), progress_.step,
           experiment.config.schedule.steps);
    }
  }

  std::int64_t run() {
    const Config& config = experiment_.config;
    if (listener_.on_begin) listener_.on_begin(progress_.step);
    if (run_) write_beginning();
    if (progress_.metrics.empty()) {
      progress_.loss_sum = first_loss();
      dump();
      evaluate();
      if (progress_.metrics.empty()) return 0;  // interrupted: a resumed run starts again
      save();
    } else {
      restore();
    }
    bool stopped = processes_.any(stop_ != 0);
    while (progress_.step < config.schedule.steps && !stopped && !is_out_of_patience()) {
      step();
      if (due(config.dump.every)) dump();
      if (due(config.train.evaluate_every)) evaluate();
      const bool ends = is_out_of_patience();
      if (ends && !has_dump()) dump();
      stopped = processes_.any(stop_ != 0);
      if (due(config.train.checkpoint_every) || stopped || ends) save();
    }
    return is_unevaluated() ? progress_.step - 1 : progress_.step;
  }

 private:
  // Returns whether this step is a multiple of `every`, or the last.
  bool due(int every) const {
    return progress_.step == experiment_.config.schedule.steps || progress_.step % every == 0;
  }

  // Returns whether an interrupt ended this step's evaluation.
  bool is_unevaluated() const {
    return progress_.evaluated < progress_.step && due(experiment_.config.train.evaluate_every);
  }

  // Returns the run's directory, for messages of rank 0.
  std::string path() const { return run_ ? run_->path().string() : "the run of rank 0"; }

  void write_beginning() const {
    const std::string text = to_yaml(experiment_.config);
    if (read_file(run_->config()) != text) run_->write_config(text);
    run_->write_held_out(experiment_.task.held_out);
    if (experiment_.config.answer != Answer::word && !fs::exists(baselines_path(run_->path()))) {
      write_baselines(run_->path(), experiment_.task.train, experiment_.task.vocabulary);
    }
  }

  // Returns the mean loss of the first batch before any step.
  double first_loss() const {
    const std::vector<TrainingBatch> parts = parts_of(training_batch(experiment_, 0));
    const Share own = share_of(std::ssize(parts), processes_.rank(), processes_.size());
    std::vector<double> losses;
    for (std::int64_t part = own.first; part < own.end; ++part) {
      losses.push_back(heed::loss(*experiment_.model.network, parts[static_cast<std::size_t>(part)]).item());
    }
    return mean_over_parts(processes_.gather(losses), counts_of(parts));
  }

  std::vector<TrainingBatch> parts_of(const TrainingBatch& batch) const {
    const int count = experiment_.config.train.accumulate;
    std::vector<TrainingBatch> parts;
    for (int part = 0; part < count; ++part) parts.push_back(count == 1 ? batch : part_of(batch, part, count));
    return parts;
  }

  // Returns the number of predictions of each part.
  std::vector<double> counts_of(const std::vector<TrainingBatch>& parts) const {
    std::vector<double> counts;
    for (const TrainingBatch& part : parts) {
      counts.push_back(static_cast<double>(predictions(*experiment_.model.network, part)));
    }
    return counts;
  }

  // Throws Error when the steps of the checkpoint were taken on other data than the experiment's.
  void refuse_other_data() const {
    if (!run_->has_checkpoint()) return;
    const TaskOptions& data = experiment_.config.data;
    const auto refuse = [&](bool of_training, const std::string& what) {
      const bool is_test = !of_training && !data.test.empty();
      const std::string source = reads_files(data.kind) ? fmt::format("{} '{}'", is_test ? "data.test" : "data.train",
                                                                      is_test ? data.test : data.train)
                                                        : fmt::format("task {}", name_of(data.kind));
      fail("{}: {} differs from the data of this run: {}. {}, or begin a new run with --set model.from={}",
           run_->path().string(), source, what,
           reads_files(data.kind) ? "Resume with the same data" : "Resume with the version of heed that began it",
           run_->path().string());
    };
    if (const std::optional<Origin> origin = done_by(*run_).origin) {
      const bool of_training = origin->data.train != data_.train;
      if (origin->data == data_) return;
      refuse(of_training,
             fmt::format("expected {} of digest {}, got {}", of_training ? "sentences or text" : "held-out data",
                         of_training ? origin->data.train : origin->data.held_out,
                         of_training ? data_.train : data_.held_out));
    }
    if (!fs::exists(model_path(run_->path()))) return;
    const Vocabulary there = load_model(model_path(run_->path())).vocabulary, &here = experiment_.task.vocabulary;
    if (there.words() == here.words()) return;
    const auto both = std::min(there.words().size(), here.words().size());
    const auto first = std::mismatch(there.words().begin(), there.words().begin() + static_cast<std::ptrdiff_t>(both),
                                     here.words().begin())
                           .first -
                       there.words().begin();
    const auto word = [&](const Vocabulary& words) {
      return first < words.size() ? "'" + excerpt(words.word(static_cast<int>(first)), 20) + "'" : "none";
    };
    refuse(true, fmt::format("expected {0} {1}, of which number {2} is {3}; got {4}, of which number {2} is {5}",
                             there.size(), name_of(experiment_.config.data.split), first + 1, word(there), here.size(),
                             word(here)));
  }

  // Writes the files that a resumed run lacks, as far as the checkpoint has their content.
  void restore() {
    if (run_) {
      if (!fs::exists(model_path(run_->path()))) save_model_alone();
      run_->write_metrics(progress_.metrics);
      if (progress_.step == experiment_.config.schedule.steps && !has_dump()) dump();
    }
    if (is_unevaluated()) {
      evaluate();
      save();
    }
    if (!run_ || !keeps_best()) return;
    const std::optional<std::int64_t> kept = kept_best();
    counted_from_ = kept.value_or(progress_.step);
    if (kept || progress_.evaluated != progress_.step) return;
    const WeightAverage::Shown shown(average_);
    save_best();
  }

  bool keeps_best() const { return experiment_.config.train.patience > 0 || fs::exists(best_model_path(run_->path())); }

  // Returns the step of the best model that was kept, unless a later model was better.
  std::optional<std::int64_t> kept_best() const {
    const fs::path file = best_model_path(run_->path());
    if (!fs::exists(file)) return {};
    const std::int64_t step = load_model(file).step;
    const std::vector<Metrics> lines = read_metrics(run_->path());
    const auto best = lines.end() - 1 - evaluations_since_best(run_->path(), step);
    return best->step == step ? std::optional(step) : std::nullopt;
  }

  // Is called while the average is shown.
  void save_best() {
    experiment_.model.step = progress_.step;
    save_model(best_model_path(run_->path()), experiment_.model);
  }

  // Returns the number of steps after which averaging begins.
  std::int64_t first_averaged() const {
    const Config& config = experiment_.config;
    return config.train.average > 0 ? config.schedule.steps - config.train.average : config.schedule.steps;
  }

  bool has_dump() const {
    if (!run_) return true;
    const bool keeps_models = experiment_.config.dump.weights;
    return fs::exists(dump_path(run_->path(), progress_.step)) &&
           (!keeps_models || fs::exists(dumped_model_path(run_->path(), progress_.step)));
  }

  void step() {
    const std::vector<TrainingBatch> parts = parts_of(training_batch(experiment_, progress_.step));
    const std::vector<double> counts = counts_of(parts);
    note_work("(batch)");
    const auto [losses, gradients] = mean_gradients(
        experiment_.model.parameters, counts,
        [&](int part) { return loss_of(parts[static_cast<std::size_t>(part)], part); }, processes_);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      if (!std::isfinite(losses[part])) stop_at_bad_loss(losses[part], parts[part], static_cast<int>(part));
    }
    const double loss = mean_over_parts(losses, counts);
    const double limit = experiment_.config.clip;
    const double norm = global_norm(gradients);
    if (!std::isfinite(norm)) stop_at_bad_gradient(gradients);
    note_work("(clip)");
    optimizer_.step(gradients, learning_rate(schedule_, progress_.step), limit > 0 ? clip_factor(norm, limit) : 1);
    note_work("(optimizer)");
    ++progress_.step;
    if (progress_.step > first_averaged()) average_.add();
    progress_.loss_sum += loss;
    listener_.on_step(progress_.step, loss);
  }

  Tensor loss_of(const TrainingBatch& batch, int part) const {
    Random random =
        Random(experiment_.config.seed).stream("dropout").stream(static_cast<std::uint64_t>(progress_.step));
    if (part > 0) random = random.stream(static_cast<std::uint64_t>(part));
    const Config& c = experiment_.config;
    return heed::loss(*experiment_.model.network, batch,
                      {c.dropout, &random, c.embedding_dropout, c.attention_dropout});
  }

  // Evaluates on the held-out set and adds a line to metrics.jsonl.
  void evaluate() {
    const WeightAverage::Shown shown(average_);
    Evaluation e;
    try {
      const auto between = [&] {
        if (stop_) throw Interrupted();
      };
      e = heed::evaluate(experiment_, between, processes_);
    } catch (const Interrupted&) {
      return;  // a resumed run evaluates this step
    }
    if (!std::isfinite(e.loss)) stop_at_bad_evaluation(e.loss);
    const std::int64_t since = std::max<std::int64_t>(1, progress_.step - progress_.evaluated);
    const double train_loss = progress_.loss_sum / static_cast<double>(since);
    const double rate = learning_rate(schedule_, std::max<std::int64_t>(progress_.step - 1, 0));
    progress_.metrics.push_back(
        to_line({.step = progress_.step, .train_loss = train_loss, .held_out = e, .learning_rate = rate}));
    progress_.loss_sum = 0;
    progress_.evaluated = progress_.step;
    if (run_) run_->write_metrics(progress_.metrics);
    note_work("(evaluation)");
    if (run_ && keeps_best() && evaluations_since_best(run_->path(), counted_from_) == 0) save_best();
    listener_.on_evaluation(progress_.step, train_loss, e);
  }

  bool is_out_of_patience() const {
    const int patience = experiment_.config.train.patience;
    if (patience == 0 || progress_.step != progress_.evaluated) return false;
    return processes_.any(run_ && evaluations_since_best(run_->path(), counted_from_) >= patience);
  }

  void dump() {
    if (!run_) return;
    run_->check_in_place();
    const WeightAverage::Shown shown(average_);
    Dump dump{.step = progress_.step, .sentences = {}};
    for (const Example& sentence : experiment_.watched) {
      SentenceAttention seen = attend(*experiment_.model.network, experiment_.model.vocabulary, sentence);
      dump.sentences.push_back(reads_pieces(experiment_.model) ? of_whole_words(seen) : std::move(seen));
    }
    write_dump(run_->path(), dump);
    if (experiment_.config.dump.weights) {
      experiment_.model.step = progress_.step;
      const fs::path file = dumped_model_path(run_->path(), progress_.step);
      make_directory(file.parent_path());
      save_model(file, experiment_.model);
    }
    note_work("(snapshot)");
  }

  // A state that is not finite never replaces a good one.
  void save() {
    for (const auto& [name, parameter] : experiment_.model.parameters) {
      if (!is_finite(parameter)) stop_at(progress_.step, "parameter " + name, "a value");
    }
    const NamedTensors moments = optimizer_.state();
    if (!run_) return;
    run_->check_in_place();
    save_model_alone();
    save_checkpoint(*run_, experiment_.model, moments, average_, progress_,
                    {.config = to_yaml(experiment_.config), .data = data_});
    note_work("(checkpoint)");
  }

  void save_model_alone() {
    const WeightAverage::Shown shown(average_);
    experiment_.model.step = progress_.step;
    save_model(model_path(run_->path()), experiment_.model);
  }

  [[noreturn]] void stop_at(std::int64_t step, const std::string& tensor, const std::string& what) {
    fail(
        "step {}: {} is not finite; the first bad tensor is {}. The last good state is kept in {}. Try a smaller "
        "optim.lr or a smaller optim.clip",
        step, what, tensor, path());
  }

  // Returns the first parameter, or value that `compute` records, that is not finite.
  std::string first_bad(const std::function<void()>& compute) const {
    for (const auto& [name, parameter] : experiment_.model.parameters) {
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

  [[noreturn]] void stop_at_bad_loss(double loss, const TrainingBatch& batch, int part) {
    const std::string first = first_bad([&] {
      const Recording recording;
      static_cast<void>(loss_of(batch, part));
    });
    stop_at(progress_.step + 1, first, fmt::format("the loss ({})", std::abs(loss)));  // a NaN may have a sign
  }

  // All processes find the same tensor, each alone.
  [[noreturn]] void stop_at_bad_evaluation(double loss) {
    const std::string first = first_bad([&] {
      std::optional<Recording> of_batch;
      heed::evaluate(experiment_, [&] { of_batch.reset(), of_batch.emplace(); });
    });
    stop_at(progress_.step, first, fmt::format("the held-out loss ({})", std::abs(loss)));
  }

  [[noreturn]] void stop_at_bad_gradient(const Gradients& gradients) {
    for (const auto& [name, parameter] : experiment_.model.parameters) {
      if (!is_finite(gradients[parameter])) stop_at(progress_.step + 1, "the gradient of " + name, "the gradient");
    }
    stop_at(progress_.step + 1, "none: their squares overflow", "the gradient's norm");
  }

  Experiment& experiment_;
  const Communicator processes_;
  const RunDirectory* const run_;  // null except on rank 0, which alone writes
  const Listener& listener_;
  ParallelOptimizer optimizer_;
  WeightAverage average_;
  Schedule schedule_;
  const volatile std::sig_atomic_t& stop_;
  DataDigest data_;
  std::int64_t counted_from_ = 0;  // first step whose evaluations count: no earlier model was kept
  Progress progress_;
};

}  // namespace

std::int64_t train(Experiment& experiment, const RunDirectory& run, const Listener& listener,
                   const volatile std::sig_atomic_t& stop) {
  return Training(experiment, &run, listener, stop, {}).run();
}

std::int64_t train(Experiment& experiment, const RunDirectory* run, const Listener& listener,
                   const volatile std::sig_atomic_t& stop, const Communicator& processes) {
  return Training(experiment, run, listener, stop, processes).run();
}

}  // namespace heed
