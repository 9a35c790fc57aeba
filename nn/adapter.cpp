#include <heed/autograd/ops.h>
#include <heed/files/utf8.h>
#include <heed/nn/adapter.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace heed {
namespace {

constexpr std::string_view ending = ".weight";

// Returns whether `layer` is, or ends with, the parts of a name: "attention.W_Q" of "encoder.0.attention.W_Q".
bool is_named(const std::string& layer, const std::string& name) {
  return layer == name || layer.ends_with("." + name);
}

// Returns the name of the layer whose matrix this is, without the prefix of the scope; "" for another parameter.
std::string layer_of(const std::string& parameter, const std::string& scope) {
  if (!is_within(parameter, scope) || !parameter.ends_with(ending)) return "";
  const std::size_t begin = scope.empty() ? 0 : scope.size() + 1;
  if (parameter.size() <= begin + ending.size()) return "";
  return parameter.substr(begin, parameter.size() - begin - ending.size());
}

}  // namespace

bool has_adapter(const Parameter& matrix) { return matrix.adapter && matrix.adapter->A.defined(); }

bool is_of_adapter(const std::string& name) { return name.ends_with(".lora_A") || name.ends_with(".lora_B"); }

void adapt(const Scope& scope, const std::vector<std::string>& layers, AdapterOptions options) {
  if (options.rank < 1) fail("adapt: expected a rank of at least 1, got {}", options.rank);
  if (!std::isfinite(options.alpha)) fail("adapt: alpha must be finite, got {}", options.alpha);
  if (layers.empty()) fail("adapt: expected names of layers, such as W_Q, got none");
  const Parameters& parameters = scope.parameters();
  std::vector<std::pair<std::string, Parameter>> chosen;
  std::set<std::string> candidates;  // last parts of names
  std::vector<bool> is_found(layers.size(), false);
  for (const auto& [name, matrix] : parameters) {
    const std::string layer = layer_of(name, scope.name());
    if (layer.empty() || !matrix.adapter) continue;
    candidates.insert(layer.substr(layer.rfind('.') + 1));
    bool is_chosen = false;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (!is_named(layer, layers[i])) continue;
      is_found[i] = is_chosen = true;
    }
    if (!is_chosen) continue;
    if (has_adapter(matrix)) fail("adapt: {} has an adapter; merge() it first", layer);
    chosen.emplace_back(layer, matrix);
  }
  const auto missing = std::ranges::find(is_found, false);
  if (missing != is_found.end()) {
    const std::string& name = layers[static_cast<std::size_t>(missing - is_found.begin())];
    const std::string near = did_you_mean(name, std::vector<std::string>(candidates.begin(), candidates.end()));
    fail("adapt: no Linear has the name '{}'{}", excerpt(name),
         near.empty() ? "; expected one of " + listed(candidates) : near);
  }
  for (const auto& [name, value] : parameters) {
    if (is_within(name, scope.name()) && !is_of_adapter(name)) value.set_frozen(true);
  }
  for (const auto& [layer, matrix] : chosen) {
    const Scope place = scope / layer;
    const std::int64_t in = matrix.size(0), out = matrix.size(1);
    matrix.adapter->A =
        place.parameter("lora_A", {in, options.rank}, Init::uniform(1 / std::sqrt(static_cast<double>(in))));
    matrix.adapter->B = place.parameter("lora_B", {options.rank, out}, Init::zeros());
    matrix.adapter->scale = options.alpha / options.rank;
  }
}

Tensor adapted(const Tensor& x, const Parameter& W, const Tensor& y) {
  if (!has_adapter(W)) return y;
  return y + linear(linear(x, W.adapter->A, {}) * W.adapter->scale, W.adapter->B, {});
}

Tensor merged(const Parameter& W) {
  if (!has_adapter(W)) return W;
  const Tensor& A = W.adapter->A;
  return W.to(A.dtype()) + matmul(A * W.adapter->scale, W.adapter->B);
}

void merge(const Parameters& parameters, const Parameters& widened) {
  for (const auto& [name, matrix] : parameters) {
    if (!has_adapter(matrix) || !is_stored_only(matrix.dtype()) || widened.contains(name)) continue;
    fail("merge: {} is {}, which only holds weights; convert it to float32", name, to_string(matrix.dtype()));
  }
  parameters.check_not_averaged("merge");
  const Parameters::Update update(parameters, "merge");
  const NoRecording unrecorded;
  Parameters::Entries kept;
  for (const auto& [name, value] : parameters) {
    if (is_of_adapter(name)) continue;
    if (const Parameter* const replacement = widened.find(name)) {
      replacement->set_frozen(value.is_frozen());
      kept.emplace_back(name, *replacement);
      continue;
    }
    kept.emplace_back(name, value);
    if (!has_adapter(value)) continue;
    value.copy_from(merged(value));
    *value.adapter = {};
  }
  parameters.entries_->swap(kept);
}

}  // namespace heed
