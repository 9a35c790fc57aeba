#pragma once
#include <heed/models/reading.h>

#include <filesystem>
#include <string>
#include <vector>

namespace heed {

/// The distance between a model's values and those of a golden file.
struct GoldenDifference {
  std::string what;      ///< "token ids", "embeddings", "layer 1", "layer 1 weights", ..., "final state", "logits"
  double largest = 0;    ///< largest difference of two elements
  double magnitude = 0;  ///< of the largest golden element
  /// Returns the difference relative to the golden values, and to 1 where they are smaller.
  double relative() const { return largest / (magnitude > 1 ? magnitude : 1); }
};

/// Compares a model, layer by layer, with the values that `transformers` computed for it and examples/golden.py wrote:
/// `ids` (T), `hidden` (layers + 1, T, d_model), `weights` (layers, heads, T, T) and perhaps `logits` (T, vocabulary)
/// of a model with a head. Computes in the model's dtype. Throws `Error` when the file does not have the shapes of the
/// model.
///
///     for (const GoldenDifference& row : golden_differences(in_float64(model), "golden.safetensors"))
///       fmt::print("{} {}\n", row.what, row.largest);
std::vector<GoldenDifference> golden_differences(const Model& model, const std::filesystem::path& file);

}  // namespace heed
