// Self-attention with its three learned matrices, which make queries, keys and values different functions of a word.
#include "examples/helpers.h"

#include <heed/nn/layers.h>
#include <heed/tokenizers/tokenize.h>

#include <cmath>

using namespace heed;

struct SelfAttention {
  Linear W_q, W_k, W_v;  // each x W + b, (d_model, d_model)

  SelfAttention(const Scope& scope, int d_model)
      : W_q(scope / "W_q", d_model, d_model),
        W_k(scope / "W_k", d_model, d_model),
        W_v(scope / "W_v", d_model, d_model) {}

  AttentionResult operator()(const Tensor& x) const {  // (B, T, d_model)
    const Tensor Q = W_q(x), K = W_k(x), V = W_v(x);
    const double d_k = static_cast<double>(K.size(-1));
    const Tensor scores = matmul(Q, transpose(K)) / std::sqrt(d_k);  // (B, T, T)
    const Tensor weights = softmax(scores);
    return {matmul(weights, V), weights, scores};
  }
};

// Returns f(1), f(2), ...: numbers that any framework can reproduce.
Tensor wave(const Shape& shape, double (*f)(double), double& n) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  for (double& value : values) value = f(++n);
  return tensor(shape, values);
}

int main() {
  const std::vector<std::string> words = tokenize("The bank of the river", Split::words);
  constexpr int d_model = 4;
  Parameters parameters;
  const SelfAttention self_attention(Scope(parameters, 0), d_model);

  // W_q.weight, W_q.bias, W_k.weight, ... = sin(1), sin(2), sin(3), ...; x = cos(1), cos(2), ...
  NamedTensors values;
  double n = 0, m = 0;
  for (const auto& [name, parameter] : parameters) values.emplace_back(name, wave(parameter.shape(), std::sin, n));
  parameters.load(values, "the sine");
  const Tensor x = wave({1, 5, d_model}, std::cos, m);  // one sentence of five words

  for (const auto& [name, parameter] : parameters) print(name, parameter);
  print("x", x, words);
  const auto [output, weights, scores] = self_attention(x);
  print("weights", weights, words, words);
  print("output", output, words);

  // heed's attention gives the same result in one operation.
  const Tensor fused = attention(self_attention.W_q(x), self_attention.W_k(x), self_attention.W_v(x)).output;
  fmt::print("\nlargest difference from attention(Q, K, V): {:.1e}\n", largest_difference(output, fused));
}
