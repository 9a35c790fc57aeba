#include "formats/internal/model_size.h"

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

// Returns a lower bound on the parameters of this shape, with tied matrices.
double min_elements(const ModelConfig& model) {
  const TransformerConfig& config = model.transformer;
  const AttentionConfig a = config.block.attention.complete();
  const bool has_square =
      model.head == HeadKind::candidate ||
      (model.transform && (model.head == HeadKind::masked_token || model.head == HeadKind::text_class));
  const double d = a.d_model;
  const double rows = 1.0 * config.vocabulary + config.segments +
                      (config.positions == Positions::learned ? 1.0 * config.max_length + config.position_offset : 0);
  return config.embedded() * rows + (has_square ? d * std::min(a.d_model, config.embedded()) : 0) +
         d * ((config.shared_layers ? 1 : config.layers) *
              (a.heads * (1.0 * a.d_k + a.d_v) + 2.0 * config.block.mlp.width));
}

}  // namespace

void check_size(const ModelConfig& config, double elements) {
  if (min_elements(config) > elements) {
    fail("the model that it describes has at least {} parameters, but its tensors hold {}", min_elements(config),
         elements);
  }
  constexpr int max_layers = 4096;  // a layer takes time and memory however few numbers it has
  const int layers = config.transformer.layers;
  if (layers > max_layers) {
    fail("the model that it describes has {} layers; heed reads up to {}", layers, max_layers);
  }
}

void check_finite(const std::string& name, const Tensor& values, const std::string& file) {
  if (is_finite(values)) return;
  const std::vector<double> all = values.to_vector();
  const auto bad = std::ranges::find_if(all, [](double value) { return !std::isfinite(value); });
  fail(
      "{}: tensor '{}' {}: value {} (from 0) is {}, which is not finite; the file is damaged, or its training diverged",
      file, name, to_string(values.shape()), bad - all.begin(), *bad);
}

}  // namespace heed
