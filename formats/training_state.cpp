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
                     *average_prefix = "average.", *network_prefix = "network.", *random_prefix = "heed.random.",
                     *step_key = "heed.step";

// Throws Error when tensors have a prefix although the program does not have the object whose state they are.
void check_absent(bool is_given, const NamedTensors& tensors, const char* prefix, const char* member,
                  const std::string& source) {
  if (is_given || with_prefix(tensors, prefix).empty()) return;
  fail("{}: has the state of an object that TrainingState::{} does not have", source, member);
}

// Append and restore the parts that each network has.
void append_network(NamedTensors& tensors, const TrainingState::Network& network) {
  append_with_prefix(tensors, parameter_prefix, {network.parameters.begin(), network.parameters.end()});
  if (network.optimizer) append_with_prefix(tensors, optimizer_prefix, network.optimizer->state());
  if (network.average) append_with_prefix(tensors, average_prefix, network.average->state());
}
void load_network(const NamedTensors& tensors, const TrainingState::Network& network, const std::string& source) {
  check_absent(network.optimizer != nullptr, tensors, optimizer_prefix, "optimizer", source);
  check_absent(network.average != nullptr, tensors, average_prefix, "average", source);
  if (network.optimizer) network.optimizer->load_state(with_prefix(tensors, optimizer_prefix), source);
  Parameters(network.parameters).load(with_prefix(tensors, parameter_prefix), source);
  if (network.average) network.average->load_state(with_prefix(tensors, average_prefix), source);
}

}  // namespace

void TrainingState::save(const std::filesystem::path& path, std::int64_t step) const {
  if (step < 0) fail("TrainingState: expected a step from 0, got {}", step);
  SafeTensors content;
  append_network(content.tensors, {parameters, optimizer, average});
  if (lbfgs) append_with_prefix(content.tensors, lbfgs_prefix, lbfgs->state());
  for (const auto& [name, network] : networks) {
    if (name.empty() || name.find('.') != std::string::npos) {
      fail("TrainingState: expected a name without dots for a network, got '{}'", excerpt(name));
    }
    NamedTensors of_network;
    append_network(of_network, network);
    append_with_prefix(content.tensors, network_prefix + name + ".", of_network);
  }
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
    if (!randoms.contains(name))
      fail("{}: has a generator '{}', which the program does not have", source, excerpt(name));
    restored.emplace(name, Random::restored(text));
  }
  for (const auto& [name, random] : randoms) {
    if (!restored.contains(name)) fail("{}: has no generator '{}'", source, excerpt(name));
  }
  check_absent(lbfgs != nullptr, content.tensors, lbfgs_prefix, "lbfgs", source);
  const NamedTensors of_networks = with_prefix(content.tensors, network_prefix);
  for (const auto& [key, value] : of_networks) {
    const std::string name = key.substr(0, key.find('.'));
    if (!networks.contains(name))
      fail("{}: has a network '{}', which the program does not have", source, excerpt(name));
  }
  for (const auto& [name, network] : networks) {
    const NamedTensors tensors = with_prefix(of_networks, name + ".");
    if (tensors.empty()) fail("{}: has no network '{}'", source, excerpt(name));
    load_network(tensors, network, source);
  }
  if (lbfgs) lbfgs->load_state(with_prefix(content.tensors, lbfgs_prefix), source);
  load_network(content.tensors, {parameters, optimizer, average}, source);
  for (const auto& [name, random] : randoms) *random = restored.at(name);
  return *step;
}

}  // namespace heed
