#include "autograd/cpu/thread_pool.h"

#include <heed/autograd/machine.h>

#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

namespace heed::cpu {
namespace {

thread_local int place = 0;
thread_local bool in_tile = false;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Threads that wait for tiles. Who asks for work takes part in it and waits only for tiles that others have begun: a
// worker that has no processor, because other programs have them, is not waited for. (An OpenMP team is: it ends with
// its last member, milliseconds later, for work of microseconds.)
// Each member has its share of consecutive tiles, the same one of every job, and then helps with the others': what it
// wrote in one operation is in its cache when the next one reads it.
class ThreadPool {
 public:
  static constexpr int most_members = 256;

  // One caller at a time; false, with nothing done, when there is another.
  bool run(int members, std::int64_t tiles, void (*tile)(void*, std::int64_t), void* context) {
    if (taken_.exchange(true, std::memory_order_acquire)) return false;
    for (; workers_ < members - 1; ++workers_) std::thread([this, own = workers_ + 1] { work(own); }).detach();
    tile_ = tile;
    context_ = context;
    tiles_ = tiles;
    members_ = members;
    unfinished_ = tiles;
    const std::uint64_t job = job_ + 1;
    for (int m = 0; m < members; ++m) shares_[m].ticket = job << 32 | static_cast<std::uint64_t>(tiles * m / members);
    job_ = job;
    if (sleeping_ > 0) job_.notify_all();
    take_tiles();
    for (int spins = 0; unfinished_ > 0; ++spins) spins < 2000 ? pause_briefly() : std::this_thread::yield();
    for (int m = 0; m < members; ++m) shares_[m].ticket = job << 32 | closed;  // before the next job's fields change
    taken_.store(false, std::memory_order_release);
    return true;
  }

 private:
  // A ticket is the number of a job and of the next tile of a share; as `closed` there is none. What a job is may be
  // read by anyone at any time, but counts only for who then takes a tile of the same ticket.
  static constexpr std::uint64_t closed = std::numeric_limits<std::uint32_t>::max();
  struct alignas(64) Share {
    std::atomic<std::uint64_t> ticket = closed;
  };

  void take_tiles() {
    for (int turn = 0; turn < members_; ++turn) take_tiles_of(turn);
  }

  // Of the share `turn` places after the caller's own.
  void take_tiles_of(int turn) {
    for (;;) {
      const int members = members_, m = (place + turn) % members;
      std::uint64_t ticket = shares_[m].ticket;
      const std::uint64_t tile = ticket & closed;
      const auto run = tile_.load();
      void* const context = context_;
      if (tile == closed || static_cast<std::int64_t>(tile) >= tiles_ * (m + 1) / members) return;
      if (members != members_ || place >= members) return;
      if (!shares_[m].ticket.compare_exchange_strong(ticket, ticket + 1)) continue;
      in_tile = true;
      run(context, static_cast<std::int64_t>(tile));
      in_tile = false;
      --unfinished_;
    }
  }

  void work(int own_place) {
    place = own_place;
    std::uint64_t seen = 0;
    for (;;) {
      await_change(seen);
      seen = job_;
      take_tiles();
    }
  }

  // Returns when the job is another than `seen`: looks for 100 microseconds, then sleeps.
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

  std::atomic<bool> taken_ = false;
  std::atomic<std::uint64_t> job_ = 0;
  std::array<Share, most_members> shares_;
  std::atomic<void (*)(void*, std::int64_t)> tile_ = nullptr;
  std::atomic<void*> context_ = nullptr;
  std::atomic<std::int64_t> tiles_ = 0, unfinished_ = 0;
  std::atomic<int> members_ = 0, sleeping_ = 0;
  int workers_ = 0;
};

ThreadPool& pool() {
  static ThreadPool* const instance = new ThreadPool;  // its threads outlive whatever is destroyed at exit
  return *instance;
}

}  // namespace

int current_thread() { return place; }

void run_tiles(std::int64_t tiles, void (*run)(void*, std::int64_t), void* context) {
  const int members = static_cast<int>(std::min<std::int64_t>(tiles, std::min(threads(), ThreadPool::most_members)));
  if (members > 1 && !in_tile && tiles < std::numeric_limits<std::uint32_t>::max() &&
      pool().run(members, tiles, run, context)) {
    return;
  }
  for (std::int64_t tile = 0; tile < tiles; ++tile) run(context, tile);
}

}  // namespace heed::cpu
