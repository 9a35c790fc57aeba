#include "inspect/commands/shared.h"
#include "run/internal/baselines.h"
#include "run/internal/run_directory.h"
#include "run/metrics.h"
#include "tokenizers/internal/json.h"

#include <heed/data/task.h>
#include <heed/explain/golden.h>
#include <heed/files/text_file.h>
#include <heed/files/utf8.h>
#include <heed/formats/datasets/jsonl.h>
#include <heed/formats/safetensors.h>
#include <heed/formats/saved_model.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

namespace heed {
namespace fs = std::filesystem;
namespace {

struct RunFile {
  fs::path file;
  std::function<void()> read;
};

// Throws unless the file's content has the step of its name.
void check_step(const fs::path& file, std::int64_t expected, std::int64_t step) {
  if (step != expected) fail("{}: is of step {}", file.string(), step);
}

// Only checks that the file can be read and is not empty. `train` validates its content.
void check_config(const fs::path& file) {
  const TextFile text(file);
  if (fs::is_empty(file)) fail("{}: is empty", file.string());
}

// Reads the held-out sentences, and compares them with the digest in the checkpoint. Those of a language model are excerpts of the text
// that it held out.
void check_held_out(const fs::path& run, const fs::path& checkpoint) {
  Task task;
  task.held_out = read_jsonl(held_out_path(run));
  try {
    if (!fs::exists(checkpoint) || load_model(model_path(run)).head().has_token_logits()) return;
    const auto metadata = SafeTensorsFile(checkpoint).metadata();
    const auto expected = metadata.find("heed.held_out");
    if (expected == metadata.end() || digest_of(task).held_out == expected->second) return;
  } catch (const Error&) {
    return;  // a damaged model or checkpoint has a line of its own
  }
  fail("{}: differs from the sentences that the run held out, by their digest in {}", held_out_path(run).string(),
       checkpoint.filename().string());
}

// Returns what a checkpoint says about its run; nothing where it is missing or damaged, which has a line of its own.
std::optional<Progress> progress_in(const fs::path& checkpoint) {
  try {
    const auto metadata = SafeTensorsFile(checkpoint).metadata();
    return progress_from(metadata.at("heed.progress"));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    return {};
  }
}

// A run has numbers from its first step on, those of each step once, and those that its checkpoint counts.
void check_metrics(const fs::path& run, bool is_of_train, const fs::path& checkpoint) {
  const std::string file = metrics_path(run).string();
  const std::vector<Metrics> lines = read_metrics(run);
  if (lines.empty() && is_of_train) fail("{}: has no numbers", file);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].step > lines[i - 1].step) continue;
    fail("{}:{}: expected a step above {}, got {}", file, i + 1, lines[i - 1].step, lines[i].step);
  }
  const std::optional<Progress> progress = progress_in(checkpoint);
  if (!progress) return;
  const TextFile text(metrics_path(run));
  for (std::size_t i = 0; i < progress->metrics.size(); ++i) {
    if (i < text.lines().size() && text.lines()[i] == progress->metrics[i]) continue;
    fail("{}:{}: differs from the numbers in {}: expected {}, got {}", file, i + 1, checkpoint.filename().string(),
         excerpt(progress->metrics[i]), i < text.lines().size() ? excerpt(text.lines()[i]) : "no line");
  }
}

// The model and the checkpoint of a run are written together.
void check_model(const fs::path& file, const fs::path& checkpoint) {
  const std::int64_t step = load_model(file).step;
  const std::optional<Progress> progress = progress_in(checkpoint);
  if (!progress || progress->step == step) return;
  fail("{}: is of step {}, but {} is of step {}; train --resume writes the model again", file.string(), step,
       checkpoint.filename().string(), progress->step);
}

// Lists the files that every run has, and its dumps. A run written by RunWriter has neither configuration nor checkpoint. The directory
// of a Log has numbers and files of the program's choice, such as that of a TrainingState.
std::vector<RunFile> files_of(const fs::path& run) {
  const fs::path config = run / "config.yaml", checkpoint = run / "checkpoint.safetensors";
  const bool is_of_train = fs::exists(config) || fs::exists(checkpoint);
  std::vector<RunFile> files;
  if (is_of_train) files.push_back({config, [=] { check_config(config); }});
  if (is_of_train || fs::exists(held_out_path(run)))
    files.push_back({held_out_path(run), [=] { check_held_out(run, checkpoint); }});
  files.push_back({metrics_path(run), [=] { check_metrics(run, is_of_train, checkpoint); }});
  if (has_numbers_alone(run)) {
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
      if (entry.path().extension() == ".safetensors") found.push_back(entry.path());
    }
    std::ranges::sort(found);
    for (const fs::path& file : found) files.push_back({file, [=] { read_safetensors(file); }});
    return files;
  }
  files.push_back({model_path(run), [=] { check_model(model_path(run), checkpoint); }});
  if (is_of_train) files.push_back({checkpoint, [=] { read_safetensors(checkpoint); }});
  if (const fs::path best = best_model_path(run); fs::exists(best)) files.push_back({best, [=] { load_model(best); }});
  if (fs::exists(baselines_path(run))) files.push_back({baselines_path(run), [=] { read_baselines(run); }});
  for (const std::int64_t step : dump_steps(run)) {
    const fs::path file = dump_path(run, step);
    files.push_back({file, [=] { check_step(file, step, read_dump(file).step); }});
  }
  for (const std::int64_t step : dumped_model_steps(run)) {
    const fs::path file = dumped_model_path(run, step);
    files.push_back({file, [=] { check_step(file, step, load_model(file).step); }});
  }
  return files;
}

