#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

#include <cmath>
#include <limits>

using namespace heed;

TEST_CASE("Wrong use of attention throws an Error that states what was expected") {
  const Tensor x = zeros({2, 3});
  check_messages(
      {{"attention: expected Q (..., T_q, d_k), K (..., T_k, d_k), V (..., T_k, d_v) of one dtype, got (2, 3), "
        "(2, 4), (2, 3)",
        [&] {
          attention(x, zeros({2, 4}), x);
        }},
       {"attention: a bias of shape (1, 2, 2) does not broadcast to the weights' (2, 2)",
        [&] {
          attention(x, x, x, AttentionOptions{.bias = zeros({1, 2, 2})});
        }},
       {"attention: a mask of shape (2, 2, 2) does not broadcast to the weights' (2, 2)",
        [&] {
          attention(x, x, x, {.mask = Mask(Booleans({2, 2, 2}, std::vector<std::uint8_t>(8, 1)))});
        }},
       {"attention: Q is float32, the bias float64",
        [&] {
          attention(x, x, x, AttentionOptions{.bias = zeros({2, 2}, DType::float64)});
        }},
       {"attention: expected a finite soft_cap above 0, or 0 for none, got -1",
        [&] { attention(x, x, x, AttentionOptions{.soft_cap = -1}); }},
       {"attention: expected a finite soft_cap above 0, or 0 for none, got nan",
        [&] { attention(x, x, x, AttentionOptions{.soft_cap = std::nan("")}); }},
       {"attention: expected a finite scale, got nan",
        [&] { attention(x, x, x, AttentionOptions{.scale = std::nan("")}); }},
       {"attention_composed: expected a finite scale, got inf",
        [&] { attention_composed(x, x, x, AttentionOptions{.scale = std::numeric_limits<double>::infinity()}); }},
       {"attention: d_k must be at least 1, got Q (2, 0)",
        [] {
          attention(zeros({2, 0}), zeros({3, 0}), zeros({3, 4}));
        }},
       {"attention_composed: expected a finite soft_cap above 0, or 0 for none, got 1e+300",
        [&] { attention_composed(x, x, x, AttentionOptions{.soft_cap = 1e300}); }}});
}

TEST_CASE("Errors of grouped-query attention quote the caller's shapes") {
  const Tensor Q = zeros({4, 3, 4}), K = zeros({2, 5, 4}), V = zeros({2, 5, 6});
  const auto mask = [](const Shape& shape) {
    return Mask(Booleans(shape, std::vector<std::uint8_t>(static_cast<std::size_t>(shape.numel()), 1)));
  };
  CHECK(attention(Q, K, V, AttentionOptions{.mask = mask({4, 1, 5}), .bias = zeros({1, 3, 5})}).output.shape() ==
        Shape{4, 3, 6});
  check_messages(
      {{"attention: bias: shapes (2, 3, 5) and (4, 3, 5) do not broadcast: 2 != 4 at axis -3. Sizes must be equal, or "
        "one of them 1",
        [&] {
          attention(Q, K, V, AttentionOptions{.bias = zeros({2, 3, 5})});
        }},
       {"attention: mask: shapes (2, 3, 5) and (4, 3, 5) do not broadcast: 2 != 4 at axis -3. Sizes must be equal, or "
        "one of them 1",
        [&] {
          attention(Q, K, V, {.mask = mask({2, 3, 5})});
        }},
       {"attention_composed: mask: shapes (2, 3) and (4, 3, 5) do not broadcast: 3 != 5 at axis -1. Sizes must be "
        "equal, or one of them 1",
        [&] {
          attention_composed(Q, K, V, {.mask = mask({2, 3})});
        }},
       {"attention: expected Q (..., T_q, d_k), K (..., T_k, d_k), V (..., T_k, d_v) of one dtype, got (4, 3, 4), "
        "(2, 5, 4), (4, 5, 6)",
        [&] {
          attention(Q, K, zeros({4, 5, 6}));
        }},
       {"attention: expected Q (..., T_q, d_k), K (..., T_k, d_k), V (..., T_k, d_v) of one dtype, got (4, 3, 4), "
        "(3, 5, 4), (3, 5, 4)",
        [&] {
          attention(Q, zeros({3, 5, 4}), zeros({3, 5, 4}));
        }}});
}

TEST_CASE("A mask of three axes is refused where it may be one per text or one per head") {
  const auto mask = [](const Shape& shape) {
    return Mask(Booleans(shape, std::vector<std::uint8_t>(static_cast<std::size_t>(shape.numel()), 1)));
  };
  const Tensor x = zeros({2, 2, 3, 4});
  const std::string readings =
      "a mask of shape (2, 3, 3) may be one per text or one per head of the weights (2, 2, 3, 3). Give it the shape "
      "(2, "
      "1, 3, 3) for one per text, or (1, 2, 3, 3) for one per head";
  check_messages({{"attention: " + readings,
                   [&] {
                     attention(x, x, x, {.mask = mask({2, 3, 3})});
                   }},
                  {"attention_composed: " + readings,
                   [&] {
                     attention_composed(x, x, x, {.mask = mask({2, 3, 3}) & Mask::causal()});
                   }},
                  {"mask: cannot combine masks of shapes (2, 3, 3) and (2, 1, 1, 3). Give the one of three axes the "
                   "shape (2, 1, 3, 3) for one per text, or (1, 2, 3, 3) for one per head",
                   [&] {
                     mask({2, 3, 3}) & Mask::padding(std::vector{1, 2}, 3);
                   }},
                  {"mask: cannot combine masks of shapes (2, 2, 3, 3) and (2, 3, 3). Give the one of three axes the "
                   "shape (2, 1, 3, 3) for one per text, or (1, 2, 3, 3) for one per head",
                   [&] {
                     mask({2, 2, 3, 3}) & mask({2, 3, 3});
                   }}});
  for (const Shape& shape : {Shape{3, 3}, Shape{2, 1, 3, 3}, Shape{1, 2, 3, 3}, Shape{2, 2, 1, 3}})
    CHECK(attention(x, x, x, {.mask = mask(shape)}).output.shape() == x.shape());
}
