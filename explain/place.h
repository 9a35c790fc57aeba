#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/models/model.h>

#include <span>
#include <string>
#include <vector>

namespace heed {

/// Values that a model computes while it answers, for an Intervention: of one kind, in one layer, in all or some heads, tokens and
/// features. Numbers are from 0; layer -1 is every layer, and head -1 is every head.
///
///     Place::residual(3).at(5)                // the residual stream that layer 3 reads, at token 5
///     Place::mlp_output(2).at({4, 5})         // the output of layer 2's MLP, at two tokens
///     Place::neurons(2, {17, 40})             // two neurons of that MLP, at all tokens
///     Place::values(2, 0)                     // the values of layer 2's first key head
///     Place::weights(1, 3).at(5).to({1, 2})   // the weights with which token 5 attends to tokens 1 and 2 in layer 1 head 3
///
/// Each value has an axis of texts first. B texts of T tokens; heads H; kv_heads H_kv.
struct Place {
  /// The kind of value.
  enum class What {
    embeddings,  ///< (B, T, embedding width): looked up for the tokens; positions, scale and norms come later
    residual,  ///< (B, T, d_model): the residual stream that a layer reads; of layer number `layers`, what the last one leaves
    queries,           ///< (B, H, T, d_k): of the scores, so normalised and rotated where the model does so
    keys,              ///< (B, H_kv, T, d_k): as queries
    values,            ///< (B, H_kv, T, d_v)
    scores,            ///< (B, H, T, T): scale Q K^T, before soft cap and mask; the mask holds for a replacement, too
    weights,           ///< (B, H, T, T): after the softmax
    head_output,       ///< (B, H, T, d_v): weights V
    attention_output,  ///< (B, T, d_model): W_O of the heads, before norm and residual
    neurons,           ///< (B, T, width): the hidden features of the MLP, which its last layer reads
    mlp_output         ///< (B, T, d_model): of that layer, before norm and residual
  };

  static Place embeddings() { return {What::embeddings}; }                                     ///< What::embeddings
  static Place residual(int layer) { return {What::residual, layer}; }                         ///< What::residual
  static Place queries(int layer, int head = -1) { return {What::queries, layer, head}; }      ///< What::queries
  static Place keys(int layer, int kv_head = -1) { return {What::keys, layer, kv_head}; }      ///< What::keys
  static Place values(int layer, int kv_head = -1) { return {What::values, layer, kv_head}; }  ///< What::values
  static Place scores(int layer, int head = -1) { return {What::scores, layer, head}; }        ///< What::scores
  static Place weights(int layer, int head = -1) { return {What::weights, layer, head}; }      ///< What::weights
  static Place head_output(int layer, int head = -1) {
    return {What::head_output, layer, head};
  }                                                                                     ///< What::head_output
  static Place attention_output(int layer) { return {What::attention_output, layer}; }  ///< What::attention_output
  /// What::neurons: these, or all.
  static Place neurons(int layer, std::vector<int> neurons = {}) {
    return {What::neurons, layer, -1, std::move(neurons)};
  }
  static Place mlp_output(int layer) { return {What::mlp_output, layer}; }  ///< What::mlp_output

  /// Return the place at these tokens alone; of scores and weights, these are the tokens that attend. Tokens count from the first
  /// that the pass computes.
  Place at(int token) const { return at(std::vector<int>{token}); }
  Place at(std::vector<int> of_all_texts) const {
    return at_each({std::move(of_all_texts)});
  }  ///< the same in all texts
  Place at_each(
      std::vector<std::vector<int>> of_each_text) const;  ///< a list per text; in a text with an empty list, none
  /// Returns the place at these keys alone, for scores and weights. Throws `Error` for other places.
  Place to(std::vector<int> keys) const;

  What what;                       ///< the kind
  int layer = 0;                   ///< -1: every layer
  int head = -1;                   ///< -1 for values without heads
  std::vector<int> features = {};  ///< indices of the last axis: neurons, or keys of scores and weights; empty: all
  std::vector<std::vector<int>> tokens = {};  ///< one list for all texts, or one per text; empty: all tokens
};

template <>
inline constexpr EnumName<Place::What> enum_names<Place::What>[] = {{Place::What::embeddings, "embeddings"},
                                                                    {Place::What::residual, "residual stream"},
                                                                    {Place::What::queries, "queries"},
                                                                    {Place::What::keys, "keys"},
                                                                    {Place::What::values, "values"},
                                                                    {Place::What::scores, "scores"},
                                                                    {Place::What::weights, "weights"},
                                                                    {Place::What::head_output, "head outputs"},
                                                                    {Place::What::attention_output, "attention output"},
                                                                    {Place::What::neurons, "neurons"},
                                                                    {Place::What::mlp_output, "MLP output"}};

/// Returns the mean of the values at a place of one layer over texts and tokens, for ablate() and steer(): (n), or (heads, 1, n) for all
/// heads. Padding is left out. For scores and weights, whose mean is over texts alone, all texts must be of one length: (T, T), or
/// (heads, T, T). Without rounding errors of its own: sums are in float64. Throws `Error` for a place that the model does not have, for features,
/// and without a token to average over.
///
///     const Tensor mean = mean_of(Place::mlp_output(2), model, batches);                                   // (d_model)
///     const Tensor at_5 = mean_of(Place::mlp_output(2).at(5), model, batches);                             // over texts, at token 5
///     const Tensor direction = mean_of(Place::residual(3), model, glad) - mean_of(Place::residual(3), model, sad);
Tensor mean_of(const Place& place, const Model& model, std::span<const Batch> texts);

}  // namespace heed
