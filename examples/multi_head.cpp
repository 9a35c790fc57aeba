// Multi-head attention: each head has its own queries, keys and values, in its own part of the features, and a last
// matrix mixes the heads' results.
#include "examples/helpers.h"

#include <heed/nn/attention.h>

#include <cmath>

using namespace heed;

int main() {
  constexpr int batch = 5, T = 7, embed = 32, heads = 4, head_dim = embed / heads;
  Parameters parameters;
  const MultiHeadAttention layer(Scope(parameters, 0), {.d_model = embed, .heads = heads});
  for (const auto& [name, parameter] : parameters) fmt::print("{:12}  {}\n", name, to_string(parameter.shape()));

  Random random(0);
  const Tensor x = normal({batch, T, embed}, random);
  const AttentionResult attended = layer(x, {}, {.weights = true});
  fmt::print("\nx        {}\n", to_string(x.shape()));
  fmt::print("output   {}\n", to_string(attended.output.shape()));
  fmt::print("weights  {}, one (T, T) table a head\n", to_string(attended.weights.shape()));

  // The same step by step. A head has 8 of the 32 columns, so splitting the heads only reorders axes: (5, 7, 32) -> (5,
  // 7, 4, 8) -> (5, 4, 7, 8).
  const auto split = [&](const Tensor& y) { return transpose(reshape(y, {batch, T, heads, head_dim}), 1, 2); };
  const Tensor Q = split(layer.W_Q(x)), K = split(layer.W_K(x)), V = split(layer.W_V(x));
  const Tensor energy = matmul(Q, transpose(K)) / std::sqrt(head_dim);  // (5, 4, 7, 7)
  const Tensor weights = softmax(energy);
  const Tensor context = matmul(weights, V);                                   // (5, 4, 7, 8)
  const Tensor joined = reshape(transpose(context, 1, 2), {batch, T, embed});  // (5, 7, 32)
  const Tensor output = layer.W_O(joined);
  fmt::print("\nQ        {}\nenergy   {}\ncontext  {}\njoined   {}\n", to_string(Q.shape()), to_string(energy.shape()),
             to_string(context.shape()), to_string(joined.shape()));
  fmt::print("\nlargest number in the output: {:.2f}\n", sqrt(max(square(output))).item());
  fmt::print("largest difference of the two ways: {:.1e}\n", largest_difference(output, attended.output));

  // 30 columns are not divisible by 4 heads.
  try {
    MultiHeadAttention(Scope(parameters, 0) / "uneven", {.d_model = 30, .heads = 4});
  } catch (const Error& error) {
    fmt::print("\n30 columns, 4 heads:\n{}\n", error.what());
  }
}
