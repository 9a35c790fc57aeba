#pragma once
#include "autograd/cpu/vector_bytes.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#if defined(__x86_64__) && defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 35)
#define HEED_HAS_LIBMVEC
#endif
#endif

// Functions of the C library for whole vectors: libmvec, a part of glibc, accurate to 4 units in the last place. A loop that
// calls a scalar function takes up to ten times as long. Where the library has no vector variants, each lane calls the scalar
// function. Internal.
namespace heed::cpu {

// As many numbers as fill a register, or so many bytes.
template <class T, std::int64_t bytes = vector_bytes>
struct LanesOf {
  typedef T type __attribute__((vector_size(bytes)));
};
template <class T>
using Lanes = typename LanesOf<T>::type;
template <class T>
inline constexpr std::int64_t lane_count = vector_bytes / static_cast<std::int64_t>(sizeof(T));

// The type of the numbers of Lanes, or of one number.
template <class V>
struct ElementOf {
  using type = V;
};
template <>
struct ElementOf<Lanes<float>> {
  using type = float;
};
template <>
struct ElementOf<Lanes<double>> {
  using type = double;
};
template <class V>
using Element = typename ElementOf<V>::type;

// Returns s in every lane, or as one number. s is not -0.
template <class V>
[[gnu::always_inline]] inline V splat(Element<V> s) {
  return V{} + s;
}

// Names as the vector ABI forms them: the instructions, the number of lanes, a "v" for each argument.
#if defined(HEED_HAS_LIBMVEC) && defined(__AVX512F__)
#define HEED_FLOATS(name, v) _ZGVeN16##v##_##name##f
#define HEED_DOUBLES(name, v) _ZGVeN8##v##_##name
#elif defined(HEED_HAS_LIBMVEC) && defined(__AVX2__)
#define HEED_FLOATS(name, v) _ZGVdN8##v##_##name##f
#define HEED_DOUBLES(name, v) _ZGVdN4##v##_##name
#elif defined(HEED_HAS_LIBMVEC) && defined(__AVX__)
#define HEED_FLOATS(name, v) _ZGVcN8##v##_##name##f
#define HEED_DOUBLES(name, v) _ZGVcN4##v##_##name
#elif defined(HEED_HAS_LIBMVEC)
#define HEED_FLOATS(name, v) _ZGVbN4##v##_##name##f
#define HEED_DOUBLES(name, v) _ZGVbN2##v##_##name
#endif

#if defined(HEED_HAS_LIBMVEC)
#define HEED_FUNCTION(name)                                                    \
  extern "C" Lanes<float> HEED_FLOATS(name, v)(Lanes<float>);                  \
  extern "C" Lanes<double> HEED_DOUBLES(name, v)(Lanes<double>);               \
  inline Lanes<float> name(Lanes<float> x) { return HEED_FLOATS(name, v)(x); } \
  inline Lanes<double> name(Lanes<double> x) { return HEED_DOUBLES(name, v)(x); }
extern "C" Lanes<float> HEED_FLOATS(pow, vv)(Lanes<float>, Lanes<float>);
extern "C" Lanes<double> HEED_DOUBLES(pow, vv)(Lanes<double>, Lanes<double>);
inline Lanes<float> pow(Lanes<float> x, Lanes<float> y) { return HEED_FLOATS(pow, vv)(x, y); }
inline Lanes<double> pow(Lanes<double> x, Lanes<double> y) { return HEED_DOUBLES(pow, vv)(x, y); }
#else
template <class V, class F>
[[gnu::always_inline]] inline V lane_by_lane(F f, V x, V y = {}) {
  for (std::int64_t l = 0; l < lane_count<Element<V>>; ++l) x[l] = f(x[l], y[l]);
  return x;
}
#define HEED_FUNCTION(name)                                                \
  inline Lanes<float> name(Lanes<float> x) {                               \
    return lane_by_lane([](float v, float) { return std::name(v); }, x);   \
  }                                                                        \
  inline Lanes<double> name(Lanes<double> x) {                             \
    return lane_by_lane([](double v, double) { return std::name(v); }, x); \
  }
inline Lanes<float> pow(Lanes<float> x, Lanes<float> y) {
  return lane_by_lane([](float u, float v) { return std::pow(u, v); }, x, y);
}
inline Lanes<double> pow(Lanes<double> x, Lanes<double> y) {
  return lane_by_lane([](double u, double v) { return std::pow(u, v); }, x, y);
}
#endif
HEED_FUNCTION(exp)
HEED_FUNCTION(log)
HEED_FUNCTION(sin)
HEED_FUNCTION(cos)
HEED_FUNCTION(tanh)
HEED_FUNCTION(erf)
HEED_FUNCTION(erfc)
HEED_FUNCTION(log1p)
HEED_FUNCTION(expm1)
#undef HEED_FUNCTION
#undef HEED_FLOATS
#undef HEED_DOUBLES

inline Lanes<double> sigmoid(Lanes<double> x) { return 1.0 / (1.0 + exp(-x)); }

// Loads n <= lane_count numbers from[0], from[step], ...; the other lanes repeat the last one.
template <class T>
[[gnu::always_inline]] inline Lanes<T> load_lanes(const T* from, std::int64_t step, std::int64_t n) {
  constexpr std::int64_t width = lane_count<T>;
  // not memcpy: g++ copies in halves to the stack, and reading them as a whole takes some 20 cycles
  typedef T Unaligned __attribute__((vector_size(vector_bytes), aligned(sizeof(T)), may_alias));
  if (step == 1 && n == width) return *reinterpret_cast<const Unaligned*>(from);
#if defined(__AVX512F__)
  if (step == 1) {
    if constexpr (std::is_same_v<T, float>) {
      return _mm512_mask_loadu_ps(_mm512_set1_ps(from[n - 1]), static_cast<__mmask16>((1u << n) - 1), from);
    } else {
      return _mm512_mask_loadu_pd(_mm512_set1_pd(from[n - 1]), static_cast<__mmask8>((1u << n) - 1), from);
    }
  }
#endif
  T numbers[width];
  if (step == 0) {
    for (T& number : numbers) number = *from;
  } else {
    for (std::int64_t l = 0; l < width; ++l) numbers[l] = from[(l < n ? l : n - 1) * step];
  }
  Lanes<T> lanes;
  std::memcpy(&lanes, numbers, sizeof lanes);
  return lanes;
}

// Stores the first n lanes.
template <class T>
[[gnu::always_inline]] inline void store_lanes(T* to, Lanes<T> lanes, std::int64_t n) {
  if (n == lane_count<T>) {
    std::memcpy(to, &lanes, sizeof lanes);
    return;
  }
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>) {
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << n) - 1), lanes);
  } else {
    _mm512_mask_storeu_pd(to, static_cast<__mmask8>((1u << n) - 1), lanes);
  }
#else
  std::memcpy(to, &lanes, static_cast<std::size_t>(n) * sizeof(T));
#endif
}

}  // namespace heed::cpu
