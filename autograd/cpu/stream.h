#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// Tensors too large for any cache, written past the caches (non-temporal stores): an ordinary store first reads the line that
// it overwrites. Internal.
namespace heed::cpu {

// Where a tensor of so many bytes is written so.
constexpr std::int64_t most_cached_bytes = std::int64_t{1} << 25;

// In the scope of a thread that streams: at its end, what was streamed is there for the others.
struct StreamScope {
  [[nodiscard]] StreamScope() {}
  ~StreamScope() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
  }
};

// to[i] = from[i], past the caches where the processor can.
template <class T>
void stream(const T* from, T* to, std::int64_t n) {
#if defined(__SSE2__)
  constexpr std::int64_t width = sizeof(__m128) / sizeof(T);
  if (reinterpret_cast<std::uintptr_t>(to) % sizeof(__m128) == 0) {
    for (; n >= width; n -= width, from += width, to += width) {
      __m128 values;
      std::memcpy(&values, from, sizeof values);
      _mm_stream_ps(reinterpret_cast<float*>(to), values);
    }
  }
#endif
  std::copy_n(from, n, to);
}

// Whether results are worth the detour of a Part: past the caches a copy is 1.7 times as fast on Sapphire Rapids, no faster on
// Zen 3.
inline bool streams_results() {
#if defined(__x86_64__)
  static const bool intel = __builtin_cpu_is("intel");
  return intel;
#else
  return false;
#endif
}

// Where to write to[0], ..., to[n - 1], a part of a tensor of `all` elements: there; or, of one that no cache holds, in a
// buffer that stays in the first cache, from where it is streamed at the end of the scope. One a thread at a time, in a
// StreamScope.
template <class T>
class Part {
 public:
  [[nodiscard]] Part(T* to, std::int64_t n, std::int64_t all)
      : to_(to),
        data_(n <= most && all * static_cast<std::int64_t>(sizeof(T)) > most_cached_bytes && streams_results()
                  ? buffer()
                  : to),
        n_(n) {}
  ~Part() {
    if (data_ != to_) stream(data_, to_, n_);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  T* data() const { return data_; }

 private:
  static constexpr std::int64_t most = 4096;
  static T* buffer() {
    alignas(64) static thread_local T values[most];
    return values;
  }
  T *to_, *data_;
  std::int64_t n_;
};

}  // namespace heed::cpu
