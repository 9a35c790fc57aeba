#include "autograd/cpu/rates.h"
#include "autograd/cpu/thread_pool.h"
#include "bench/complexity.h"
#include "bench/peer.h"
#include "bench/rows.h"

#include <heed/autograd/tensor.h>
#include <heed/files/file.h>
#include <heed/heed.h>

#include <cxxopts.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <thread>
#include <unistd.h>

// Measures heed beside PyTorch, in turns in one run, and beside what the machine can do. Prints one table.
namespace heed::bench {
namespace {

namespace fs = std::filesystem;

struct Machine {
  double gemm = 0, gemm_one = 0, memory = 0;  // FLOP/s with all threads and with one, bytes/s
};

// The same as peers/pytorch.py's.
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

// The q-th of the values in order, 0 <= q <= 1.
double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
}

// Each rate is the greatest of several passes, seconds apart: what the machine reaches, not what its other guests left of
// it at one moment.
Machine measure_machine() {
  struct Rate {
    std::string name;
    std::function<double(int)> of;  // so many threads
    double one = 0, all = 0;
  };
  std::vector<Rate> rates;
  for (const std::int64_t n : {64, 128, 256, 512, 1024}) {
    rates.push_back({fmt::format("{0} x {0} products, GFLOP/s", n), [n](int team) { return cpu::gemm_rate(n, team); }});
  }
  const std::size_t products = rates.size();
  for (const std::int64_t bytes : {std::int64_t{1} << 18, std::int64_t{1} << 24, std::int64_t{1} << 28}) {
    rates.push_back({fmt::format("y += a x of {} KB, GB/s", bytes >> 10),
                     [bytes](int team) { return cpu::memory_rate(bytes, team); }});
  }
  constexpr int passes = 5;
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
    machine.gemm_one = std::max(machine.gemm_one, rate.one);
    machine.gemm = std::max(machine.gemm, rate.all);
  }
  machine.memory = rates.back().all;
  return machine;
}

// How far the two sides' losses are apart, relative to their size, at most.
double difference(const std::vector<double>& ours, const Json& theirs) {
  double most = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    most = std::max(most, std::abs(ours[i] - theirs.at(i).get<double>()) / std::abs(ours[i]));
  }
  return most;
}

struct Settings {
  int turns;
  double seconds;  // a turn
};

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

