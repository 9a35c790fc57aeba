#include "inspect/output_file.h"

#include "formats/hugging_face/pretrained.h"

#include <heed/autograd/error.h>
#include <heed/files/file.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace heed {
namespace fs = std::filesystem;
namespace {

// Follows symbolic links. The target need not exist.
fs::path target_of(fs::path path) {
  constexpr int max_links = 40;
  std::error_code ignored;
  for (int links = 0; links < max_links && fs::is_symlink(path, ignored); ++links) {
    path = path.parent_path() / fs::read_symlink(path, ignored);
  }
  return fs::weakly_canonical(path, ignored);
}

// Returns whether `path` refers to a file of this run, or has the name of one. Recognises symbolic links, hard links and
// equivalent paths.
bool belongs_to(const fs::path& path, const fs::path& run) {
  constexpr std::array names{"config.yaml",      "held_out.jsonl",         "metrics.jsonl",         "model.safetensors",
                             "best.safetensors", "checkpoint.safetensors", "baselines.safetensors", "trace.json"};
  std::error_code ignored;
  const auto is = [&](const fs::path& own) {
    return fs::equivalent(path, own, ignored) || target_of(path) == target_of(own);
  };
  const bool is_file = !fs::is_directory(run, ignored);
  for (const fs::path& entry : entries_of(is_file ? target_of(run).parent_path() : run)) {  // of a pretrained model
    const fs::path kind = entry.extension();
    const bool is_of_model = kind == ".safetensors" || kind == ".gguf" || kind == ".json" ||
                             std::ranges::find(kept_file_names, entry.filename()) != kept_file_names.end();
    if (is_of_model && is(entry)) return true;
  }
  if (is_file) return is(run);
  if (std::ranges::any_of(names, [&](const char* name) { return is(run / name); })) return true;
  return std::ranges::any_of(std::array{"attention", "models"}, [&](const char* name) {
    const fs::path directory = target_of(run / name);
    return target_of(path).parent_path() == directory || std::ranges::any_of(entries_of(directory), is);
  });
}

// Returns the run whose directory contains the file, directly or one level below, or an empty path.
fs::path run_around(const fs::path& path) {
  const fs::path directory = target_of(path).parent_path();
  std::error_code ignored;
  for (const fs::path& run : {directory, directory.parent_path()}) {
    if (fs::exists(run / "config.yaml", ignored) && fs::exists(run / "metrics.jsonl", ignored)) return run;
  }
  return {};
}

bool begins_with(const fs::path& path, std::string_view beginning) {
  std::ifstream file(path, std::ios::binary);
  std::string first(beginning.size(), '\0');
  file.read(first.data(), static_cast<std::streamsize>(first.size()));
  if (!file.is_open() || file.bad()) return false;
  return file.gcount() == 0 || first == beginning;  // replacing an empty file loses nothing
}

bool is_standard_output(const fs::path& path) {
  struct stat file {
  }, output{};
  return ::stat(path.c_str(), &file) == 0 && ::fstat(STDOUT_FILENO, &output) == 0 && file.st_dev == output.st_dev &&
         file.st_ino == output.st_ino;
}

}  // namespace

void check_output(const fs::path& path, std::string_view beginning, const std::vector<fs::path>& runs, bool force) {
  std::error_code ignored;
  if (path.empty()) fail("expected the name of a file to write, got an empty one");
  if (path == "-") fail("-: expected the name of a file to write; that of standard output is /dev/stdout");
  if (fs::is_directory(path, ignored)) fail("{}: is a directory; name a file to write", path.string());
  std::vector<fs::path> kept = runs;
  if (const fs::path around = run_around(path); !around.empty()) kept.push_back(around);
  for (const fs::path& run : kept) {
    if (belongs_to(path, run)) fail("{}: belongs to {}, which inspect never changes", path.string(), run.string());
  }
  if (force || !fs::is_regular_file(path, ignored) || is_standard_output(path)) return;
  if (!begins_with(path, beginning)) {
    fail(
        "{}: exists and is a file of another kind (expected it to begin with '{}'); choose another name, or replace it "
        "with --force",
        path.string(), beginning == npy_beginning ? "\\x93NUMPY" : beginning);
  }
}

std::string write_output(const fs::path& path, const std::string& bytes, const std::string& said) {
  if (is_standard_output(path)) return bytes;
  std::error_code ignored;
  write_file(path, bytes);
  return fs::is_regular_file(path, ignored) ? said : "";
}

}  // namespace heed
