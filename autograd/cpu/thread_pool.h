#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace heed::cpu {

// The calling thread's index, in [0, threads()), which no other thread that runs tiles of the same call has. 0 outside
// run_tiles().
int current_thread();

// Calls run(context, tile) for each tile in [0, tiles), on any thread, in any order, and returns when all have ended. `run`
// must not throw. Any thread may call this at any time; while another thread's tiles are run, and from within a tile, all
// tiles run on the calling thread.
void run_tiles(std::int64_t tiles, void (*run)(void* context, std::int64_t tile), void* context);

// The length, at most `most`, of ranges into which [0, count) is cut: 1, 2, 4 or a multiple of 8 of them, equal but for the
// last, so that as many threads have as much to do each.
constexpr std::int64_t equal_grain(std::int64_t count, std::int64_t most) {
  const std::int64_t least = (count + most - 1) / most;
  const std::int64_t ranges = least <= 2 ? least : least <= 4 ? 4 : (least + 7) / 8 * 8;
  return ranges <= 1 ? most : (count + ranges - 1) / ranges;
}

// Calls f(begin, end) on consecutive ranges of `grain` indices that cover [0, count): the ranges depend on
// nothing else, so that whatever f accumulates within one is the same for any number of threads.
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
