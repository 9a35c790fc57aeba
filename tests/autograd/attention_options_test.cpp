#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace heed;

namespace {

// Attention's formula, number by number: output, weights, and scores before cap, bias and mask.
struct ByNumber {
  Naive output, weights, scores;

  ByNumber(const Tensor& Q, const Tensor& K, const Tensor& V, const AttentionOptions& o)
      : output(Shape{Q.size(0), Q.size(1), Q.size(2), V.size(3)}),
        weights(Shape{Q.size(0), Q.size(1), Q.size(2), K.size(2)}),
        scores(weights.shape) {
    const std::int64_t T_q = Q.size(2), T_k = K.size(2), group = Q.size(1) / std::max<std::int64_t>(1, K.size(1));
    const double scale = o.scale == 0 ? 1 / std::sqrt(static_cast<double>(Q.size(3))) : o.scale;
    Naive bias(o.bias.defined() ? o.bias : zeros({}, DType::float64));
    Naive visible(o.mask.has_visible() ? where(o.mask.visible(), ones({}), zeros({})) : ones({}));
    for_each_index({Q.size(0), Q.size(1), T_q}, [&](const Shape& i) {
      const std::int64_t b = i[0], h = i[1], q = i[2];
      const std::int64_t key = o.mask.band().align == Mask::Align::end ? q + T_k - T_q : q;
      double total = 0;
      for (std::int64_t k = 0; k < T_k; ++k) {
        double s = 0;
        for (std::int64_t c = 0; c < Q.size(3); ++c) s += Q.at({b, h, q, c}) * K.at({b, h / group, k, c});
        scores[{b, h, q, k}] = s * scale;
        s = o.soft_cap > 0 ? o.soft_cap * std::tanh(s * scale / o.soft_cap) : s * scale;
        const bool sees =
            visible[{b, h, q, k}] != 0 && key - k <= o.mask.band().before && k - key <= o.mask.band().after;
        total += weights[{b, h, q, k}] = sees ? std::exp(s + bias[{b, h, q, k}]) : 0;
      }
      for (std::int64_t k = 0; k < T_k && total > 0; ++k) {
        const double w = weights[{b, h, q, k}] /= total;
        for (std::int64_t c = 0; c < V.size(3); ++c) output[{b, h, q, c}] += w * V.at({b, h / group, k, c});
      }
    });
  }
};

}  // namespace

TEST_CASE("Fused attention with options equals the composition and the formulas") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const double allowed = dtype == DType::float32 ? 3e-5 : 1e-12;
  Random random(36);
  constexpr double hide = -std::numeric_limits<double>::infinity();
  for (const auto& [T_q, T_k] : {std::pair<std::int64_t, std::int64_t>{5, 9}, {1, 300}, {140, 700}, {9, 5}, {33, 20}}) {
    for (const std::int64_t kv_heads : {4, 2, 1}) {
      const Tensor Q = variable(uniform({2, 4, T_q, 3}, random, dtype)),
                   K = variable(uniform({2, kv_heads, T_k, 3}, random, dtype));
      const Tensor V = variable(uniform({2, kv_heads, T_k, 5}, random, dtype));
      const Tensor bias = variable(uniform({4, kv_heads == 2 ? T_q : 1, T_k}, random, dtype)),
                   dO = uniform({2, 4, T_q, 5}, random, dtype);
      std::vector<std::uint8_t> visible;
      for (std::int64_t i = 0; i < 8 * T_k; ++i) visible.push_back(random.below(3) != 0);
      for (const Mask& mask :
           {Mask(), Mask::causal(), Mask::causal(Mask::Align::start), Mask::window(3, 2), Mask::window(6, 6),
            Mask::window(290, 0), Mask(Booleans({2, 4, 1, T_k}, visible)) & Mask::window(7, 0)}) {
        for (const AttentionOptions& chosen :
             {AttentionOptions{.mask = mask, .scale = 0.3}, AttentionOptions{.mask = mask, .soft_cap = 0.5},
              AttentionOptions{.mask = mask, .bias = bias},
              AttentionOptions{.mask = mask, .scale = 2, .soft_cap = 3, .bias = bias}}) {
          CAPTURE(T_q, T_k, kv_heads, chosen.scale, chosen.soft_cap, chosen.bias.defined(), heed::to_string(dtype));
          const Recording recording;
          const Tensor fused = attention(Q, K, V, chosen).output, composed = attention_composed(Q, K, V, chosen).output;
          CHECK(distance(fused, composed) < allowed);
          const Gradients g = backward(fused, dO), expected = backward(composed, dO);
          for (const Tensor* x : {&Q, &K, &V}) CHECK(distance(g[*x], expected[*x]) < allowed);
          if (chosen.bias.defined()) CHECK(distance(g[bias], expected[bias]) < allowed);
        }
      }
    }
  }
  // The composition by its formula, of one head read by two.
  const Tensor Q = uniform({2, 3, 4}, random, dtype), K = uniform({1, 5, 4}, random, dtype),
               V = uniform({1, 5, 2}, random, dtype);
  Tensor bias = uniform({3, 5}, random, dtype);
  bias = masked_fill(bias, Booleans({1, 5}, {0, 0, 1, 0, 0}), hide);
  const AttentionResult y =
      attention(Q, K, V, {.scale = 0.5, .soft_cap = 2, .bias = bias, .weights = true, .scores = true});
  const Tensor scores = matmul(Q, transpose(K)) * 0.5, weights = softmax(tanh(scores / 2) * 2 + bias);
  CHECK(distance(y.scores, scores) < allowed);
  CHECK(distance(y.weights, weights) < allowed);
  CHECK(distance(y.output, matmul(weights, V)) < allowed);
  CHECK(distance(attention(Q, K, V, {.scale = 0.5, .soft_cap = 2, .bias = bias}).output, y.output) < allowed);
  CHECK(slice(y.weights, -1, 2, 3).to_vector() == std::vector<double>(6, 0));
  const AttentionResult alone = attention(Q, K, V, {.scale = 0.5, .soft_cap = 2, .bias = bias, .scores = true});
  CHECK(same_bits(alone.scores, y.scores));
  CHECK_FALSE(alone.weights.defined());
}

