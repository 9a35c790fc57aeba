#pragma once
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace heed::cpu {

// While it lives, numbers below the smallest normal one (1.2e-38 for a float) count as 0 on this thread, read or written: with
// one of them x86-64 takes some hundred cycles for an instruction. Gradients are of that size where all is learned.
class DenormalsAreZero {
 public:
#if defined(__SSE__)
  [[nodiscard]] DenormalsAreZero() { _mm_setcsr(before_ | 0x8040); }
  ~DenormalsAreZero() { _mm_setcsr(before_); }
  DenormalsAreZero(const DenormalsAreZero&) = delete;

 private:
  const unsigned before_ = _mm_getcsr();
#else
  [[nodiscard]] DenormalsAreZero() {}  // elsewhere they stay what they are
#endif
};

}  // namespace heed::cpu
