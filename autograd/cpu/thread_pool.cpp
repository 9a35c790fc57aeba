#include "autograd/cpu/thread_pool.h"

#include <heed/autograd/machine.h>

#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

namespace heed::cpu {
namespace {

thread_local int thread_index = 0;
thread_local bool in_tile = false;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Worker threads that help the caller of run() with its tiles.
//
// The caller runs tiles too, and then waits only for tiles that a worker has started. A worker that gets no processor,
// because other programs use them all, therefore delays nothing. (An OpenMP team ends with its last member:
// milliseconds later, after microseconds of work.) Each member of a job has a share of consecutive tiles, the same in
// every job, and helps with other shares when its own is done. Its results of one operation are therefore in its cache
// when the next operation reads them.
//
// Thread safety: any thread may call run(). It serves one call at a time; concurrent calls return false at once.
// Workers touch only atomics.
//
// Invariants:
// (1) tile_, context_, tiles_ and members_ describe one job. Only the caller that holds taken_ writes them, and only while
//     every share is closed.
// (2) A share's ticket holds the number of its job and the first tile of the share that is not taken. The thread whose
// compare-exchange moves the ticket past a tile runs that tile, so each tile runs exactly once.
// (3) A caller leaves run() when unfinished_ is 0, so only after all tiles are taken. A thread that reads a ticket,
// then the fields of (1), and then moves that ticket has read the fields of one job. A thread that fails to move it
// discards them.
// (4) Worker i has thread index i, in [1, workers_]. Workers are added on demand and never end.
class ThreadPool {
 public:
  static constexpr int max_members = 256;

  // Runs tile(context, t) for each t in [0, tiles) on up to `members` threads. Returns false, without effect, while it
  // runs another caller's tiles.
  bool run(int members, std::int64_t tiles, void (*tile)(void*, std::int64_t), void* context) {
    if (taken_.exchange(true, std::memory_order_acquire)) return false;
    for (; workers_ < members - 1; ++workers_) std::thread([this, index = workers_ + 1] { work(index); }).detach();
    tile_.store(tile, release);
    context_.store(context, release);
    tiles_.store(tiles, release);
    members_.store(members, release);
    unfinished_.store(tiles, release);
    const std::uint64_t job = job_ + 1;
    for (int m = 0; m < members; ++m) {
      shares_[m].ticket.store(job << 32 | static_cast<std::uint64_t>(tiles * m / members), release);
    }
    job_ = job;
    if (sleeping_ > 0) job_.notify_all();
    take_tiles();
    for (int spins = 0; unfinished_ > 0; ++spins) spins < 2000 ? pause_briefly() : std::this_thread::yield();
    for (int m = 0; m < members; ++m) shares_[m].ticket.store(job << 32 | closed, release);
    taken_.store(false, release);
    return true;
  }

 private:
  static constexpr std::memory_order release = std::memory_order_release;
  // upper half: number of the job; lower half: the next tile; `closed` when all are taken
  static constexpr std::uint64_t closed = std::numeric_limits<std::uint32_t>::max();
  struct alignas(64) Share {
    std::atomic<std::uint64_t> ticket = closed;
  };

  void take_tiles() {
    for (int turn = 0; turn < members_; ++turn) take_tiles_of(turn);
  }

  // Takes and runs tiles of the share that is `turn` places after this thread's own.
  void take_tiles_of(int turn) {
    for (;;) {
      const int members = members_, m = (thread_index + turn) % members;
      std::uint64_t ticket = shares_[m].ticket;
      const std::uint64_t tile = ticket & closed;
      const auto run = tile_.load();
      void* const context = context_;
      if (tile == closed || static_cast<std::int64_t>(tile) >= tiles_ * (m + 1) / members) return;
      if (members != members_ || thread_index >= members) return;
      if (!shares_[m].ticket.compare_exchange_strong(ticket, ticket + 1)) continue;
      in_tile = true;
      run(context, static_cast<std::int64_t>(tile));
      in_tile = false;
      --unfinished_;
    }
  }

  void work(int index) {
    thread_index = index;
    std::uint64_t seen = 0;
    for (;;) {
      await_change(seen);
      seen = job_;
      take_tiles();
    }
  }

  // Returns when the job differs from `seen`: spins for 100 microseconds, then sleeps.
  void await_change(std::uint64_t seen) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + std::chrono::microseconds(100);
    for (int spins = 0; job_ == seen; ++spins) {
      pause_briefly();
      if (spins % 64 != 0 || Clock::now() < end) continue;
      ++sleeping_;
      job_.wait(seen);
      --sleeping_;
    }
  }

  // Fields that workers read at the start of a job share one cache line; fields that they write use others.
  alignas(64) std::atomic<std::uint64_t> job_ = 0;
  std::atomic<void (*)(void*, std::int64_t)> tile_ = nullptr;
  std::atomic<void*> context_ = nullptr;
  std::atomic<std::int64_t> tiles_ = 0;
  std::atomic<int> members_ = 0;
  alignas(64) std::atomic<std::int64_t> unfinished_ = 0;
  alignas(64) std::array<Share, max_members> shares_;
  std::atomic<int> sleeping_ = 0;
  std::atomic<bool> taken_ = false;
  int workers_ = 0;
};

ThreadPool& pool() {
  // never destroyed: its threads outlive all objects of static lifetime
  static ThreadPool* const instance = new ThreadPool;
  return *instance;
}

}  // namespace

int current_thread() { return thread_index; }

void run_tiles(std::int64_t tiles, void (*run)(void*, std::int64_t), void* context) {
  const int members = static_cast<int>(std::min<std::int64_t>(tiles, std::min(threads(), ThreadPool::max_members)));
  if (members > 1 && !in_tile && tiles < std::numeric_limits<std::uint32_t>::max() &&
      pool().run(members, tiles, run, context)) {
    return;
  }
  for (std::int64_t tile = 0; tile < tiles; ++tile) run(context, tile);
}

}  // namespace heed::cpu
