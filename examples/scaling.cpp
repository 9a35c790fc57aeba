// Why scores are divided by sqrt(d_k). q.k is a sum of d_k products. When the entries of q and k are independent with
// mean 0 and variance 1, each product has variance 1 and the sum has variance d_k. With such large scores softmax puts
// all weight on one key. It is flat there, so almost no gradient remains for learning.
#include "examples/helpers.h"

#include <heed/autograd/record.h>

#include <cmath>

using namespace heed;

double variance(const Tensor& x) { return mean(square(x - mean(x))).item(); }

struct Softened {
  double largest_weight, gradient_norm;  // means over the queries
};

// Measures softmax(scores), scores (queries, keys), and the gradient that it passes back for an output gradient `dy`.
Softened soften(const Tensor& scores, const Tensor& dy) {
  const Recording recording;
  const Tensor x = variable(scores);
  const Tensor weights = softmax(x);
  const Tensor dx = backward(weights, dy)[x];
  return {mean(max(weights.detach(), {1})).item(), mean(sqrt(sum(square(dx), {1}))).item()};
}

int main() {
  constexpr int queries = 1000, keys = 16;
  Random random(0);
  fmt::print("{} queries, {} keys, entries with mean 0 and variance 1\n\n", queries, keys);
  fmt::print("      |          scores = q.k          |      scores = q.k / sqrt(d_k)\n");
  fmt::print("  d_k | variance  largest w.  gradient | variance  largest w.  gradient\n");
  for (int d_k = 4; d_k <= 1024; d_k *= 2) {
    const Tensor q = normal({queries, 1, d_k}, random);
    const Tensor k = normal({queries, keys, d_k}, random);  // separate keys for each query
    const Tensor dy = normal({queries, keys}, random);
    const Tensor scores = reshape(matmul(q, transpose(k)), {queries, keys});
    const Tensor scaled = scores / std::sqrt(d_k);
    const Softened plain = soften(scores, dy), divided = soften(scaled, dy);
    fmt::print("{:5} | {:8.2f}  {:10.4f}  {:8.4f} | {:8.4f}  {:10.4f}  {:8.4f}\n", d_k, variance(scores),
               plain.largest_weight, plain.gradient_norm, variance(scaled), divided.largest_weight,
               divided.gradient_norm);
  }
}
