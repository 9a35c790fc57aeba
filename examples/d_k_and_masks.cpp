// Three options of attention: queries and keys of another size than the words, masked words, and heads computed one by
// one or all at once.
#include "examples/helpers.h"

#include <heed/nn/attention.h>

using namespace heed;

constexpr int batch = 2, T = 10, d_model = 512, d_k = 64, heads = d_model / d_k;

// Returns columns [64 h, 64 h + 64) of a matrix that holds all heads side by side.
Tensor project(const Tensor& x, const Linear& packed, int h) {
  return linear(x, slice(packed.weight, 1, h * d_k, (h + 1) * d_k), slice(packed.bias, 0, h * d_k, (h + 1) * d_k));
}

int main() {
  Parameters parameters;
  const Scope scope(parameters, 0);
  Random random(0);
  const Tensor x = normal({batch, T, d_model}, random);

  fmt::print("--- d_k apart from d_model ---\n\n");
  const Linear W_Q(scope / "W_Q", d_model, d_k), W_K(scope / "W_K", d_model, d_k), W_V(scope / "W_V", d_model, d_k);
  const Tensor Q = W_Q(x), K = W_K(x), V = W_V(x);
  fmt::print("x       {}\nW_Q     {}\nQ       {}\n", to_string(x.shape()), to_string(W_Q.weight.shape()),
             to_string(Q.shape()));
  fmt::print("output  {}\n", to_string(attention(Q, K, V).output.shape()));

  fmt::print("\n--- a mask: 1 is seen, 0 is hidden ---\n");
  // Query i sees the keys up to its own. The first word of the second sentence is hidden from all queries.
  std::vector<std::uint8_t> seen;
  for (int b = 0; b < batch; ++b) {
    for (int i = 0; i < T; ++i) {
      for (int j = 0; j < T; ++j) seen.push_back(j <= i && !(b == 1 && j == 0));
    }
  }
  const Mask mask(Booleans({batch, T, T}, seen));
  const AttentionResult masked = attention(Q, K, V, {.mask = mask, .weights = true});
  print("weights of sentence 1", slice(masked.weights, 0, 0, 1), {}, {}, 3);
  print("weights of sentence 2, query 1: it sees nothing", slice(slice(masked.weights, 0, 1, 2), 1, 0, 1), {}, {}, 3);

  fmt::print("\n--- head by head, or all heads in one matrix ---\n\n");
  const MultiHeadAttention packed(scope / "packed", {.d_model = d_model, .heads = heads, .bias = true});
  std::vector<Tensor> outputs;
  for (int h = 0; h < heads; ++h) {
    outputs.push_back(
        attention(project(x, packed.W_Q, h), project(x, packed.W_K, h), project(x, packed.W_V, h)).output);
  }
  const Tensor head_by_head = packed.W_O(concat(outputs, 2));  // (2, 10, 8 * 64) -> (2, 10, 512)
  fmt::print("output  {}\n", to_string(head_by_head.shape()));
  fmt::print("largest number in it: {:.2f}\n", sqrt(max(square(head_by_head))).item());
  fmt::print("largest difference of the two ways: {:.1e}\n", largest_difference(head_by_head, packed(x).output));

  fmt::print("\n--- softmax makes shares of scores ---\n");
  print("scores", tensor({3}, {2.0, 1.0, 0.1}), {}, {}, 3);
  print("softmax(scores)", softmax(tensor({3}, {2.0, 1.0, 0.1})), {}, {}, 3);
}
