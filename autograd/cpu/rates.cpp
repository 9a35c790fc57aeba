#include "autograd/cpu/rates.h"

#include "autograd/cpu/blas.h"
#include "autograd/cpu/kernels.h"
#include "autograd/cpu/stream.h"
#include "autograd/cpu/sums.h"
#include "autograd/cpu/vector_bytes.h"

#include <heed/autograd/machine.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

namespace heed::cpu {
namespace {

// Returns the shortest of several times, in seconds: the one least disturbed by other programs.
double shortest(int rounds, auto&& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

}  // namespace

double fma_rate(int team) {
  typedef float Vector __attribute__((vector_size(vector_bytes)));
  constexpr std::int64_t lanes = vector_bytes / 4;
  constexpr std::int64_t steps = 1 << 19;  // some milliseconds, so that the system places each thread on its own core
  constexpr std::int64_t sums = 12;        // enough independent sums to hide the latency of one
  Tensor result({team, lanes}, DType::float32);
  float* to = result.mutable_data<float>();
  const double seconds = shortest(25, [&] {
    parallel_for(team, 1, [&](std::int64_t t, std::int64_t) {
      Vector sum[sums];
      for (std::int64_t j = 0; j < sums; ++j) sum[j] = Vector{} + static_cast<float>(j);
      const Vector factor = Vector{} + 0.5F, more = Vector{} + static_cast<float>(t);
      for (std::int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
        for (std::int64_t j = 0; j < sums; ++j) sum[j] = sum[j] * factor + more;
      }
      for (std::int64_t j = 1; j < sums; ++j) sum[0] += sum[j];
      std::memcpy(to + t * lanes, &sum[0], sizeof sum[0]);
    });
  });
  return 2.0 * static_cast<double>(team * steps * sums * lanes) / seconds;
}

double gemm_rate(std::int64_t n, int team) {
  blas_description();  // loaded before any thread needs it
  // Thirds, as split_gemm() is faster for numbers of fewer bits.
  const Tensor A = full({team, n, n}, 1.0 / 3), B = full({team, n, n}, 1.0 / 3);
  Tensor C({team, n, n}, DType::float32);
  float* to = C.mutable_data<float>();
  const std::int64_t products = std::max<std::int64_t>(1, 50'000'000 / (2 * n * n * n));  // about a millisecond of work
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

double memory_rate(std::int64_t bytes, int team, Traffic traffic) {
  const std::int64_t n = std::max<std::int64_t>(16, bytes / 64 * 16);
  const Tensor x = ones({n});
  Tensor y = ones({n}), totals({team, 16}, DType::float64);
  const float* from = x.data<float>();
  float* to = y.mutable_data<float>();
  double* total = totals.mutable_data<double>();
  const auto go_through = [&](std::int64_t begin, std::int64_t end) {
    switch (traffic) {
      case Traffic::add:
        for (std::int64_t i = begin; i < end; ++i) to[i] += 0.5F * from[i];
        return;
      case Traffic::read:
        total[current_thread() * 16] = sum_row(from + begin, end - begin);
        return;
      case Traffic::copy:
        std::copy(from + begin, from + end, to + begin);
        return;
      case Traffic::copy_past_caches: {
        const StreamScope scope;
        stream(from + begin, to + begin, end - begin);
        return;
      }
    }
  };
  const std::int64_t passes = std::max<std::int64_t>(1, (1 << 22) / n);
  const std::int64_t share = (n / 16 + team - 1) / team * 16;
  const double seconds = shortest(7, [&] {
    for (std::int64_t pass = 0; pass < passes; ++pass) parallel_for(n, share, go_through);
  });
  const double arrays = traffic == Traffic::add ? 3 : traffic == Traffic::read ? 1 : 2;
  return 4.0 * arrays * static_cast<double>(passes * n) / seconds;
}

}  // namespace heed::cpu
