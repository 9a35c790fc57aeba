#include "autograd/profile.h"

#include "autograd/error.h"

#include <atomic>
#include <chrono>
#include <memory>

namespace heed {
namespace {

using Clock = std::chrono::steady_clock;

struct State {
  Clock::time_point begin = Clock::now(), last = begin;
  std::vector<Work> work;
};

thread_local std::unique_ptr<State> state;
std::atomic<int> profiles = 0;
std::atomic<double> flops = 0;

std::int64_t nanoseconds(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

}  // namespace

Profile::Profile() {
  if (state) fail("Profile: one stands already on this thread");
  state = std::make_unique<State>();
  ++profiles;
}

Profile::~Profile() {
  state.reset();
  --profiles;
}

const std::vector<Work>& Profile::work() const { return state->work; }

void note_work(const char* name, double bytes, bool backward) {
  if (!state) return;
  const Clock::time_point now = Clock::now();
  state->work.push_back({name, backward, nanoseconds(state->last - state->begin), nanoseconds(now - state->last),
                         flops.exchange(0), bytes});
  state->last = Clock::now();
}

bool is_profiling() { return state != nullptr; }

void count_flops(double count) {
  if (profiles.load(std::memory_order_relaxed) > 0) flops.fetch_add(count, std::memory_order_relaxed);
}

}  // namespace heed