TEST_CASE("Attention with each option equals its formula, number by number") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const double allowed = dtype == DType::float32 ? 1e-5 : 1e-12;
  constexpr double hide = -std::numeric_limits<double>::infinity();
  Random random(38);
  const auto shapes = [](std::int64_t T_q, std::int64_t T_k) {  // some that broadcast to (2, 4, T_q, T_k)
    return std::vector<Shape>{
        {},          {T_k},          {T_q, T_k},   {T_q, 1},         {4, T_q, T_k},    {4, 1, T_k},
        {1, T_q, 1}, {2, 1, 1, T_k}, {1, 4, 1, 1}, {2, 4, T_q, T_k}, {2, 1, T_q, T_k}, {1, 1, T_q, T_k}};
  };
  for (const auto& [T_q, T_k] :
       {std::pair<std::int64_t, std::int64_t>{3, 5}, {5, 3}, {1, 70}, {4, 4}, {2, 0}, {0, 2}}) {
    for (const std::int64_t kv_heads : {4, 2, 1}) {
      const Tensor Q = uniform({2, 4, T_q, 3}, random, dtype), K = uniform({2, kv_heads, T_k, 3}, random, dtype),
                   V = uniform({2, kv_heads, T_k, 2}, random, dtype);
      std::vector<AttentionOptions> cases{{}, {.scale = -0.7}, {.scale = 3, .soft_cap = 0.5}};
      for (const Mask& mask :
           {Mask::causal(), Mask::causal(Mask::Align::start), Mask::window(1, 0),
            Mask::window(0, 2, Mask::Align::start),
            Mask::window(Mask::Band::unlimited, 1, Mask::Align::start),  // causal, after one past key
            Mask::padding(std::vector<int>{static_cast<int>(T_k) / 2, static_cast<int>(T_k)}, static_cast<int>(T_k)) &
                Mask::causal()}) {
        cases.push_back({.mask = mask});
      }
      for (const Shape& shape : shapes(T_q, T_k)) {
        std::vector<std::uint8_t> visible;
        for (std::int64_t i = 0; i < shape.numel(); ++i) visible.push_back(random.below(3) != 0);
        const Booleans seen(shape, visible);
        const Mask mask(shape.rank() == 3 ? unsqueeze(seen, 0) : seen);  // per head
        cases.push_back({.mask = mask});
        cases.push_back({.bias = uniform(shape, random, dtype)});
        cases.push_back({.bias = masked_fill(uniform(shape, random, dtype), !seen, hide)});
        cases.push_back({.mask = Mask::causal() & mask, .soft_cap = 2, .bias = uniform(shape, random, dtype)});
      }
      for (const AttentionOptions& o : cases) {
        AttentionOptions all = o;
        all.weights = true;
        CAPTURE(T_q, T_k, kv_heads, o.scale, o.soft_cap, heed::to_string(dtype), o.mask.has_band());
        CAPTURE(heed::to_string(o.mask.has_visible() ? o.mask.visible().shape() : o.bias.shape()));
        const ByNumber expected(Q, K, V, o);
        CHECK(distance(attention(Q, K, V, o).output, expected.output) < allowed);
        const AttentionResult weighted = attention(Q, K, V, all);
        CHECK(distance(weighted.output, expected.output) < allowed);
        CHECK(distance(weighted.weights, expected.weights) < allowed);
        all.scores = true;
        const AttentionResult parts = attention(Q, K, V, all);
        CHECK(distance(parts.output, expected.output) < allowed);
        CHECK(distance(parts.weights, expected.weights) < allowed);
        CHECK(distance(parts.scores, expected.scores) < allowed);
      }
    }
  }
}
