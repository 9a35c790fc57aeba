#pragma once
#include <heed/explain/sentence_attention.h>

#include <string>
#include <vector>

namespace heed {

/// Values of one layer. B texts of T tokens; H query heads; K and V have kv_heads.
struct LayerTrace {
  Tensor residual_in;       ///< (B, T, d_model)
  Tensor attention_input;   ///< (B, T, d_model): norm(residual_in), or residual_in
  Tensor q, k, v;           ///< (B, H, T, d_k), (B, kv_heads, T, d_k), (B, kv_heads, T, d_v)
  Tensor scores;            ///< (B, H, T, T): scale Q K^T, before cap and mask
  Tensor weights;           ///< (B, H, T, T)
  Tensor head_output;       ///< (B, H, T, d_v): weights V
  Tensor attention_output;  ///< (B, T, d_model): W_O of the heads, before the residual
  Tensor attended;          ///< (B, T, d_model): the residual stream after the attention
  Tensor mlp_hidden;        ///< (B, T, width); undefined without an MLP
  Tensor mlp_output;        ///< (B, T, d_model); undefined without an MLP
  Tensor residual_out;      ///< (B, T, d_model)
};

/// All values of one forward pass, without recording.
///
///     const Trace seen = trace(model, questions);
///     const double w = seen.layers[1].weights.at({0, head, query, key});
struct Trace {
  Tensor embeddings;  ///< (B, T, embedding width): looked up for the tokens
  Tensor embedded;    ///< (B, T, d_model)
  std::vector<LayerTrace> layers;
  Tensor state;   ///< (B, d_model): at the query, after the final norm
  Tensor logits;  ///< (B, answers)
};

/// Throws `Error` when the attention weights of all layers for `texts` (B, T) would take more than half of the machine's memory.
void check_weights_fit(const Transformer& transformer, const Ids& texts);

/// Runs the model on the questions and keeps all intermediate values. Throws `Error` as check_weights_fit() does.
Trace trace(const Model& model, const Batch& batch);

/// Returns the name by which hooks see a value of a layer's attention: Q, K, V, scores, weights, heads or output.
std::string hook_name(const Transformer& transformer, int layer, const char* value);

/// Returns the name by which hooks see the residual stream that a layer reads; of layer number `layers`, what the last one leaves.
std::string residual_name(const Transformer& transformer, int layer);

}  // namespace heed
