#include "run/internal/run_directory.h"

#include "files/digest.h"
#include "formats/internal/prefixes.h"
#include "run/dump.h"
#include "run/internal/program.h"
#include "tokenizers/internal/json.h"

#include <heed/files/file.h>
#include <heed/files/utf8.h>
#include <heed/formats/datasets/jsonl.h>
#include <heed/formats/safetensors.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heed {
namespace fs = std::filesystem;
namespace {

constexpr const char* parameter_prefix = "model.";
constexpr const char* moment_prefix = "optimizer.";
constexpr const char* average_prefix = "average.";

fs::path checkpoint_path(const fs::path& run) { return run / "checkpoint.safetensors"; }

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Returns whether the name is that of a run's file.
bool is_ours(std::string_view name) {
  constexpr std::array names{"config.yaml",       "held_out.jsonl",         "metrics.jsonl",
                             "model.safetensors", "checkpoint.safetensors", "trace.json",
                             "best.safetensors",  "baselines.safetensors"};
  if (std::ranges::find(names, name) != names.end()) return true;
  constexpr std::string_view before = "step-", after = ".safetensors";  // the parts of dump_path()
  return name.starts_with(before) && name.ends_with(after) && name.size() > before.size() + after.size() &&
         is_digits(name.substr(before.size(), name.size() - before.size() - after.size()));
}

// Returns whether this is a temporary file (NAME.tmp-PROCESS-NUMBER) that write_file() left when its process was
// killed.
bool is_unfinished(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::size_t suffix = name.rfind(".tmp-");
  if (suffix == std::string::npos || !is_ours(std::string_view(name).substr(0, suffix))) return false;
  const std::string_view numbers = std::string_view(name).substr(suffix + 5);
  const std::size_t dash = std::min(numbers.find('-'), numbers.size() - 1);
  return is_digits(numbers.substr(0, dash)) && is_digits(numbers.substr(dash + 1));
}

void remove_unfinished(const fs::path& directory) {
  std::error_code ignored;
  for (const fs::path& path : entries_of(directory)) {
    if (is_unfinished(path)) fs::remove(path, ignored);
  }
}

// Throws Error when a file that a run writes is a link, whose target may be any file of the user.
void refuse_links(const fs::path& run) {
  std::error_code error;
  const auto refuse = [&](const fs::path& path) {
    if (!fs::is_symlink(path, error)) return;
    fail("{}: is a link to {}; a run writes only to its own files. Put the file itself there, or link the whole run",
         path.string(), fs::read_symlink(path, error).string());
  };
  refuse(run / "attention");
  refuse(run / "models");
  for (const fs::path& directory : {run, run / "attention", run / "models"}) {
    for (const fs::path& path : entries_of(directory)) {
      if (is_ours(path.filename().string())) refuse(path);
    }
  }
}

// Returns whether no run has started here: the directory is empty except for temporary files of a killed process.
bool is_unused(const fs::path& path) {
  return fs::is_directory(path) && std::ranges::all_of(entries_of(path), is_unfinished);
}

}  // namespace

