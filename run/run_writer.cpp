#include <heed/files/file.h>
#include <heed/formats/datasets/jsonl.h>
#include <heed/models/reading.h>
#include <heed/run/run_writer.h>

#include <algorithm>
#include <utility>

namespace heed {

RunWriter::RunWriter(const std::filesystem::path& path, const Model& model, std::vector<Example> watched,
                     const std::vector<Example>& held_out, const RunWriterOptions& options)
    : model_(model), options_(options), watched_(std::move(watched)) {
  check_saved(model_);
  model_.step = -1;
  for (const std::vector<Example>* examples : {&std::as_const(watched_), &held_out}) {
    for (const Example& example : *examples) batch_of(model_, example);
  }
  for (const Example& example : held_out) {
    if (example.answer.empty() && example.candidates.empty()) {
      fail("RunWriter: held-out example {} has no answer", &example - held_out.data());
    }
    right_answer(model_, example);
  }
  for (const Example& example : watched_) {
    const std::string& query = example.tokens[static_cast<std::size_t>(example.query)];
    if (std::ranges::find(model_.queries, query) == model_.queries.end()) model_.queries.push_back(query);
  }
  path_ = make_free_directory(path);
  try {
    if (!held_out.empty()) write_jsonl(held_out_path(path_), held_out);
  } catch (...) {
    std::filesystem::remove(path_);
    throw;
  }
}

void RunWriter::write(const Metrics& metrics) {
  if (metrics.step < 0) fail("RunWriter: expected a step from 0, got {}", metrics.step);
  if (metrics.step <= model_.step) fail("RunWriter: expected a step after {}, got {}", model_.step, metrics.step);
  for (const auto& [name, parameter] : model_.parameters) {
    if (!is_finite(parameter)) fail("RunWriter: parameter {} is not finite at step {}", name, metrics.step);
  }
  Dump dump{.step = metrics.step, .sentences = {}};
  for (const Example& example : watched_) {
    dump.sentences.push_back(attend(model_, example));
  }
  model_.step = metrics.step;
  if (!watched_.empty()) write_dump(path_, dump);
  if (options_.keep_models) {
    make_directories(dumped_model_path(path_, metrics.step).parent_path());
    save_model(dumped_model_path(path_, metrics.step), model_);
  }
  save_model(model_path(path_), model_);
  lines_ += to_line(metrics) + "\n";
  write_file(metrics_path(path_), lines_);
}

}  // namespace heed
