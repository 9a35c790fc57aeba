#include <heed/autograd/error.h>
#include <heed/autograd/profile.h>

#include <atomic>
#include <chrono>
#include <memory>

namespace heed {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t max_kept = 200'000;

struct State {
  Clock::time_point begin = Clock::now(), last = begin;
  std::vector<Profile::Work> work;
  std::map<std::string, Profile::Total> totals;
};

thread_local std::unique_ptr<State> state;
std::atomic<int> profiles = 0;
std::atomic<double> flops = 0;

std::int64_t nanoseconds(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

}  // namespace

Profile::Profile() {
  if (state) fail("Profile: one is already open on this thread; close it before opening another");
  state = std::make_unique<State>();
  ++profiles;
}

Profile::~Profile() {
  state.reset();
  --profiles;
}

const std::vector<Profile::Work>& Profile::work() const { return state->work; }

const std::map<std::string, Profile::Total>& Profile::totals() const { return state->totals; }

void note_work(const std::string& name, double bytes) {
  if (!state) return;
  const std::int64_t begin = nanoseconds(state->last - state->begin);
  const std::int64_t duration = nanoseconds(Clock::now() - state->last);
  const double multiplied = flops.exchange(0);
  const auto entry = state->totals.try_emplace(name).first;
  Profile::Total& total = entry->second;
  ++total.calls;
  total.duration += duration;
  total.flops += multiplied;
  total.bytes += bytes;
  if (state->work.size() < max_kept) state->work.push_back({&entry->first, begin, duration, multiplied, bytes});
  state->last = Clock::now();
}

bool is_profiling() { return state != nullptr; }

void count_flops(double count) {
  if (profiles.load(std::memory_order_relaxed) > 0) flops.fetch_add(count, std::memory_order_relaxed);
}

}  // namespace heed
