#include "autograd/parallel.h"

#include "autograd/error.h"

#include <omp.h>

namespace heed {
namespace {
int chosen_threads = 0;  // 0: OpenMP's choice
thread_local int place = 0;
}  // namespace

void set_threads(int threads) {
  if (threads < 1) fail("set_threads: expected at least 1 thread, got {}", threads);
  chosen_threads = threads;
}

int threads() { return chosen_threads > 0 ? chosen_threads : omp_get_max_threads(); }

int current_thread() { return place; }

void run_tiles(std::int64_t tiles, void (*run)(void*, std::int64_t), void* context) {
  const int team = static_cast<int>(std::min<std::int64_t>(tiles, threads()));
  if (team <= 1 || omp_in_parallel()) {
    for (std::int64_t tile = 0; tile < tiles; ++tile) run(context, tile);
    return;
  }
#pragma omp parallel num_threads(team)
  {
    place = omp_get_thread_num();
#pragma omp for schedule(static)
    for (std::int64_t tile = 0; tile < tiles; ++tile) run(context, tile);
    place = 0;
  }
}

}  // namespace heed
