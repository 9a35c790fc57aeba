#include "autograd/parallel.h"

#include "autograd/error.h"

#include <chrono>
#include <omp.h>

namespace heed {
namespace {

using Clock = std::chrono::steady_clock;
int chosen_threads = 0;  // 0: OpenMP's choice
thread_local int place = 0;

// A thread ends with the last of its team. Where other programs hold the processors, that one waits for its turn:
// milliseconds, for work of microseconds. Then a thread does better alone, for twenty times as long as it had to wait,
// unless it was told how many there should be.
thread_local Clock::time_point alone_until;
constexpr auto patience = std::chrono::microseconds(500);

void note_wait(Clock::time_point begun, Clock::time_point worked, Clock::time_point ended) {
  const auto waited = ended - worked;
  if (chosen_threads == 0 && waited > patience && waited > 4 * (worked - begun)) alone_until = ended + 20 * waited;
}

}  // namespace

void set_threads(int threads) {
  if (threads < 1) fail("set_threads: expected at least 1 thread, got {}", threads);
  chosen_threads = threads;
}

int threads() { return chosen_threads > 0 ? chosen_threads : omp_get_max_threads(); }

int current_thread() { return place; }

void run_tiles(std::int64_t tiles, void (*run)(void*, std::int64_t), void* context) {
  const int team = static_cast<int>(std::min<std::int64_t>(tiles, threads()));
  const bool shared = team > 1 && !omp_in_parallel();
  const Clock::time_point begun = shared ? Clock::now() : Clock::time_point();
  if (!shared || begun < alone_until) {
    for (std::int64_t tile = 0; tile < tiles; ++tile) run(context, tile);
    return;
  }
  Clock::time_point worked;
#pragma omp parallel num_threads(team)
  {
    place = omp_get_thread_num();
#pragma omp for schedule(static) nowait
    for (std::int64_t tile = 0; tile < tiles; ++tile) run(context, tile);
    if (place == 0) worked = Clock::now();
    place = 0;
  }
  note_wait(begun, worked, Clock::now());
}

}  // namespace heed