// Throws Error when the two sides do not compute the same.
Json measure(const Row& row, Peer* peer, const Machine& machine, const Settings& settings) {
  constexpr int steps = 20;
  Json result{{"row", row.name}};
  if (peer && row.losses) {
    const std::vector<double> ours = row.losses(steps);  // first: it writes the file that the twin reads
    const double apart = difference(ours, peer->ask({{"losses", row.twin}, {"steps", steps}})["losses"]);
    if (!(apart <= 1e-4))
      fail("{}: the losses of the first {} steps are {:.1e} apart: not the same work", row.name, steps, apart);
    result["losses_apart"] = apart;
  }
  const std::function<void()> work = row.prepare();
  if (peer) result["way"] = peer->ask({{"prepare", row.twin}, {"threads", threads()}})["way"];
  std::vector<double> ours, theirs, ratios;
  turn(work, settings.seconds);
  for (int i = 0; i < settings.turns; ++i) {
    ours.push_back(turn(work, settings.seconds));
    if (!peer) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // until the other side's threads sleep
    theirs.push_back(peer->ask({{"turn", settings.seconds}})["ms"].get<double>());
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
  const double limit = row.flops / machine.gemm + row.bytes / machine.memory;  // seconds
  if (limit > 0) result["share_of_limit"] = limit / (ms * 1e-3);
  return result;
}

void print(const Json& result) {
  const auto number = [&](const char* key, const char* format) {
    return result.contains(key) ? fmt::format(fmt::runtime(format), result[key].get<double>()) : std::string();
  };
  std::string spread;
  if (result.contains("ratio_quartiles")) {
    spread = fmt::format(" ({:.2f} to {:.2f})", result["ratio_quartiles"][0].get<double>(),
                         result["ratio_quartiles"][1].get<double>());
  }
  std::string share = result.contains("share_of_limit")
                          ? fmt::format("{:.0f} %", 100 * result["share_of_limit"].get<double>())
                          : std::string();
  fmt::print("| {} | {} | {} | {}{} | {} | {} |\n", result["row"].get<std::string>(), number("ms", "{:.4g}"),
             number("peer_ms", "{:.4g}"), number("ratio", "{:.2f}"), spread, share, result.value("way", std::string()));
  std::fflush(stdout);
}

cxxopts::Options options() {
  cxxopts::Options result("bench", "Measures heed beside PyTorch and beside what this machine can do.\n");
  result.set_width(80).add_options()                                                                               //
      ("rows", "Only rows whose name begins with this", cxxopts::value<std::string>()->default_value(""), "NAME")  //
      ("python", "Python that has PyTorch",
       cxxopts::value<std::string>()->default_value(std::getenv("PYTHON") ? std::getenv("PYTHON") : "python3"),
       "FILE")  //
      ("peers", "Directory of the peers' scripts", cxxopts::value<std::string>()->default_value("bench/peers"),
       "DIR")                                                                                                  //
      ("config", "What the program trains", cxxopts::value<std::string>()->default_value("toy.yaml"), "FILE")  //
      ("turns", "Turns of each side", cxxopts::value<int>()->default_value("9"), "N")                          //
      ("seconds", "Length of a turn", cxxopts::value<double>()->default_value("0.1"), "S")                     //
      ("quick", "Leave out the largest sizes")                                                                 //
      ("complexity", "Instead, measure how time and memory grow, and draw it to this file",
       cxxopts::value<std::string>(), "SVG")                                                  //
      ("json", "Write all results to this file, too", cxxopts::value<std::string>(), "FILE")  //
      ("help", "Print this");
  return result;
}

std::unique_ptr<Peer> start_peer(const std::string& python, const fs::path& peers) {
  try {
    return std::make_unique<Peer>(std::vector<std::string>{python, peers / "pytorch.py"});
  } catch (const Error&) {
    fmt::print(
        "PyTorch is left out, as {} has none. To get it: python3 -m venv torch && torch/bin/pip install torch numpy; "
        "then "
        "PYTHON=torch/bin/python\n\n",
        python);
    return nullptr;
  }
}

// A directory for weights and data, some 500 MB, which go with it however the run ends.
struct Scratch {
  fs::path path = fs::temp_directory_path() / fmt::format("heed-bench-{}", getpid());
  Scratch() { fs::create_directories(path); }
  ~Scratch() { fs::remove_all(path); }
  Scratch(const Scratch&) = delete;
};

int run(const cxxopts::ParseResult& arguments) {
  const Scratch scratch;
  const auto peer = start_peer(arguments["python"].as<std::string>(), arguments["peers"].as<std::string>());
  fmt::print("heed ({}) with {}, {} threads{}\n\n", vector_instructions(), blas_description(), threads(),
             peer ? ", beside PyTorch " + peer->greeting()["version"].get<std::string>() : "");
  const Machine machine = measure_machine();
  std::vector<Row> rows = model_rows(scratch.path);
  const fs::path build = fs::read_symlink("/proc/self/exe").parent_path();
  rows.insert(rows.begin() + 1, program_row(build / "train", arguments["config"].as<std::string>(), scratch.path));
  for (Row& row : operation_rows(arguments.count("quick") > 0)) rows.push_back(std::move(row));
  fmt::print(
      "| row | heed, ms | PyTorch, ms | times as fast | share of limit | PyTorch's fastest way "
      "|\n|---|---|---|---|---|---|\n");
  Json results = Json::array();
  const Settings settings{arguments["turns"].as<int>(), arguments["seconds"].as<double>()};
  for (const Row& row : rows) {
    if (!row.name.starts_with(arguments["rows"].as<std::string>())) continue;
    results.push_back(measure(row, peer.get(), machine, settings));
    print(results.back());
  }
  for (const Json& result : results) {
    if (!result.contains("gain_of_threads")) continue;
    fmt::print("\n{}: {} threads are {:.2f} times as fast as one (products alone: {:.2f})",
               result["row"].get<std::string>(), threads(), result["gain_of_threads"].get<double>(),
               machine.gemm / machine.gemm_one);
    if (result.contains("losses_apart")) {
      fmt::print("; losses of 20 steps at most {:.1e} from PyTorch's", result["losses_apart"].get<double>());
    }
  }
  fmt::print("\n");
  if (arguments.count("json")) {
    write_file(arguments["json"].as<std::string>(),
               format_json({{"gemm_flops", machine.gemm}, {"memory_bytes", machine.memory}, {"rows", results}}) + "\n");
  }
  return 0;
}

}  // namespace
}  // namespace heed::bench

int main(int argc, char** argv) {
  try {
    const cxxopts::ParseResult arguments = heed::bench::options().parse(argc, argv);
    if (arguments.count("help")) {
      fmt::print("{}", heed::bench::options().help());
      return 0;
    }
    if (arguments.count("complexity")) {
      heed::bench::measure_complexity(arguments["complexity"].as<std::string>());
      return 0;
    }
    return heed::bench::run(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench: {}\n", error.what());
    return 1;
  }
}
