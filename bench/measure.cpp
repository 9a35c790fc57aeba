#include "bench/measure.h"

#include "autograd/cpu/rates.h"

#include <heed/autograd/error.h>
#include <heed/autograd/machine.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <thread>

namespace heed::bench {
namespace {

// How many times as fast all threads are as one, in turns.
double gain_of_threads(const std::function<void()>& work, const Settings& settings) {
  const int all = threads();
  std::vector<double> gains;
  for (int i = 0; i < settings.turns; ++i) {
    set_threads(1);
    const double one = turn(work, settings.seconds);
    set_threads(all);
    gains.push_back(one / turn(work, settings.seconds));
  }
  return quantile(gains, 0.5);
}

}  // namespace

Machine measure_machine(int passes) {
  struct Rate {
    std::string name;
    std::function<double(int)> of;  // so many threads
    double one = 0, all = 0;
  };
  std::vector<Rate> rates;
  rates.push_back({"multiplying and adding in registers, GFLOP/s", cpu::fma_rate});
  for (const std::int64_t n : {64, 128, 256, 512, 1024}) {
    rates.push_back({fmt::format("{0} x {0} products, GFLOP/s", n), [n](int team) { return cpu::gemm_rate(n, team); }});
  }
  const std::size_t products = rates.size();
  constexpr std::int64_t large = std::int64_t{1} << 28;
  for (const std::int64_t bytes : {std::int64_t{1} << 18, std::int64_t{1} << 24}) {
    rates.push_back({fmt::format("y += a x of {} KB, GB/s", bytes >> 10),
                     [bytes](int team) { return cpu::memory_rate(bytes, team); }});
  }
  const std::size_t in_caches = rates.size();
  for (const auto& [name, traffic] : {std::pair("y += a x", cpu::Traffic::add),
                                      {"sum of x", cpu::Traffic::read},
                                      {"y = x", cpu::Traffic::copy},
                                      {"y = x past the caches", cpu::Traffic::copy_past_caches}}) {
    rates.push_back({fmt::format("{} of {} KB, GB/s", name, large >> 10),
                     [traffic = traffic](int team) { return cpu::memory_rate(large, team, traffic); }});
  }
  for (int pass = 0; pass < passes; ++pass) {
    for (Rate& rate : rates) {
      rate.one = std::max(rate.one, rate.of(1));
      rate.all = std::max(rate.all, rate.of(threads()));
    }
  }
  fmt::print("| {} | 1 thread | {} threads |\n|---|---|---|\n", "what the machine reaches", threads());
  for (const Rate& rate : rates) fmt::print("| {} | {:.1f} | {:.1f} |\n", rate.name, rate.one / 1e9, rate.all / 1e9);
  fmt::print("\n");
  Machine machine;
  for (const Rate& rate : std::span(rates).first(products)) {
    machine.flops_of_one = std::max(machine.flops_of_one, rate.one);
    machine.flops = std::max(machine.flops, rate.all);
  }
  for (const Rate& rate : std::span(rates).subspan(in_caches)) machine.bytes = std::max(machine.bytes, rate.all);
  return machine;
}

double turn(const std::function<void()>& work, double seconds) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (times.empty() || Clock::now() < end) {
    const auto begin = Clock::now();
    work();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + std::ssize(times) / 2, times.end());
  return times[times.size() / 2];
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
}

double difference(const std::vector<double>& ours, const std::vector<double>& theirs) {
  if (ours.size() != theirs.size()) fail("bench: {} losses beside {}", ours.size(), theirs.size());
  double most = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double apart = std::abs(ours[i] - theirs[i]) / std::abs(ours[i]);
    if (std::isnan(apart)) return apart;
    most = std::max(most, apart);
  }
  return most;
}

Json measure(const Row& row, Peer* peer, const Machine& machine, const Settings& settings) {
  constexpr int steps = 20;
  Json result{{"row", row.name}};
  if (peer && row.losses) {
    const std::vector<double> ours = row.losses(steps);  // first: it writes the file that the twin reads
    const double apart =
        difference(ours, peer->ask({{"losses", row.twin}, {"steps", steps}}).at("losses").get<std::vector<double>>());
    if (!(apart <= 1e-4)) {
      fail("{}: the losses of the first {} steps are {:.1e} apart: not the same work", row.name, steps, apart);
    }
    result["losses_apart"] = apart;
  }
  const std::function<void()> work = row.prepare();
  if (peer) result["way"] = peer->ask({{"prepare", row.twin}, {"threads", threads()}}).at("way");
  std::vector<double> ours, theirs, ratios;
  turn(work, settings.seconds);
  for (int i = 0; i < settings.turns; ++i) {
    ours.push_back(turn(work, settings.seconds));
    if (!peer) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // until the other side's threads sleep
    theirs.push_back(peer->ask({{"turn", settings.seconds}}).at("ms").get<double>());
    ratios.push_back(theirs.back() / ours.back());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const double ms = quantile(ours, 0.5);
  result["ms"] = ms;
  if (row.losses) result["gain_of_threads"] = gain_of_threads(work, settings);
  if (peer) {
    result["peer_ms"] = quantile(theirs, 0.5);
    result["ratio"] = quantile(ratios, 0.5);
    result["ratio_quartiles"] = {quantile(ratios, 0.25), quantile(ratios, 0.75)};
  }
  const double limit = row.flops / machine.flops + row.bytes / machine.bytes;  // seconds
  if (limit > 0) result["share_of_limit"] = limit / (ms * 1e-3);
  return result;
}

std::string table_head() {
  return "| row | heed, ms | PyTorch, ms | times as fast | share of limit | PyTorch's fastest way |\n"
         "|---|---|---|---|---|---|\n";
}

std::string table_line(const Json& result) {
  const auto number = [&](const char* key, const char* format) {
    return result.contains(key) ? fmt::format(fmt::runtime(format), result[key].get<double>()) : std::string();
  };
  std::string spread, share;
  if (result.contains("ratio_quartiles")) {
    spread = fmt::format(" ({:.2f} to {:.2f})", result["ratio_quartiles"][0].get<double>(),
                         result["ratio_quartiles"][1].get<double>());
  }
  if (result.contains("share_of_limit")) {
    share = fmt::format("{:.0f} %", 100 * result["share_of_limit"].get<double>());
  }
  return fmt::format("| {} | {} | {} | {}{} | {} | {} |\n", result["row"].get<std::string>(), number("ms", "{:.4g}"),
                     number("peer_ms", "{:.4g}"), number("ratio", "{:.2f}"), spread, share,
                     result.value("way", std::string()));
}

}  // namespace heed::bench