RunDirectory::RunDirectory(fs::path path) : path_(std::move(path)) {
  lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) fail("{}: cannot be opened as a run directory: {}", path_.string(), std::strerror(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(lock_);
    fail("{}: another train is at work on this run; wait for it, or stop it", path_.string());
  }
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

RunDirectory::~RunDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

RunDirectory RunDirectory::create(const std::string& name, const std::string& config, const fs::path& asked) {
  const fs::path path = asked.empty() ? make_free_directory(fs::path("runs") / name) : asked;
  const auto check_unused = [&] {
    std::error_code error;
    const bool exists = fs::exists(path, error);
    if (error) fail("{}: cannot be made: {}", excerpt(path.string()), error.message());
    if (!exists || is_unused(path)) return;
    if (!fs::exists(path / "config.yaml", error)) {
      fail("{}: already exists and is not a run; choose another --out", path.string());
    }
    fail(
        "{}: already exists, and a run never overwrites another; choose another --out, continue it with --resume {}, "
        "or remove it",
        path.string(), path.string());
  };
  check_unused();
  make_directories(path);
  RunDirectory run(path);
  check_unused();  // another process may have started before the lock
  remove_unfinished(run.path());
  write_file(run.config(), config);
  return run;
}

RunDirectory RunDirectory::open(const fs::path& path) {
  std::error_code too_long;
  if (!fs::exists(path, too_long)) fail("{}: the run to resume does not exist", excerpt(path.string()));
  RunDirectory run(path);
  if (!fs::exists(run.config())) {
    if (const std::vector<fs::path> runs = runs_in(path); !runs.empty()) {
      fail("{}: is not a run but contains {}; resume that, or repeat the command with --seeds that started all of them",
           path.string(), runs[0].string());
    }
    fail("{}: config.yaml is missing, so this is not a run; start one with {} --config FILE --out {}", path.string(),
         command_of("train"), shell_word(path));
  }
  refuse_links(run.path());
  remove_unfinished(run.path());
  remove_unfinished(run.path() / "attention");
  remove_unfinished(run.path() / "models");
  return run;
}

bool RunDirectory::has_checkpoint() const { return fs::exists(checkpoint_path(path_)); }

void RunDirectory::refuse_lost_checkpoint() const {
  if (has_checkpoint()) return;
  const auto refuse = [&](const fs::path& file, std::int64_t step) {
    if (step == 0) return;  // a process was killed before its first checkpoint
    fail(
        "{}: checkpoint.safetensors is missing, and training anew would overwrite {} of step {}; put the checkpoint "
        "back, or start a new run with --set model.from={}",
        path_.string(), file.string(), step, path_.string());
  };
  const std::vector<Metrics> metrics = read_metrics(path_);
  for (const fs::path& model : {model_path(path_), best_model_path(path_)}) refuse(model, saved_step(model));
  refuse(path_ / "metrics.jsonl", metrics.empty() ? 0 : metrics.back().step);
  for (const std::int64_t step : dump_steps(path_)) refuse(dump_path(path_, step), step);
  for (const std::int64_t step : dumped_model_steps(path_)) refuse(dumped_model_path(path_, step), step);
}

bool is_of_train(const fs::path& run) { return fs::exists(run / "config.yaml"); }

std::string written_by_resuming(const fs::path& run) {
  if (fs::exists(checkpoint_path(run)))
    return fmt::format("{} --resume {} writes it", command_of("train"), shell_word(run));
  if (!is_of_train(run)) return "train did not make this run, and RunWriter was given no held-out examples";
  return "checkpoint.safetensors is also missing, so train --resume cannot write it; copy both from where the run was "
         "trained";
}

std::vector<fs::path> runs_in(const fs::path& directory) {
  std::vector<fs::path> runs = entries_of(directory);
  std::error_code unreadable;
  std::erase_if(runs, [&](const fs::path& entry) { return !fs::exists(entry / "config.yaml", unreadable); });
  return runs;
}

void RunDirectory::write_held_out(const std::vector<Example>& examples) const {
  const fs::path file = held_out_path(path_);
  if (!fs::exists(file)) write_jsonl(file, examples);
}

void RunDirectory::check_held_out(const std::vector<Example>& examples) const {
  const fs::path file = held_out_path(path_);
  if (!fs::exists(file)) return;
  const std::string hint =
      fmt::format("remove the file, and {} --resume {} writes it again", command_of("train"), shell_word(path_));
  std::vector<Example> found;
  try {
    found = read_jsonl(file);
  } catch (const FileError&) {
    throw;
  } catch (const Error& error) {
    fail("{}; {}", error.what(), hint);
  }
  if (found == examples) return;
  fail("{}: differs from the sentences that the run held out: expected {}, got {}; {}", file.string(),
       found.size() == examples.size() ? "the same" : std::to_string(examples.size()),
       found.size() == examples.size() ? "others" : std::to_string(found.size()), hint);
}

void RunDirectory::write_config(const std::string& config) const { write_file(this->config(), config); }

void RunDirectory::check_in_place() const {
  struct stat locked {
  }, there{};
  std::error_code unreadable;
  const bool is_same = ::fstat(lock_, &locked) == 0 && ::stat(path_.c_str(), &there) == 0 &&
                       locked.st_dev == there.st_dev && locked.st_ino == there.st_ino;
  if (is_same && fs::exists(config(), unreadable)) return;
  fail("{}: was removed, emptied or moved during training, which stops here", path_.string());
}

void RunDirectory::write_metrics(const std::vector<std::string>& lines) const {
  check_in_place();
  write_file(metrics_path(path_), fmt::format("{}\n", fmt::join(lines, "\n")));
}

std::string to_text(const Progress& progress) {
  return format_json({{"step", progress.step}, {"loss_sum", progress.loss_sum}, {"metrics", progress.metrics}});
}

void save_checkpoint(const RunDirectory& run, const Model& model, const NamedTensors& moments,
                     const WeightAverage& average, const Progress& progress, const Origin& origin) {
  SafeTensors content;
  append_with_prefix(content.tensors, parameter_prefix, {model.parameters.begin(), model.parameters.end()});
  append_with_prefix(content.tensors, moment_prefix, moments);
  append_with_prefix(content.tensors, average_prefix, average.state());
  content.metadata["heed.progress"] = to_text(progress);
  content.metadata["heed.config"] = origin.config;
  content.metadata["heed.train"] = origin.data.train;
  content.metadata["heed.held_out"] = origin.data.held_out;
  write_safetensors(checkpoint_path(run.path()), content);
}

namespace {

std::uint64_t digest_of(const std::vector<std::int32_t>& numbers, std::uint64_t before) {
  return xxh64({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::int32_t)}, before);
}

std::uint64_t digest_of(const std::vector<Example>& examples) {
  std::uint64_t digest = 0;
  for (const Example& e : examples) {
    for (const std::string& token : e.tokens) digest = xxh64(token, digest);
    for (const std::string* word : {&e.answer, &e.cue, &e.relation}) digest = xxh64(*word, digest);
    std::vector<std::int32_t> numbers{e.query, e.antecedent, e.distractor, e.counterpart, e.chosen};
    numbers.insert(numbers.end(), e.sentences.begin(), e.sentences.end());
    for (const Span& span : e.candidates) numbers.insert(numbers.end(), {span.begin, span.end});
    digest = digest_of(numbers, digest);
  }
  return digest;
}

// Updates the digest with the numbers and with the words that they stand for.
std::uint64_t digest_of(const TokenNumbers& text, const Vocabulary& vocabulary) {
  constexpr std::size_t block = 4096;
  std::uint64_t digest = 0;
  std::int32_t largest = -1;
  std::vector<std::int32_t> numbers;
  for (std::int64_t i = 0; i < text.size(); ++i) {
    numbers.push_back(text[i]);
    largest = std::max(largest, text[i]);
    if (numbers.size() < block && i + 1 < text.size()) continue;
    digest = digest_of(numbers, digest);
    numbers.clear();
  }
  for (std::int32_t number = 0; number <= largest; ++number) digest = xxh64(vocabulary.word(number), digest);
  return digest;
}

}  // namespace

