#include "autograd/cpu/blas.h"
#include "autograd/cpu/thread_pool.h"

#include <heed/autograd/error.h>
#include <heed/autograd/machine.h>

#include <atomic>
#include <omp.h>

namespace heed {
namespace {

std::atomic<int> chosen_threads = 0;  // 0: OpenMP's choice

}  // namespace

const char* vector_instructions() {
#if defined(__AVX512F__)
  return "AVX-512";
#elif defined(__AVX2__)
  return "AVX2";
#elif defined(__ARM_NEON)
  return "NEON";
#else
  return "basic";
#endif
}

const std::string& blas_description() { return cpu::blas_description(); }

void set_threads(int threads) {
  if (threads < 1) fail("set_threads: expected at least 1 thread, got {}", threads);
  chosen_threads = threads;
}

int threads() {
  static const int default_threads = omp_get_max_threads();
  const int chosen = chosen_threads;
  return chosen > 0 ? chosen : default_threads;
}

void parallel_for(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& f) {
  cpu::parallel_for(count, grain, f);
}

}  // namespace heed
