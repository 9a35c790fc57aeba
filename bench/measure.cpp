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

// Measures the speed of all threads relative to one, alternately.
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

// Measures the relative time while another program computes, alternately.
double times_as_long_beside_another(const std::function<void()>& work, const Settings& settings) {
  std::vector<double> ratios;
  for (int i = 0; i < settings.turns; ++i) {
    const double alone = turn(work, settings.seconds);
    const std::jthread another([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
      }
    });
    ratios.push_back(turn(work, std::max(settings.seconds, 0.2)) / alone);  // several of the system's time slices
  }
  return quantile(ratios, 0.5);
}

}  // namespace

Machine measure_machine(int passes) {
  struct Rate {
    std::string name;
    std::function<double(int)> of;  // argument: number of threads
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
                     [kind = traffic](int team) { return cpu::memory_rate(large, team, kind); }});
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
  if (ours.size() != theirs.size()) {
    fail("bench: expected as many losses as heed's, {}, got {}", ours.size(), theirs.size());
  }
  double most = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double apart = std::abs(ours[i] - theirs[i]) / std::abs(ours[i]);
    if (std::isnan(apart)) return apart;
    most = std::max(most, apart);
  }
  return most;
}

Json measure(const Row& row, const std::vector<std::unique_ptr<Peer>>& all, const Machine& machine,
             const Settings& settings) {
  constexpr int steps = 20;
  Json result{{"row", row.name}};
  std::vector<Peer*> peers;  // the peers with such a row
  for (const auto& peer : all) {
    if (peer->ask({{"has", row.counterpart}}).at("has").get<bool>()) peers.push_back(peer.get());
  }
  if (row.losses && !peers.empty()) {
    const std::vector<double> ours = row.losses(steps);  // first, since it writes the file that the peers read
    double most = 0;
    for (Peer* const peer : peers) {
      const Json answer = peer->ask({{"losses", row.counterpart}, {"steps", steps}});
      const double apart = difference(ours, answer.at("losses").get<std::vector<double>>());
      if (!(apart <= row.tolerance)) {
        fail("{}: the losses of the first {} steps differ from {}'s by {:.1e}, so the work is not the same", row.name,
             steps, peer->name(), apart);
      }
      most = std::max(most, apart);
    }
    result["losses_apart"] = most;
  }
  const std::function<void()> work = row.prepare();
  for (Peer* const peer : peers) {
    result["peers"][peer->name()]["way"] = peer->ask({{"prepare", row.counterpart}, {"threads", threads()}}).at("way");
  }
  std::vector<double> ours;
  std::vector<std::vector<double>> theirs(peers.size());
  turn(work, settings.seconds);
  const auto rest = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };  // lets the threads of one side go to sleep
  for (int i = 0; i < settings.turns; ++i) {
    ours.push_back(turn(work, settings.seconds));
    for (std::size_t p = 0; p < peers.size(); ++p) {
      rest();
      theirs[p].push_back(peers[p]->ask({{"turn", settings.seconds}}).at("ms").get<double>());
    }
    if (!peers.empty()) rest();
  }
  const double ms = quantile(ours, 0.5);
  result["ms"] = ms;
  if (row.losses) {
    result["gain_of_threads"] = gain_of_threads(work, settings);
    result["times_as_long_beside_another"] = times_as_long_beside_another(work, settings);
  }
  std::size_t fastest = 0;
  for (std::size_t p = 0; p < peers.size(); ++p) {
    result["peers"][peers[p]->name()]["ms"] = quantile(theirs[p], 0.5);
    if (quantile(theirs[p], 0.5) < quantile(theirs[fastest], 0.5)) fastest = p;
  }
  if (!peers.empty()) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(theirs[fastest][i] / ours[i]);
    result["peer"] = peers[fastest]->name();
    result["ratio"] = quantile(ratios, 0.5);
    result["ratio_quartiles"] = {quantile(ratios, 0.25), quantile(ratios, 0.75)};
  }
  const double limit = row.flops / machine.flops + row.bytes / machine.bytes;  // in seconds
  if (limit > 0) result["share_of_limit"] = limit / (ms * 1e-3);
  return result;
}

std::string slow_rows(const Json& results) {
  std::vector<std::pair<double, std::string>> slow;
  for (const Json& result : results) {
    if (!result.contains("ratio") || result["ratio"].get<double>() >= 0.9) continue;
    slow.emplace_back(result["ratio"].get<double>(), result["row"].get<std::string>());
  }
  if (slow.empty()) return fmt::format("None of the {} rows is below 0.9.\n", results.size());
  std::ranges::sort(slow);
  std::string text = fmt::format("{} of {} rows are below 0.9:\n", slow.size(), results.size());
  for (const auto& [ratio, name] : slow) text += fmt::format("  {:.2f}  {}\n", ratio, name);
  return text;
}

std::string table_head(const std::vector<std::string>& peers) {
  std::string head = "| row | heed, ms |", rule = "|---|---|";
  for (const std::string& peer : peers) {
    head += fmt::format(" {}, ms |", peer);
    rule += "---|";
  }
  return head + " times as fast | share of limit | fastest peer's way |\n" + rule + "---|---|---|\n";
}

std::string table_line(const Json& result, const std::vector<std::string>& peers) {
  std::string line = fmt::format("| {} | {:.4g} |", result["row"].get<std::string>(), result["ms"].get<double>());
  for (const std::string& peer : peers) {
    const bool has = result.contains("peers") && result["peers"].contains(peer);
    line += has ? fmt::format(" {:.4g} |", result["peers"][peer]["ms"].get<double>()) : "  |";
  }
  std::string ratio, share, way;
  if (result.contains("ratio")) {
    ratio = fmt::format("{:.2f} ({:.2f} to {:.2f})", result["ratio"].get<double>(),
                        result["ratio_quartiles"][0].get<double>(), result["ratio_quartiles"][1].get<double>());
    const std::string name = result["peer"];
    way = (peers.size() > 1 ? name + ", " : "") + result["peers"][name]["way"].get<std::string>();
  }
  if (result.contains("share_of_limit")) {
    share = fmt::format("{:.0f} %", 100 * result["share_of_limit"].get<double>());
  }
  return fmt::format("{} {} | {} | {} |\n", line, ratio, share, way);
}

}  // namespace heed::bench