DataDigest digest_of(const Task& task) {
  if (!task.corpus) return {hexadecimal(digest_of(task.train)), hexadecimal(digest_of(task.held_out))};
  return {hexadecimal(digest_of(task.corpus->train, task.vocabulary)),
          hexadecimal(digest_of(task.corpus->held_out, task.vocabulary))};
}

Progress progress_from(const std::string& text) {
  const Json json = parse_json(text);
  const Json &step = json.at("step"), &loss_sum = json.at("loss_sum"), &metrics = json.at("metrics");
  if (!step.is_number_integer() || step < 0) fail("'step': expected an integer from 0, got {}", format_json(step));
  if (!loss_sum.is_number()) fail("'loss_sum': expected a number, got {}", format_json(loss_sum));
  if (!metrics.is_array() || metrics.empty()) fail("'metrics': expected lines, got {}", format_json(metrics));
  Progress progress{.step = step, .evaluated = 0, .loss_sum = loss_sum, .metrics = metrics};
  progress.evaluated = parse_json(progress.metrics.back()).at("step");
  if (progress.evaluated < 0 || progress.evaluated > progress.step) {
    fail("'metrics': the last is of step {}, after step {}", progress.evaluated, progress.step);
  }
  return progress;
}

namespace {

Progress progress_of(const SafeTensors& content, const fs::path& path) {
  try {
    if (!content.metadata.contains("heed.progress")) fail("it is missing");
    return progress_from(content.metadata.at("heed.progress"));
  } catch (const std::exception& error) {
    fail("{}: metadata 'heed.progress' cannot be read: {}", path.string(), message_of(error));
  }
}

}  // namespace

Done done_by(const RunDirectory& run) {
  if (!run.has_checkpoint()) return {};
  const fs::path path = checkpoint_path(run.path());
  const SafeTensors content = read_safetensors(path);
  Done done{progress_of(content, path).step, {}};
  const auto& said = content.metadata;
  if (said.contains("heed.config") && said.contains("heed.train") && said.contains("heed.held_out")) {
    done.origin = {said.at("heed.config"), {said.at("heed.train"), said.at("heed.held_out")}};
  }
  return done;
}

NamedTensors load_checkpoint(const RunDirectory& run, Model& model, WeightAverage& average, Progress& progress) {
  if (!run.has_checkpoint()) return {};
  const fs::path path = checkpoint_path(run.path());
  const SafeTensors content = read_safetensors(path);
  for (const auto& [name, tensor] : content.tensors) {
    if (!is_finite(tensor))
      fail("{}: tensor '{}' has a number that is not finite; the file is damaged", path.string(), name);
  }
  progress = progress_of(content, path);
  model.parameters.load(with_prefix(content.tensors, parameter_prefix), path.string());
  NamedTensors moments = with_prefix(content.tensors, moment_prefix);
  average.load_state(with_prefix(content.tensors, average_prefix), path.string());
  for (const auto& [name, tensor] : moments) {
    if (name != "steps" || tensor.numel() != 1 || tensor.item() == static_cast<double>(progress.step)) continue;
    fail("{}: contradicts itself: {} steps taken, {} by the optimiser", path.string(), progress.step, tensor.item());
  }
  return moments;
}

}  // namespace heed
