#include "autograd/cpu/rates.h"

#include "autograd/cpu/blas.h"
#include "autograd/cpu/kernels.h"

#include <heed/autograd/machine.h>

#include <algorithm>
#include <chrono>
#include <limits>

namespace heed::cpu {
namespace {

// The shortest of several times, in seconds: the machine's, without its other guests.
template <class Work>
double shortest(int rounds, Work&& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

}  // namespace

double gemm_rate(std::int64_t n, int team) {
  blas_description();  // loaded before any thread needs it
  const Tensor A = full({team, n, n}, 0.5), B = full({team, n, n}, 0.5);
  Tensor C({team, n, n}, DType::float32);
  float* to = C.mutable_data<float>();
  const std::int64_t products = std::max<std::int64_t>(1, 50'000'000 / (2 * n * n * n));  // a millisecond's work
  const double seconds = shortest(7, [&] {
    parallel_for(team, 1, [&](std::int64_t t, std::int64_t) {
      const std::int64_t first = t * n * n;
      for (std::int64_t i = 0; i < products; ++i) {
        gemm(n, n, n, 1.0F, Matrix<float>{A.data<float>() + first, n, 1}, Matrix<float>{B.data<float>() + first, n, 1},
             0.0F, to + first, n);
      }
    });
  });
  return 2.0 * static_cast<double>(team * products * n * n * n) / seconds;
}

double memory_rate(std::int64_t bytes, int team) {
  const std::int64_t n = std::max<std::int64_t>(1, bytes / 4);
  const Tensor x = ones({n});
  Tensor y = ones({n});
  const float* from = x.data<float>();
  float* to = y.mutable_data<float>();
  const std::int64_t passes = std::max<std::int64_t>(1, (1 << 22) / n);
  const double seconds = shortest(7, [&] {
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      parallel_for(n, (n + team - 1) / team, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) to[i] += 0.5F * from[i];
      });
    }
  });
  return 12.0 * static_cast<double>(passes * n) / seconds;
}

}  // namespace heed::cpu
