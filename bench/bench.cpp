#include "bench/complexity.h"
#include "bench/measure.h"
#include "bench/results.h"

#include <heed/autograd/error.h>
#include <heed/autograd/machine.h>
#include <heed/files/file.h>

#include <cxxopts.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unistd.h>

// Compares heed with PyTorch and JAX, alternately in one run, and with the limits of the machine. Prints one table.
namespace heed::bench {
namespace {

namespace fs = std::filesystem;

std::string from_environment(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value ? value : otherwise;
}

cxxopts::Options options() {
  const auto text = [](const std::string& usual) { return cxxopts::value<std::string>()->default_value(usual); };
  cxxopts::Options result("bench", "Compares heed with PyTorch, JAX and the limits of this machine.\n");
  result.set_width(80).add_options()                                                              //
      ("rows", "Only rows whose name starts with this", text(""), "NAME")                         //
      ("python", "Python that has PyTorch", text(from_environment("PYTHON", "python3")), "FILE")  //
      ("jax", "Python that has JAX", text(from_environment("JAX_PYTHON", "python3")), "FILE")     //
      ("peers", "Directory of the peers' scripts", text("bench/peers"), "DIR")                    //
      ("config", "Configuration that the program trains", text("toy.yaml"), "FILE")               //
      ("text", "Training text for nanoGPT's model; without it that row is skipped", cxxopts::value<std::string>(),
       "FILE")                                                                              //
      ("turns", "Turns per side", cxxopts::value<int>()->default_value("9"), "N")           //
      ("seconds", "Length of a turn", cxxopts::value<double>()->default_value("0.1"), "S")  //
      ("quick", "Check that the rows run: small rows, one short turn each, without peers")  //
      ("operations", "Instead, measure each function of ops.h, forward and backward")       //
      ("complexity", "Instead, measure how time and memory grow, and draw the charts to this file",
       cxxopts::value<std::string>(), "SVG")  //
      ("results", "Store all results in this directory, by processor and date, and compare them with the previous ones",
       cxxopts::value<std::string>(), "DIR")                                                    //
      ("processor", "Name of the processor in stored results", text(processor_name()), "NAME")  //
      ("table", "Instead, print README's table of the results in this directory", cxxopts::value<std::string>(),
       "DIR")  //
      ("help", "Print this");
  return result;
}

std::unique_ptr<Peer> start_peer(const std::string& python, const fs::path& script, const std::string& name,
                                 const std::string& packages, const std::string& variable) {
  try {
    return std::make_unique<Peer>(std::vector<std::string>{python, script});
  } catch (const Error&) {
    fmt::print(
        "{0} is left out, as {1} has none. To get it: python3 -m venv {2} && {2}/bin/pip install {2} numpy; then "
        "{3}={2}/bin/python\n\n",
        name, python, packages, variable);
    return nullptr;
  }
}

std::vector<std::unique_ptr<Peer>> start_peers(const cxxopts::ParseResult& arguments) {
  const fs::path scripts = arguments["peers"].as<std::string>();
  std::vector<std::unique_ptr<Peer>> peers;
  peers.push_back(
      start_peer(arguments["python"].as<std::string>(), scripts / "pytorch.py", "PyTorch", "torch", "PYTHON"));
  peers.push_back(start_peer(arguments["jax"].as<std::string>(), scripts / "with_jax.py", "JAX", "jax", "JAX_PYTHON"));
  std::erase(peers, nullptr);
  return peers;
}

// A directory for weights and data, about 500 MB, which is removed when the run ends in any way.
struct Scratch {
  fs::path path = fs::temp_directory_path() / fmt::format("heed-bench-{}", getpid());
  Scratch() { fs::create_directories(path); }
  ~Scratch() { fs::remove_all(path); }
  Scratch(const Scratch&) = delete;
};

std::vector<Row> model_and_operation_rows(const cxxopts::ParseResult& arguments, bool quick, const fs::path& scratch) {
  std::vector<Row> rows = model_rows(scratch, quick);
  const fs::path build = fs::read_symlink("/proc/self/exe").parent_path();
  rows.insert(rows.begin() + 1, program_row(build / "train", arguments["config"].as<std::string>(), scratch));
  if (arguments.count("text")) {
    rows.push_back(text_row(build / "train", "examples/nanogpt.yaml", arguments["text"].as<std::string>(), scratch));
  }
  for (Row& row : writing_rows(scratch, quick)) rows.push_back(std::move(row));
  for (Row& row : pretrained_rows(scratch, quick)) rows.push_back(std::move(row));
  for (Row& row : operation_rows(quick)) rows.push_back(std::move(row));
  return rows;
}

std::vector<Row> all_rows(const cxxopts::ParseResult& arguments, bool quick, const fs::path& scratch) {
  std::vector<Row> rows =
      arguments.count("operations") ? function_rows(quick) : model_and_operation_rows(arguments, quick, scratch);
  std::erase_if(rows,
                [name = arguments["rows"].as<std::string>()](const Row& row) { return !row.name.starts_with(name); });
  if (rows.empty()) fail("--rows: no row name starts with '{}'", arguments["rows"].as<std::string>());
  return rows;
}

void run(const cxxopts::ParseResult& arguments) {
  const bool quick = arguments.count("quick") > 0;
  const Scratch scratch;
  const std::vector<Row> rows = all_rows(arguments, quick, scratch.path);
  const auto peers = quick ? std::vector<std::unique_ptr<Peer>>() : start_peers(arguments);
  std::vector<std::string> names;
  Json versions = Json::object();
  std::string beside;
  for (const auto& peer : peers) {
    names.push_back(peer->name());
    versions[peer->name()] = peer->greeting()["version"];
    beside += fmt::format("{} {} {}", beside.empty() ? ", beside" : " and", peer->name(),
                          peer->greeting()["version"].get<std::string>());
  }
  fmt::print("heed ({}) with {}, {} threads{}\n\n", vector_instructions(), blas_description(), threads(), beside);
  const Machine machine = measure_machine(quick ? 1 : 5);
  const Settings settings = quick ? Settings{.turns = 1, .seconds = 0.02}
                                  : Settings{arguments["turns"].as<int>(), arguments["seconds"].as<double>()};
  fmt::print("{}", table_head(names));
  Json results = Json::array();
  for (const Row& row : rows) {
    results.push_back(measure(row, peers, machine, settings));
    fmt::print("{}", table_line(results.back(), names));
    std::fflush(stdout);
  }
  if (arguments.count("operations")) fmt::print("\n{}", slow_rows(results));
  for (const Json& result : results) {
    if (!result.contains("gain_of_threads")) continue;
    fmt::print("\n{}: {} threads are {:.2f} times as fast as one (products alone: {:.2f})",
               result["row"].get<std::string>(), threads(), result["gain_of_threads"].get<double>(),
               machine.flops / machine.flops_of_one);
    fmt::print("; beside a program that keeps one processor busy it takes {:.2f} times as long",
               result["times_as_long_beside_another"].get<double>());
    if (result.contains("losses_apart")) {
      fmt::print("; losses of 20 steps at most {:.1e} from its peers'", result["losses_apart"].get<double>());
    }
  }
  fmt::print("\n");
  if (!arguments.count("results")) return;
  const fs::path directory = arguments["results"].as<std::string>();
  const Json kept{{"processor", arguments["processor"].as<std::string>()},
                  {"vectors", vector_instructions()},
                  {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))},
                  {"threads", threads()},
                  {"peers", versions},
                  {"flops", machine.flops},
                  {"bytes", machine.bytes},
                  {"rows", results}};
  const Json before = last_before(directory, kept);
  keep(directory, kept);
  fmt::print("\nkept as {}\n", result_path(directory, kept).string());
  if (!before.is_null()) fmt::print("\n{}", changes(before, kept));
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
    } else if (arguments.count("table")) {
      const std::vector<heed::Json> runs = heed::bench::kept_in(arguments["table"].as<std::string>());
      fmt::print("{}", heed::bench::table(runs, heed::bench::rows_of_readme()));
    } else {
      heed::bench::run(arguments);
    }
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return 0;
    fmt::print(stderr, "bench: cannot write to standard output\n");
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench: {}\n", std::ferror(stdout) ? "cannot write to standard output" : error.what());
    return 1;
  }
}