std::string state_of(const RunFile& one) {
  if (!fs::exists(one.file)) return "missing";
  one.read();
  if (one.file.extension() != ".safetensors") return "can be read (text, without a digest)";
  return read_safetensors(one.file).has_digest ? "whole" : "can be read (without a digest)";
}

std::string verify(const fs::path& run, const Terminal& terminal) {
  if (!fs::is_directory(run)) fail("{}: is a single file; inspect verify needs the run directory", run.string());
  const std::vector<RunFile> files = files_of(run);
  std::size_t widest = 0;
  for (const RunFile& one : files) widest = std::max(widest, one.file.lexically_relative(run).string().size());
  std::vector<std::string> lines;
  int damaged = 0;
  for (const RunFile& one : files) {
    std::string state;
    try {
      state = state_of(one);
    } catch (const std::exception& error) {
      state = fmt::format("DAMAGED: {}", message_of(error));
    }
    damaged += state.starts_with("DAMAGED") || state == "missing";
    lines.push_back(fmt::format("{:<{}}  {}", one.file.lexically_relative(run).string(), widest, state));
  }
  if (damaged > 0) {
    fail("{}: {} of {} files are not whole\n{}", run.string(), damaged, files.size(), fmt::join(lines, "\n"));
  }
  std::string text;
  for (const std::string& line : lines) text += paragraph(line, terminal, 4);
  return text;
}

// Relative to the largest value, two correct computations in float64 differ by less than this.
constexpr double equal_within = 1e-9;

// Returns how the model computes.
std::string description_of(const char* dtype, Precision precision) {
  switch (precision) {
    case Precision::bfloat16:
      return fmt::format("Computed in {}; products multiply numbers rounded to bfloat16.", dtype);
    case Precision::int8:
      return fmt::format("Computed in {}; products with quantized weights multiply 8-bit integers.", dtype);
    default:
      return fmt::format("Computed in {}; products widen weights of fewer bits, which is exact.", dtype);
  }
}

// Compares a model with a golden file: in float64, or in float32 with --precision, whose differences are not judged.
std::string against(const Request& request, const fs::path& file) {
  const fs::path& run = request.runs[0];
  const Model model = model_of(run, {});
  const bool is_judged = !request.has("precision");
  const Precision precision = precision_of(request, model);
  const std::string numbers = is_judged ? "float64" : name_of(precision);
  const Autocast autocast(precision);
  const std::vector<GoldenDifference> rows = golden_differences(is_judged ? in_float64(model) : model, file);
  const auto worst = std::ranges::max_element(
      rows, [](double a, double b) { return a < b || std::isnan(b); }, &GoldenDifference::relative);
  const bool is_equal = worst->relative() <= equal_within;
  if (request.has("json")) {
    Json list = Json::array();
    for (const GoldenDifference& row : rows) {
      list.push_back(
          {{"what", row.what}, {"largest", number_or_null(row.largest)}, {"magnitude", number_or_null(row.magnitude)}});
    }
    return json_line({{"equal", is_equal}, {"precision", numbers}, {"values", list}});
  }
  const std::string verdict = !is_judged ? numbers : is_equal ? "equal" : "DIFFERENT";
  std::string text =
      fmt::format("{}: the largest relative difference is {:.1e}, in {}\n", verdict, worst->relative(), worst->what);
  text += description_of(is_judged ? "float64" : "float32", precision) + "\n\n";
  text += fmt::format("{:<18}{:>20}{:>16}\n", "", "largest difference", "largest value");
  for (const GoldenDifference& row : rows) {
    text += fmt::format("{:<18}{:>20.1e}{:>16.3g}\n", row.what, row.largest, row.magnitude);
  }
  if (is_judged && !is_equal) {
    fail("{}: the model and {} differ\n{}", run.string(), file.string(), text.substr(0, text.size() - 1));
  }
  return text;
}

}  // namespace

const Command verify_command{
    .name = "verify",
    .summary = "Checks a run's files for damage, or a model's numbers",
    .example = "inspect verify runs/toy",
    .shared = "json precision",
    .declare =
        [](cxxopts::OptionAdder& options) {
          options("against", "Compare the model layer by layer with golden values of transformers (examples/golden.py)",
                  cxxopts::value<std::string>(), "FILE");
        },
    .answer =
        [](const Request& request) {
          const fs::path& run = request.runs[0];
          if (const auto file = request.given<std::string>("against")) return against(request, *file);
          for (const char* option : {"json", "precision"}) {
            if (request.has(option)) misused("--{} needs --against", option);
          }
          if (is_pretrained(run)) {
            misused(
                "a pretrained model is compared with golden values: inspect verify {0} --against FILE. "
                "examples/golden.py {0} TEXT FILE writes the file",
                shell_word(run));
          }
          return verify(run, request.view.terminal);
        }};

}  // namespace heed
