#include "autograd/cpu/thread_pool.h"
#include "autograd/cpu/units.h"

#include <heed/autograd/error.h>
#include <heed/autograd/machine.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <omp.h>

namespace heed {
namespace {

constexpr int max_threads = 1024;

std::atomic<int> chosen_threads = 0;  // 0: default_threads()

// Returns OpenMP's choice. OpenMP reads OMP_NUM_THREADS modulo 2^32, so this rejects numbers that are too large.
int default_threads() {
  const char* const text = std::getenv("OMP_NUM_THREADS");
  if (text && std::strtoull(text, nullptr, 10) > max_threads) {
    fail("OMP_NUM_THREADS: expected from 1 to {} threads, got '{}'", max_threads, text);
  }
  return omp_get_max_threads();
}

}  // namespace

const char* vector_instructions() {
#if defined(__AVX512F__)
  return cpu::has_unit(cpu::Unit::amx_bf16) ? "AVX-512 and AMX" : "AVX-512";
#elif defined(__AVX2__)
  return "AVX2";
#elif defined(__ARM_NEON)
  return "NEON";
#else
  return "basic";
#endif
}

void set_threads(int threads) {
  if (threads < 1 || threads > max_threads) {
    fail("set_threads: expected from 1 to {} threads, got {}", max_threads, threads);
  }
  chosen_threads = threads;
}

int threads() {
  if (const int chosen = chosen_threads; chosen > 0) return chosen;
  static const int by_default = default_threads();
  return by_default;
}

void parallel_for(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& f) {
  if (count < 0) fail("parallel_for: expected a count of at least 0, got {}", count);
  if (grain < 1) fail("parallel_for: expected a grain of at least 1, got {}", grain);
  if (!f) fail("parallel_for: the function is empty");
  cpu::parallel_for(count, std::min(grain, std::max<std::int64_t>(count, 1)), f);
}

}  // namespace heed
