#include "autograd/parallel.h"

#include "autograd/error.h"

#include <atomic>
#include <chrono>
#include <limits>
#include <omp.h>
#include <thread>

namespace heed {
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
class Team {
 public:
  // One caller at a time; false, with nothing done, when there is another.
  bool run(int members, std::int64_t tiles, void (*tile)(void*, std::int64_t), void* context) {
    if (taken_.exchange(true, std::memory_order_acquire)) return false;
    for (; workers_ < members - 1; ++workers_) std::thread([this, own = workers_ + 1] { work(own); }).detach();
    tile_ = tile;
    context_ = context;
    tiles_ = tiles;
    members_ = members;
    unfinished_ = tiles;
    const std::uint64_t job = (ticket_ >> 32) + 1;
    ticket_ = job << 32;
    if (sleeping_ > 0) ticket_.notify_all();
    take_tiles();
    for (int spins = 0; unfinished_ > 0; ++spins) spins < 2000 ? pause_briefly() : std::this_thread::yield();
    ticket_ = job << 32 | closed;  // before the next job's fields are written
    taken_.store(false, std::memory_order_release);
    return true;
  }

 private:
  // A ticket is the number of a job and of its next tile; as `closed` there is none. What a job is may be read by anyone
  // at any time, but counts only for who then takes a tile of the same ticket.
  static constexpr std::uint64_t closed = std::numeric_limits<std::uint32_t>::max();

  void take_tiles() {
    for (std::uint64_t ticket = ticket_;;) {
      const std::uint64_t tile = ticket & closed;
      const auto run = tile_.load();
      void* const context = context_;
      if (tile == closed || static_cast<std::int64_t>(tile) >= tiles_ || place >= members_) return;
      if (!ticket_.compare_exchange_weak(ticket, ticket + 1)) continue;
      in_tile = true;
      run(context, static_cast<std::int64_t>(tile));
      in_tile = false;
      --unfinished_;
      ticket = ticket_;
    }
  }

  void work(int own_place) {
    place = own_place;
    std::uint64_t seen = 0;
    for (;;) {
      await_change(seen);
      seen = ticket_ >> 32;
      take_tiles();
    }
  }

  // Returns when the job is another than `seen`: looks for 100 microseconds, then sleeps.
  void await_change(std::uint64_t seen) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + std::chrono::microseconds(100);
    for (int spins = 0; ticket_ >> 32 == seen; ++spins) {
      pause_briefly();
      if (spins % 64 != 0 || Clock::now() < end) continue;
      ++sleeping_;
      const std::uint64_t now = ticket_;
      if (now >> 32 == seen) ticket_.wait(now);
      --sleeping_;
    }
  }

  std::atomic<bool> taken_ = false;
  std::atomic<std::uint64_t> ticket_ = closed;
  std::atomic<void (*)(void*, std::int64_t)> tile_ = nullptr;
  std::atomic<void*> context_ = nullptr;
  std::atomic<std::int64_t> tiles_ = 0, unfinished_ = 0;
  std::atomic<int> members_ = 0, sleeping_ = 0;
  int workers_ = 0;
};

Team& team() {
  static Team* const instance = new Team;  // its threads outlive whatever is destroyed at exit
  return *instance;
}

std::atomic<int> chosen_threads = 0;  // 0: OpenMP's choice

}  // namespace

void set_threads(int threads) {
  if (threads < 1) fail("set_threads: expected at least 1 thread, got {}", threads);
  chosen_threads = threads;
}

int threads() {
  static const int default_threads = omp_get_max_threads();
  const int chosen = chosen_threads;
  return chosen > 0 ? chosen : default_threads;
}

int current_thread() { return place; }

void run_tiles(std::int64_t tiles, void (*run)(void*, std::int64_t), void* context) {
  const int members = static_cast<int>(std::min<std::int64_t>(tiles, threads()));
  if (members > 1 && !in_tile && tiles < std::numeric_limits<std::uint32_t>::max() &&
      team().run(members, tiles, run, context)) {
    return;
  }
  for (std::int64_t tile = 0; tile < tiles; ++tile) run(context, tile);
}

}  // namespace heed
