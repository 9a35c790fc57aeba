#pragma once
#include <heed/autograd/tensor.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

/// @file
/// 16-bit numbers: elements of bfloat16 and float16 tensors, as in safetensors files.
namespace heed {

/// Widens IEEE 754 binary16: 1 bit of sign, 5 of exponent, 10 of significand.
inline float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U, exponent = (bits >> 10U) & 31U, significand = bits & 1023U;
  if (exponent == 0) return (sign ? -1.0F : 1.0F) * static_cast<float>(significand) * 0x1p-24F;
  const std::uint32_t widened = exponent == 31 ? 255U : exponent + 112U;
  return std::bit_cast<float>(sign | widened << 23U | significand << 13U);
}

/// Rounds to the nearest binary16 number, ties to even. Values from 65520 on become infinity.
inline std::uint16_t to_f16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), sign = (bits >> 16U) & 0x8000U;
  const float size = std::abs(x);
  std::uint32_t result = 0x7e00U;  // NaN
  if (size < 0x1p-14F) {
    result = static_cast<std::uint32_t>(std::nearbyint(size * 0x1p24F));  // subnormal
  } else if (size < 65520.0F) {
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    result = (magnitude + 0xfffU + ((magnitude >> 13U) & 1U) - (112U << 23U)) >> 13U;
  } else if (size >= 65520.0F) {
    result = 0x7c00U;  // infinity
  }
  return static_cast<std::uint16_t>(sign | result);
}

/// Returns `x` if it is a float, else the neighbouring float whose last bit is 1. Rounding that float to 16 bits gives
/// the same result as rounding `x`.
inline float to_odd(double x) {
  const float nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) == x || std::isnan(x)) return nearest;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  return std::bit_cast<float>((bits - (std::abs(static_cast<double>(nearest)) > std::abs(x))) | 1U);
}

/// Widens bfloat16, the upper half of a float.
inline float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); }

/// Rounds to the nearest bfloat16 number, ties to even.
inline std::uint16_t to_bf16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return static_cast<std::uint16_t>(bits >> 16U | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
}

/// An element of a bfloat16 tensor.
struct BFloat16 {
  std::uint16_t bits;  ///< as in a file
  /// Widens the number, which is exact.
  operator float() const { return from_bf16(bits); }
};

/// An element of a float16 tensor.
struct Float16 {
  std::uint16_t bits;  ///< as in a file
  /// Widens the number, which is exact.
  operator float() const { return from_f16(bits); }
};

/// The type to compute with: float for 16-bit elements S, else S.
template <class S>
using Widened = std::conditional_t<sizeof(S) == 2, float, S>;

/// Calls `function` as dispatch() does, also for 16-bit types: for code that only moves or widens elements. Throws Error for
/// a type of blocks.
decltype(auto) dispatch_stored(DType dtype, auto&& function) {
  if (dtype == DType::bfloat16) return function.template operator()<BFloat16>();
  if (dtype == DType::float16) return function.template operator()<Float16>();
  return dispatch(dtype, function);
}

}  // namespace heed
