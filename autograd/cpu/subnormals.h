#pragma once
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace heed::cpu {

// While one exists, this thread treats subnormal numbers (below 1.2e-38 for float) as 0 when it reads or writes them.
// On x86-64 an instruction with a subnormal operand takes some hundred cycles; gradients become subnormal late in
// training.
class DenormalsAreZero {
 public:
#if defined(__SSE__)
  [[nodiscard]] DenormalsAreZero() { _mm_setcsr(before_ | 0x8040); }
  ~DenormalsAreZero() { _mm_setcsr(before_); }
  DenormalsAreZero(const DenormalsAreZero&) = delete;

 private:
  const unsigned before_ = _mm_getcsr();
#else
  [[nodiscard]] DenormalsAreZero() {}  // other processors keep subnormal numbers
#endif
};

}  // namespace heed::cpu
