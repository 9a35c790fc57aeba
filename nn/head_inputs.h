#pragma once
#include <heed/nn/attention.h>

namespace heed {

/// @file
/// An attention layer whose heads have inputs of their own: for experiments that change what one head reads, and as what. The
/// inputs are stacked along the first axis, and behind the norm of the block. With equal inputs the results are the layer's own.
///
///     const HeadInputs inputs{.queries = x, .keys = y, .values = y};                         // (heads, B, T, d_model) each
///     const Tensor z = weighted_values(block.attention, inputs, Mask::causal());             // (B, heads, T, d_v)
///     const Tensor each = head_outputs(block.attention, z);                                  // (heads, B, T, d_model)

/// The input of each head's queries, (heads, B, T, d_model), and of each key and value head, (kv_heads, B, T, d_model).
struct HeadInputs {
  Tensor queries, keys, values;
};

/// Keys (B, kv_heads, T, d_k) and values (B, kv_heads, T, d_v) of tokens that stand before those of the inputs; by default none.
struct EarlierTokens {
  Tensor K{}, V{};
  std::int64_t count() const { return K.defined() ? K.size(2) : 0; }  ///< number of tokens
};

/// Returns one input x (B, T, d_model) for `count` heads, a view: (count, B, T, d_model).
Tensor shared_input(const Tensor& x, std::int64_t count);

/// Queries (B, heads, T, d_k), keys (B, kv_heads, T, d_k) and values (B, kv_heads, T, d_v), normalised and rotated.
struct HeadProjections {
  Tensor Q, K, V;
};
/// Returns what each head computes from its inputs. Where one norm spans the queries of all heads, the query of a head is normalised
/// with those that the other heads would have for the same input. Keys and values begin with those of `earlier` tokens. Throws
/// `Error` for other shapes.
HeadProjections projected_heads(const MultiHeadAttention& layer, const HeadInputs& inputs,
                                const EarlierTokens& earlier = {});

/// Returns the weighted sums of values of each head, (B, heads, T, d_v), of projected_heads().
Tensor weighted_values(const MultiHeadAttention& layer, const HeadInputs& inputs, const Mask& mask,
                       const EarlierTokens& earlier = {});
/// Returns them where all heads have one input x (B, T, d_model).
Tensor weighted_values(const MultiHeadAttention& layer, const Tensor& x, const Mask& mask,
                       const EarlierTokens& earlier = {});

/// Returns what each head adds to the layer's output, without the bias of W_O: z (B, heads, T, d_v) -> (heads, B, T, d_model).
Tensor head_outputs(const MultiHeadAttention& layer, const Tensor& z);

/// Returns the layer's output: z (B, heads, T, d_v) -> (B, T, d_model), with the bias of W_O.
Tensor joined_output(const MultiHeadAttention& layer, const Tensor& z);

}  // namespace heed
