#pragma once
#include <heed/models/model.h>

namespace heed {

/// The QK and OV circuits of a head on n single tokens (Elhage et al. 2021, "A mathematical framework for transformer
/// circuits"): which token attends to which, and which answer that raises. Tokens have no position, and enter the layer as its
/// norm sees them, untouched by other layers.
///
///     const TokenCircuits found = token_circuits(model, Ids({2}, {5, 8}), 1, 0);
///     const double score = found.attends.at({0, 1});   // of the first token's query with the second one's key
struct TokenCircuits {
  Tensor attends;  ///< (n, n): the score of each token's query with each key, less the mean of the row
  /// (n, vocabulary): the logits that attending to a token raises, less the mean of the row, before the division by the final
  /// norm's deviation. Undefined unless the model answers with words and its logits are linear in the final state.
  Tensor raises;
};

/// Computes both in the model's own type. Throws `Error` for a head or layer that the model does not have.
TokenCircuits token_circuits(const Model& model, const Ids& tokens, int layer, int head);

}  // namespace heed
