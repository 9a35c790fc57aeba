#pragma once
#include "autograd/cpu/lanes.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

// exp and related functions for float without branches or calls, so that loops over them vectorise; accurate to 3 units
// in the last place. The double versions call the C library; lanes.h has those of whole vectors.
namespace heed::cpu {

// Returns c_0 x^n + c_1 x^(n - 1) + ... + c_n, by Horner's rule.
[[gnu::always_inline]] inline float polynomial(float x, float c, auto... rest) {
  ((c = c * x + rest), ...);
  return c;
}

// Splits x = n ln 2 + r with |r| <= ln(2) / 2 into 2^(n - k) and e^r - 1 = r + r^2/2! + ... + r^7/7!. Requires -126 <=
// n - k <= 127; with k = 0 that is -87.33 <= x <= 88.
struct PowerOfTwo {
  float scale, expm1_r;
};
[[gnu::always_inline]] inline PowerOfTwo split_exp(float x, std::uint32_t k = 0) {
  const float shifted = x * 1.44269504F + 12582912.0F;  // adding 1.5 * 2^23 rounds to an integer, kept in the low bits
  const float n = shifted - 12582912.0F;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;  // ln 2 in two parts: the first has 9 bits
  const float p = polynomial(r, 1.0F / 5040, 1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F) * r * r + r;
  const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(shifted) + 127U - k) << 23U;
  return {std::bit_cast<float>(exponent), p};
}

[[gnu::always_inline]] inline float exp(float x) {
  // e^x = 2^k (2^(n - k) e^r); k keeps 2^(n - k) a normal float where 2^n would overflow or be subnormal
  const bool large = x > 88.0F, small = x < -87.0F;
  const float clamped = x < 89.0F ? (x > -104.0F ? x : -104.0F) : 89.0F;
  const PowerOfTwo e = split_exp(clamped, large ? 1U : small ? 0U - 32U : 0U);
  const float y = (e.scale + e.scale * e.expm1_r) * (large ? 2.0F : small ? 0x1p-32F : 1.0F);
  return x != x ? x : y;
}
inline double exp(double x) { return std::exp(x); }

// e^x for x <= 0 (and, because of rounding, slightly above). Accurate up to x = 88; takes less than half the time of
// exp.
[[gnu::always_inline]] inline float exp_nonpositive(float x) {
  const PowerOfTwo e = split_exp(x);  // invalid below the bound; NaN gives NaN
  return x < -87.33F ? 0.0F : e.scale + e.scale * e.expm1_r;
}
inline double exp_nonpositive(double x) { return std::exp(x); }

// With |x| below 0.9: x + x^3 P(x^2), fitted to 1e-9, so that most of the result is exact. Above: 1 - 2 / (e^(2x) + 1),
// where the subtracted part is small, with e^(2x) = 2^n e^(2r), |r| <= ln(2) / 4. Within 1 unit in the last place.
[[gnu::always_inline]] inline float tanh(float x) {
  const float a = std::abs(x), a2 = a * a;
  const float p = polynomial(a2, -0.000455455252F, 0.00258265434F, -0.00826452868F, 0.021663534F, -0.0539292992F,
                             0.133329782F, -0.333333223F);
  const float near = a + a * a2 * p;
  const float clamped = a > 9.1F ? 9.1F : a;  // keeps NaN
  const float shifted = clamped * 2.88539008F + 12582912.0F, n = shifted - 12582912.0F;
  const float r = (clamped - n * 0.34667969F) + n * 1.06097220e-4F;
  // (e^(2r) - 1) / r
  const float q = polynomial(r, 0.0893127019F, 0.26802826F, 0.666657847F, 1.33331254F, 2.0F, 2.0F);
  const float scale = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) + 127U) << 23U);
  const float far = 1.0F - 2.0F / (scale * r * q + (scale + 1.0F));
  return std::copysign(a < 0.9F ? near : far, x);
}
inline double tanh(double x) { return std::tanh(x); }

// The normal distribution: Phi(x) = (1 + erf(x / sqrt 2)) / 2 and phi(x) = e^(-x^2/2) / sqrt(2 pi). With z = |x| / sqrt 2
// the tail Phi(-|x|) is e^(-z^2) R(z) / 2; R(z) = e^(z^2) erfc(z) is fitted to 2e-8 by t P(t - 0.625),
// t = 1 / (1 + 0.3 z).
template <class T>
struct Normal {
  T distribution, density;
};
[[gnu::always_inline]] inline Normal<float> normal(float x) {
  const float t = 1.0F / (1.0F + 0.212132034F * std::abs(x)), u = t - 0.625F;
  const float p = polynomial(u, -0.129407123F, -0.162081107F, 0.195379646F, 0.838997424F, 1.38099229F, 1.51793289F,
                             1.25046408F, 0.804314613F, 0.408633083F);
  const float e = exp_nonpositive(-0.5F * x * x), tail = 0.5F * e * p * t;
  return {x < 0 ? tail : 1.0F - tail, 0.398942280F * e};
}
inline Normal<double> normal(double x) {
  constexpr double sqrt_half = std::numbers::sqrt2 / 2;
  return {std::erfc(-x * sqrt_half) / 2, std::numbers::inv_sqrtpi * sqrt_half * std::exp(-x * x / 2)};
}
inline Normal<Lanes<double>> normal(Lanes<double> x) {
  constexpr double sqrt_half = std::numbers::sqrt2 / 2;
  return {erfc(-x * sqrt_half) / 2.0, std::numbers::inv_sqrtpi * sqrt_half * exp(-x * x / 2.0)};
}

// 1 / (1 + e^-x), as 0.5 / (0.5 + e^-x / 2): the half of the largest e^-x is infinite first where the result is 0.
[[gnu::always_inline]] inline float sigmoid(float x) {
  const float below = -x > 89.5F ? 89.5F : -x, clamped = below < -87.0F ? -87.0F : below;  // keeps NaN
  const PowerOfTwo e = split_exp(clamped, 1);
  return 0.5F / (0.5F + e.scale * (1 + e.expm1_r));
}
inline double sigmoid(double x) { return 1 / (1 + exp(-x)); }

}  // namespace heed::cpu
