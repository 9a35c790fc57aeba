#include "train/run_files.h"

#include "run/dump.h"
#include "run/internal/baselines.h"
#include "train/agreement.h"
#include "train/diagnosis.h"

#include <heed/autograd/profile.h>
#include <heed/files/file.h>

#include <algorithm>
#include <vector>

namespace heed {
namespace fs = std::filesystem;

RunFiles::RunFiles(Experiment& experiment, TrainingState& state, const RunDirectory* run)
    : experiment_(experiment), state_(state), run_(run), data_(digest_of(experiment.task)) {}

std::string RunFiles::path() const { return run_ ? run_->path().string() : "the run of rank 0"; }

void RunFiles::load_checkpoint(const GradientReducer& reducer) {
  const bool first_weights_are_drawn = experiment_.config.from.empty();
  NamedTensors moments;
  if (run_) {
    run_->refuse_lost_checkpoint();
    check_same_data(experiment_, *run_, data_);
    run_->check_held_out(experiment_.task.held_out);
    if (run_->has_checkpoint() && first_weights_are_drawn && !has_snapshot())
      write_snapshot();  // of step 0, whose weights exist only now
    moments = heed::load_checkpoint(*run_, experiment_.model, state_.average, state_.progress);
  }
  if (!reducer.any(run_ && run_->has_checkpoint())) return;
  share_checkpoint(reducer, experiment_.model.parameters, state_.average, state_.progress);
  state_.optimizer->load_state(moments, path() + "/checkpoint.safetensors");
}

void RunFiles::write_beginning() const {
  if (!run_) return;
  const std::string text = to_yaml(experiment_.config);
  if (read_file(run_->config()) != text) run_->write_config(text);
  run_->write_held_out(experiment_.task.held_out);
  if (experiment_.config.answer != Answer::word && !fs::exists(baselines_path(run_->path()))) {
    write_baselines(run_->path(), experiment_.task.train, experiment_.task.vocabulary);
  }
}

void RunFiles::restore() {
  if (!run_) return;
  if (!fs::exists(model_path(run_->path()))) save_average();
  run_->write_metrics(state_.progress.metrics);
  if (state_.progress.step == experiment_.config.optim.schedule.steps && !has_snapshot()) write_snapshot();
}

void RunFiles::find_best() {
  if (!run_ || !keeps_best()) return;
  const Progress& progress = state_.progress;
  const std::optional<std::int64_t> kept = kept_best();
  counted_from_ = kept.value_or(progress.step);
  if (kept || progress.evaluated != progress.step) return;
  const WeightAverage::Shown shown(state_.average);
  save_model_as(best_model_path(run_->path()));
}

bool RunFiles::keeps_best() const {
  return experiment_.config.train.patience > 0 || fs::exists(best_model_path(run_->path()));
}

// Returns the step of the best model that was kept, unless a later model was better.
std::optional<std::int64_t> RunFiles::kept_best() const {
  const fs::path file = best_model_path(run_->path());
  if (!fs::exists(file)) return {};
  const std::int64_t step = load_model(file).step;
  const std::vector<Metrics> lines = read_metrics(run_->path());
  const auto best = lines.end() - 1 - evaluations_since_best(run_->path(), step);
  return best->step == step ? std::optional(step) : std::nullopt;
}

bool RunFiles::has_snapshot() const {
  if (!run_) return true;
  const std::int64_t step = state_.progress.step;
  return fs::exists(dump_path(run_->path(), step)) &&
         (!experiment_.config.dump.weights || fs::exists(dumped_model_path(run_->path(), step)));
}

void RunFiles::write_snapshot() {
  if (!run_) return;
  run_->check_in_place();
  const WeightAverage::Shown shown(state_.average);
  Dump dump{.step = state_.progress.step, .sentences = {}};
  for (const Example& sentence : experiment_.watched) {
    SentenceAttention seen = attend(experiment_.model, sentence);
    dump.sentences.push_back(reads_pieces(experiment_.model) ? of_whole_words(seen) : std::move(seen));
  }
  write_dump(run_->path(), dump);
  if (experiment_.config.dump.weights) {
    const fs::path file = dumped_model_path(run_->path(), state_.progress.step);
    make_directory(file.parent_path());
    save_model_as(file);
  }
  note_work("(snapshot)");
}

void RunFiles::write_evaluation(const Evaluation& evaluation, double train_loss, double learning_rate) {
  Progress& progress = state_.progress;
  progress.metrics.push_back(to_line(
      {.step = progress.step, .train_loss = train_loss, .held_out = evaluation, .learning_rate = learning_rate}));
  if (!run_) return;
  run_->write_metrics(progress.metrics);
  if (keeps_best() && evaluations_without_progress() == 0) save_model_as(best_model_path(run_->path()));
}

std::int64_t RunFiles::evaluations_without_progress() const {
  return run_ ? evaluations_since_best(run_->path(), counted_from_) : 0;
}

void RunFiles::save() {
  const NamedTensors moments = state_.optimizer->state();
  if (!run_) return;
  run_->check_in_place();
  save_average();
  save_checkpoint(*run_, experiment_.model, moments, state_.average, state_.progress,
                  {.config = to_yaml(experiment_.config), .data = data_});
  note_work("(checkpoint)");
}

void RunFiles::save_model_as(const fs::path& file) {
  experiment_.model.step = state_.progress.step;
  save_model(file, experiment_.model);
}

void RunFiles::save_average() {
  const WeightAverage::Shown shown(state_.average);
  save_model_as(model_path(run_->path()));
}

}  // namespace heed
