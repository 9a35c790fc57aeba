#include "formats/hugging_face/weight_files.h"

#include "files/internal/wrapped_names.h"
#include "tokenizers/internal/json.h"

#include <heed/files/file.h>
#include <heed/files/utf8.h>
#include <heed/formats/hugging_face.h>

#include <map>
#include <set>
#include <tuple>

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr const char* single_file = "model.safetensors";
constexpr const char* index_file = "model.safetensors.index.json";

// Returns whether there is a file or a link, even one that leads nowhere.
bool has_entry(const fs::path& file) { return fs::exists(fs::symlink_status(file)); }

// Returns the file of each tensor, by name, from the index.
std::map<std::string, std::string> weight_map(const fs::path& index) {
  const std::string source = index.string();
  const Json json = parse_json_of(source, read_file(index));
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object()) {
    fail("{}: expected an object with the object 'weight_map'", source);
  }
  std::map<std::string, std::string> files;
  for (const auto& [name, file] : json["weight_map"].items()) {
    if (!file.is_string()) {
      fail("{}: the file of tensor '{}' must be a string, got {}", source, excerpt(name), excerpt(format_json(file)));
    }
    const std::string& path = files[name] = file.get<std::string>();
    if (path.find('/') != path.npos || path.find('\0') != path.npos || !path.ends_with(".safetensors")) {
      fail("{}: the file of tensor '{}' must be a .safetensors file in the same directory, got '{}'", source,
           excerpt(name), excerpt(path));
    }
  }
  if (files.empty()) fail("{}: 'weight_map' names no tensor", source);
  return files;
}

[[noreturn]] void fail_without_weights(const fs::path& directory) {
  const std::string place = directory.string();
  for (const auto& [file, what, pattern] :
       {std::tuple{"pytorch_model.bin", "pytorch_model.bin, a pickle", "pytorch_model.bin"},
        {"pytorch_model.bin.index.json", "shards of pytorch_model.bin, pickles", "pytorch_model-*.bin"}}) {
    if (!fs::exists(directory / file)) continue;
    fail(
        "{}: it has only {}, which can run code and which heed does not read; convert the weights: python3 -c \"import "
        "pathlib, sys, torch, safetensors.torch as s; d = pathlib.Path(sys.argv[1]); s.save_file({{k: "
        "v.clone().contiguous() for f in d.glob('{}') for k, v in torch.load(f, weights_only=True).items()}}, d / "
        "'{}')\" {}",
        place, what, pattern, single_file, shell_word(directory));
  }
  std::vector<std::string> others;
  const auto count_of = [&](std::string_view suffix) {
    return std::ranges::count_if(others, [&](const std::string& name) { return name.ends_with(suffix); });
  };
  constexpr std::string_view suffixes[] = {".safetensors", ".gguf", ".bin", ".pt", ".pth", ".h5", ".msgpack", ".onnx"};
  for (const fs::path& entry : entries_of(directory)) {
    const bool is_of_weights = std::ranges::find(suffixes, entry.extension().string()) != std::end(suffixes);
    if (is_of_weights) others.push_back(excerpt(entry.filename().string()));
  }
  fail("{}: expected {} or {}{}{}", place, single_file, index_file,
       others.empty() ? "" : fmt::format(", got {}", listed(others, ", ", 5)),
       others.empty()          ? ""
       : count_of(".gguf") > 0 ? ". Open a GGUF file by its own name"
       : count_of(".safetensors") == 1
           ? fmt::format(". If the .safetensors file is a whole model, name it {}", single_file)
           : ". heed reads safetensors and GGUF files");
}

}  // namespace

WeightFiles::WeightFiles(const fs::path& directory, bool mapped) : mapped_(mapped) {
  if (has_entry(directory / single_file)) {
    add(directory / single_file);
    unwrap();
    return;
  }
  if (!has_entry(directory / index_file)) fail_without_weights(directory);
  const std::string source = (directory / index_file).string();
  const std::map<std::string, std::string> map = weight_map(directory / index_file);
  std::set<std::string> shards;
  for (const auto& [name, file] : map) shards.insert(file);
  for (const std::string& shard : shards) add(directory / shard);

  std::set<std::string> seen;
  std::vector<std::string> problems;
  for (const Entry& entry : entries_) {
    const auto found = map.find(entry.stored.name);
    if (!seen.insert(entry.stored.name).second) {
      problems.push_back(fmt::format("tensor '{}' is in two shards", excerpt(entry.stored.name)));
    } else if (found == map.end() || directory / found->second != entry.path) {
      problems.push_back(fmt::format("tensor '{}' of {} is not listed there", excerpt(entry.stored.name), entry.path));
    }
  }
  for (const auto& [name, file] : map) {
    if (!seen.contains(name)) problems.push_back(fmt::format("{} has no tensor '{}'", file, excerpt(name)));
  }
  if (!problems.empty()) fail("{}: it does not describe its shards\n  {}", source, listed(problems, "\n  ", 10));
  unwrap();
}

void WeightFiles::unwrap() {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries_) names.push_back(entry.stored.name);
  const std::size_t wrapper = wrapper_length(names);
  for (Entry& entry : entries_) entry.stored.name.erase(0, wrapper);
}

void WeightFiles::add(const fs::path& file) {
  files_.emplace_back(file);
  for (const StoredTensor& stored : files_.back().tensors()) {
    entries_.push_back({stored, file.string(), files_.size() - 1});
  }
}

Tensor WeightFiles::read(const Entry& entry) {
  if (read_) return read_(entry);
  SafeTensorsFile& file = files_[entry.file];
  return mapped_ ? file.map(entry.stored) : file.read(entry.stored);
}

double WeightFiles::elements() const {
  double sum = 0;
  for (const Entry& entry : entries_) {
    double elements = 1;
    for (const std::int64_t size : entry.stored.shape) elements *= static_cast<double>(size);
    sum += elements;
  }
  return sum;
}

}  // namespace heed
