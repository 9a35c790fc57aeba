#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace heed::cpu {

// Returns the calling thread's index in [0, threads()), unique among the threads that run tiles of the same call; 0
// outside run_tiles().
int current_thread();

// Calls run(context, tile) for each tile in [0, tiles), on any thread, in any order, and returns when all have
// finished. `run` must not throw. Any thread may call this at any time. While the pool runs another thread's tiles, and
// within a tile, all tiles run on the calling thread.
void run_tiles(std::int64_t tiles, void (*run)(void* context, std::int64_t tile), void* context);

// Returns the length, at most `most`, of ranges that divide [0, count): 1, 2, 4 or a multiple of 8 ranges, equal except
// the last, so that the threads are balanced.
constexpr std::int64_t equal_grain(std::int64_t count, std::int64_t most) {
  const std::int64_t least = (count + most - 1) / most;
  const std::int64_t ranges = least <= 2 ? least : least <= 4 ? 4 : (least + 7) / 8 * 8;
  return ranges <= 1 ? most : (count + ranges - 1) / ranges;
}

// Calls f(begin, end) on consecutive ranges of `grain` indices that cover [0, count). The ranges depend only on `count`
// and `grain`, so sums within a range are the same for any number of threads.
template <class F>
void parallel_for(std::int64_t count, std::int64_t grain, F&& f) {
  struct Context {
    std::int64_t count, grain;
    std::remove_reference_t<F>* f;
  } context{count, grain, &f};
  run_tiles((count + grain - 1) / grain,
            [](void* c, std::int64_t tile) {
              Context& range = *static_cast<Context*>(c);
              const std::int64_t begin = tile * range.grain;
              (*range.f)(begin, std::min(range.count, begin + range.grain));
            },
            &context);
}

}  // namespace heed::cpu
