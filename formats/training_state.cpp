#include "files/internal/ascii.h"
#include "formats/internal/prefixes.h"

#include <heed/files/utf8.h>
#include <heed/formats/safetensors.h>
#include <heed/formats/training_state.h>

#include <algorithm>

namespace heed {
namespace {

// Prefixes of names in the file; the parameters' names follow theirs, so that no name of a parameter is like another entry's.
constexpr const char *parameter_prefix = "parameter.", *optimizer_prefix = "optimizer.", *lbfgs_prefix = "lbfgs.",
                     *average_prefix = "average.", *random_prefix = "heed.random.", *step_key = "heed.step";

}  // namespace

void TrainingState::save(const std::filesystem::path& path, std::int64_t step) const {
  if (step < 0) fail("TrainingState: expected a step from 0, got {}", step);
  SafeTensors content;
  append_with_prefix(content.tensors, parameter_prefix, {parameters.begin(), parameters.end()});
  if (optimizer) append_with_prefix(content.tensors, optimizer_prefix, optimizer->state());
  if (lbfgs) append_with_prefix(content.tensors, lbfgs_prefix, lbfgs->state());
  if (average) append_with_prefix(content.tensors, average_prefix, average->state());
  for (const auto& [name, random] : randoms) content.metadata[random_prefix + name] = random->state();
  content.metadata[step_key] = std::to_string(step);
  write_safetensors(path, content);
}

std::int64_t TrainingState::load(const std::filesystem::path& path) const {
  if (!std::filesystem::exists(path)) return 0;
  const std::string source = path.string();
  const SafeTensors content = read_safetensors(path);
  const auto found = content.metadata.find(step_key);
  const auto step = found == content.metadata.end() ? std::nullopt : parse_number<std::int64_t>(found->second);
  if (!step || *step < 0)
    fail("{}: was not written by TrainingState: the metadata entry '{}' is missing", source, step_key);
  std::map<std::string, Random> restored;
  for (const auto& [key, text] : content.metadata) {
    if (!key.starts_with(random_prefix)) continue;
    const std::string name = key.substr(std::string_view(random_prefix).size());
    if (!randoms.contains(name)) fail("{}: has a generator '{}', which the program lacks", source, excerpt(name));
    restored.emplace(name, Random::restored(text));
  }
  for (const auto& [name, random] : randoms) {
    if (!restored.contains(name)) fail("{}: lacks the generator '{}'", source, excerpt(name));
  }
  const auto check_absent = [&](bool is_given, const char* prefix, const char* member) {
    if (!is_given && !with_prefix(content.tensors, prefix).empty()) {
      fail("{}: has the state of an object that TrainingState::{} lacks", source, member);
    }
  };
  check_absent(optimizer != nullptr, optimizer_prefix, "optimizer");
  check_absent(lbfgs != nullptr, lbfgs_prefix, "lbfgs");
  check_absent(average != nullptr, average_prefix, "average");
  if (optimizer) optimizer->load_state(with_prefix(content.tensors, optimizer_prefix), source);
  if (lbfgs) lbfgs->load_state(with_prefix(content.tensors, lbfgs_prefix), source);
  Parameters(parameters).load(with_prefix(content.tensors, parameter_prefix), source);
  if (average) average->load_state(with_prefix(content.tensors, average_prefix), source);
  for (const auto& [name, random] : randoms) *random = restored.at(name);
  return *step;
}

}  // namespace heed
