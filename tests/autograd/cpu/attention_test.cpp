#include "autograd/cpu/attention.h"

#include "tests/autograd/helpers.h"

using namespace heed;

namespace {

// A causal mask (T_q, T_k) that shows two of three keys, and none to the query `blind`.
Mask sparse_mask(std::int64_t T_q, std::int64_t T_k, std::int64_t blind) {
  std::vector<std::uint8_t> visible;
  for (std::int64_t i = 0; i < T_q * T_k; ++i) visible.push_back(i % 3 != 0 && i / T_k != blind);
  return Mask(Booleans({T_q, T_k}, visible)) & Mask::causal();
}

}  // namespace

TEST_CASE("attention_forward keeps each row's maximum and inverse sum, 0 for a fully masked row") {
  const auto [T_q, T_k] = GENERATE(table<int, int>({{5, 9}, {130, 140}, {7, 600}, {300, 520}}));
  const std::int64_t blind = T_q / 2;
  CAPTURE(T_q, T_k);
  Random random(41);
  const Tensor Q = uniform({2, T_q, 5}, random), K = uniform({2, T_k, 5}, random), V = uniform({2, T_k, 3}, random);
  const Mask mask = sparse_mask(T_q, T_k, blind);
  blas_description();
  const cpu::AttentionForward f = cpu::attention_forward(Q, K, V, {mask, 1 / std::sqrt(5.0)}, true);
  REQUIRE(f.row_max.shape() == Shape{2, T_q});
  REQUIRE(f.inverse_row_sum.shape() == Shape{2, T_q});

  const Booleans hidden = mask.hidden(T_q, T_k);
  const auto visible = [&, keys = T_k](std::int64_t i, std::int64_t j) { return hidden[i * keys + j] == 0; };
  double off = 0;
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t i = 0; i < T_q; ++i) {
      std::vector<double> scores;
      for (std::int64_t j = 0; j < T_k; ++j) {
        double score = 0;
        for (std::int64_t c = 0; c < 5; ++c) score += Q.at({b, i, c}) * K.at({b, j, c}) / std::sqrt(5.0);
        scores.push_back(score);
      }
      double most = -1e300, sum = 0;
      for (std::int64_t j = 0; j < T_k; ++j) {
        if (visible(i, j)) most = std::max(most, scores[static_cast<std::size_t>(j)]);
      }
      std::vector<double> weights, output(3);
      for (std::int64_t j = 0; j < T_k; ++j) {
        weights.push_back(visible(i, j) ? std::exp(scores[static_cast<std::size_t>(j)] - most) : 0);
        sum += weights.back();
      }
      if (i == blind) {
        CHECK(sum == 0);
        CHECK(f.row_max.at({b, i}) == 0);
        CHECK(f.inverse_row_sum.at({b, i}) == 0);
        sum = 1;
      } else {
        off = std::max(off, std::abs(f.row_max.at({b, i}) - most));
        off = std::max(off, std::abs(f.inverse_row_sum.at({b, i}) * sum - 1));
      }
      for (std::int64_t j = 0; j < T_k; ++j) {
        const double weight = weights[static_cast<std::size_t>(j)] / sum;
        off = std::max(off, std::abs(f.weights.at({b, i, j}) - weight));
        for (std::int64_t c = 0; c < 3; ++c) output[static_cast<std::size_t>(c)] += weight * V.at({b, j, c});
      }
      for (std::int64_t c = 0; c < 3; ++c) {
        off = std::max(off, std::abs(f.output.at({b, i, c}) - output[static_cast<std::size_t>(c)]));
      }
    }
  }
  CHECK(off < 1e-13);
}

TEST_CASE("Attention lays out heads and their gradients so that joining heads is a view") {
  Random random(42);
  const Tensor Q = uniform({2, 3, 4, 5}, random), K = uniform({2, 3, 6, 5}, random), V = uniform({2, 3, 6, 7}, random);
  blas_description();
  const cpu::AttentionTerms terms{{}, 0.5};
  const cpu::AttentionForward f = cpu::attention_forward(Q, K, V, terms, false);
  CHECK_FALSE(f.weights.defined());
  const auto [dQ, dK, dV, dbias] = cpu::attention_backward(Q, K, V, terms, f, uniform({2, 3, 4, 7}, random));
  CHECK_FALSE(dbias.defined());
  CHECK(f.output.shape() == Shape{2, 3, 4, 7});
  CHECK(dQ.shape() == Q.shape());
  CHECK(dK.shape() == K.shape());
  CHECK(dV.shape() == V.shape());
  for (const Tensor& result : {f.output, dQ, dK, dV}) CHECK(transpose(result, 1, 2).is_contiguous());
}
