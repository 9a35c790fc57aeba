#include "bench/complexity.h"
#include "bench/measure.h"
#include "bench/peer.h"
#include "bench/rows.h"

#include <heed/autograd/error.h>
#include <heed/autograd/machine.h>
#include <heed/files/file.h>

#include <cxxopts.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

// Measures heed beside PyTorch, in turns in one run, and beside what the machine can do. Prints one table.
namespace heed::bench {
namespace {

namespace fs = std::filesystem;

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
      ("text", "A text for nanoGPT's model to learn; without it that row is left out", cxxopts::value<std::string>(),
       "FILE")                                                                                           //
      ("turns", "Turns of each side", cxxopts::value<int>()->default_value("9"), "N")                    //
      ("seconds", "Length of a turn", cxxopts::value<double>()->default_value("0.1"), "S")               //
      ("quick", "Small rows alone, a short turn of each, without PyTorch: that they run, not how fast")  //
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
        "then PYTHON=torch/bin/python\n\n",
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

std::vector<Row> all_rows(const cxxopts::ParseResult& arguments, bool quick, const fs::path& scratch) {
  std::vector<Row> rows = model_rows(scratch, quick);
  const fs::path build = fs::read_symlink("/proc/self/exe").parent_path();
  rows.insert(rows.begin() + 1, program_row(build / "train", arguments["config"].as<std::string>(), scratch));
  if (arguments.count("text")) {
    rows.push_back(text_row(build / "train", "examples/nanogpt.yaml", arguments["text"].as<std::string>(), scratch));
  }
  for (Row& row : writing_rows(scratch, quick)) rows.push_back(std::move(row));
  for (Row& row : operation_rows(quick)) rows.push_back(std::move(row));
  std::erase_if(rows,
                [name = arguments["rows"].as<std::string>()](const Row& row) { return !row.name.starts_with(name); });
  if (rows.empty()) fail("no row's name begins with '{}'", arguments["rows"].as<std::string>());
  return rows;
}

void run(const cxxopts::ParseResult& arguments) {
  const bool quick = arguments.count("quick") > 0;
  const Scratch scratch;
  const std::vector<Row> rows = all_rows(arguments, quick, scratch.path);
  const auto peer =
      quick ? nullptr : start_peer(arguments["python"].as<std::string>(), arguments["peers"].as<std::string>());
  fmt::print("heed ({}) with {}, {} threads{}\n\n", vector_instructions(), blas_description(), threads(),
             peer ? ", beside PyTorch " + peer->greeting()["version"].get<std::string>() : "");
  const Machine machine = measure_machine(quick ? 1 : 5);
  const Settings settings = quick ? Settings{.turns = 1, .seconds = 0.02}
                                  : Settings{arguments["turns"].as<int>(), arguments["seconds"].as<double>()};
  fmt::print("{}", table_head());
  Json results = Json::array();
  for (const Row& row : rows) {
    results.push_back(measure(row, peer.get(), machine, settings));
    fmt::print("{}", table_line(results.back()));
    std::fflush(stdout);
  }
  for (const Json& result : results) {
    if (!result.contains("gain_of_threads")) continue;
    fmt::print("\n{}: {} threads are {:.2f} times as fast as one (products alone: {:.2f})",
               result["row"].get<std::string>(), threads(), result["gain_of_threads"].get<double>(),
               machine.flops / machine.flops_of_one);
    if (result.contains("losses_apart")) {
      fmt::print("; losses of 20 steps at most {:.1e} from PyTorch's", result["losses_apart"].get<double>());
    }
  }
  fmt::print("\n");
  if (arguments.count("json")) {
    write_file(arguments["json"].as<std::string>(),
               format_json({{"gemm_flops", machine.flops}, {"memory_bytes", machine.bytes}, {"rows", results}}) + "\n");
  }
}

}  // namespace
}  // namespace heed::bench

int main(int argc, char** argv) {
  try {
    const cxxopts::ParseResult arguments = heed::bench::options().parse(argc, argv);
    if (arguments.count("help")) {
      fmt::print("{}", heed::bench::options().help());
    } else if (arguments.count("complexity")) {
      heed::bench::measure_complexity(arguments["complexity"].as<std::string>());
    } else {
      heed::bench::run(arguments);
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench: {}\n", error.what());
    return 1;
  }
}
