#include "autograd/cpu/thread_pool.h"
#include "run/internal/program.h"
#include "tokenizers/internal/json.h"
#include "train/agreement.h"
#include "train/config/pretrained.h"
#include "train/gradient_check.h"
#include "train/profile_report.h"
#include "train/progress.h"
#include "train/report.h"
#include "train/seeds.h"

#include <heed/autograd/machine.h>
#include <heed/distributed/parallel_reducer.h>
#include <heed/files/file.h>
#include <heed/formats/safetensors.h>
#include <heed/version.h>

#include <cxxopts.hpp>
#include <fmt/ranges.h>

#include <csignal>
#include <cstdio>
#include <unistd.h>

namespace {

volatile std::sig_atomic_t stop = 0;

// The first signal ends the run after the step it is in; a second one ends it at once.
void ask_to_stop(int signal) {
  stop = signal;
  std::signal(signal, SIG_DFL);
}

cxxopts::Options options() {
  cxxopts::Options result("train", "Trains the model that a configuration describes, and shows what it learned.\n");
  result.custom_help("--config FILE [OPTION...]")
      .set_width(static_cast<std::size_t>(std::min(80, heed::terminal_of(STDOUT_FILENO).width)));
  result.add_options()                                                                     //
      ("config", "The configuration, a YAML file", cxxopts::value<std::string>(), "FILE")  //
      ("set", "Override one key, e.g. model.heads=4; may be repeated", cxxopts::value<std::vector<std::string>>(),
       "KEY=VALUE")  //
      ("out", "Run directory (default: runs/NAME, or the next free runs/NAME-2, ...)", cxxopts::value<std::string>(),
       "DIR")  //
      ("resume",
       "Continue the run in DIR as if it had never stopped; with --set, continue with other values of " +
           heed::resumable_keys(),
       cxxopts::value<std::string>(), "DIR")  //
      ("seeds",
       "Train once with each of these seeds, e.g. 1-8 or 1,3,5, in DIR/seed-N (default DIR: runs/NAME-seeds); "
       "the same command continues after a stop",
       cxxopts::value<std::string>(), "SEEDS")  //
      ("folds",
       "Cross-validate: cut the sentences of data.train into K parts, and train K times, each part held out once, in "
       "DIR/fold-N (default DIR: runs/NAME-folds)",
       cxxopts::value<int>(), "K")  //
      ("threads", "Threads per process (default: all cores of a host, shared by its processes); changes no result",
       cxxopts::value<int>(), "N")                                                                                //
      ("dry-run", "Print the size of the model and the run, and the resolved configuration; write nothing")       //
      ("check-gradients", "Check the gradient of every parameter of the configured model; write nothing")         //
      ("profile", "Print where the time went, and write RUN/trace.json for chrome://tracing or ui.perfetto.dev")  //
      ("quiet", "Print only errors; with --check-gradients or --dry-run the exit code tells the result")          //
      ("help-config", "Print every key of a configuration with its default, range and meaning")                   //
      ("help", "Print this")("version", "Print the version");
  return result;
}

std::vector<std::string> settings_of(const cxxopts::ParseResult& arguments) {
  return arguments.count("set") ? arguments["set"].as<std::vector<std::string>>() : std::vector<std::string>{};
}

// "unexpected '4'; did you mean --set model.heads=4?"
std::string unexpected(const std::string& argument, const std::vector<std::string>& settings) {
  const std::filesystem::path path = argument;
  std::error_code ignored;
  std::string meant;
  if (!settings.empty() && settings.back().find('=') == std::string::npos) {
    meant = fmt::format("--set {}={}", settings.back(), argument);
  } else if (path.extension() == ".yaml" || path.extension() == ".yml") {
    meant = "--config " + argument;
  } else if (std::filesystem::exists(path / "config.yaml", ignored)) {
    meant = "--resume " + argument;
  } else if (argument.find('=') != std::string::npos) {
    meant = "--set " + argument;
  }
  return fmt::format("unexpected '{}'{}", argument, meant.empty() ? "" : fmt::format("; did you mean {}?", meant));
}

void check(const cxxopts::ParseResult& arguments) {
  const auto is_given = [&](const char* name) { return arguments.count(name) > 0; };
  const auto refuse = [](const std::string& what) { throw heed::misuse("train", what); };
  if (!arguments.unmatched().empty()) refuse(unexpected(arguments.unmatched()[0], settings_of(arguments)));
  if (is_given("config") == is_given("resume")) refuse("expected either --config FILE or --resume DIR");
  for (const char* name : {"resume", "dry-run", "check-gradients", "profile"}) {
    for (const char* series : {"seeds", "folds"}) {
      if (is_given(series) && is_given(name))
        refuse(fmt::format("--{} works on one run and cannot be used with --{}", name, series));
    }
  }
  if (is_given("seeds") && is_given("folds"))
    refuse("--folds cannot be used with --seeds; give another seed with --set");
  if (is_given("folds") && arguments["folds"].as<int>() < 2) refuse("--folds must be at least 2");
  for (const std::string& setting : settings_of(arguments)) {
    if (is_given("seeds") && setting.starts_with("seed="))
      refuse("--seeds gives the seeds and cannot be used with --set seed");
    if (is_given("folds") && setting.starts_with("data.fold"))
      refuse("--folds gives the folds and cannot be used with --set data.fold or data.folds");
  }
  for (const char* name : {"out", "dry-run", "check-gradients"}) {
    if (is_given("resume") && is_given(name)) {
      refuse(fmt::format("--{} cannot be used with --resume: a resumed run keeps its configuration", name));
    }
  }
  for (const char* name : {"config", "resume", "out"}) {
    if (is_given(name) && arguments[name].as<std::string>().empty()) {
      refuse(fmt::format("--{} must name a {}, got an empty name", name,
                         name == std::string_view("config") ? "file" : "directory"));
    }
  }
  if (is_given("threads") && arguments["threads"].as<int>() < 1) refuse("--threads must be at least 1");
  if (is_given("threads") && arguments["threads"].as<int>() > 1024) refuse("--threads must be at most 1024");
}

// Returns the text of an option; "" when it is not given.
std::string text_of(const cxxopts::ParseResult& arguments, const char* name) {
  return arguments.count(name) ? arguments[name].as<std::string>() : std::string();
}

// Trains with several seeds, or holds out each part of the sentences in turn.
int run_series(const cxxopts::ParseResult& arguments, heed::Varied varied) {
  using namespace heed;
  std::vector<Config> configs;
  const auto add = [&](const std::vector<std::string>& more) {
    std::vector<std::string> overrides = settings_of(arguments);
    overrides.insert(overrides.end(), more.begin(), more.end());
    configs.push_back(read_config(arguments["config"].as<std::string>(), overrides));
  };
  if (varied == Varied::seed) {
    for (const std::uint64_t seed : parse_seeds(arguments["seeds"].as<std::string>()))
      add({fmt::format("seed={}", seed)});
  } else {
    const int folds = arguments["folds"].as<int>();
    for (int fold = 1; fold <= folds; ++fold) {
      add({fmt::format("data.folds={}", folds), fmt::format("data.fold={}", fold)});
    }
  }
  const std::string given = text_of(arguments, "out");
  const char* suffix = varied == Varied::seed ? "-seeds" : "-folds";
  const std::filesystem::path out = given.empty() ? "runs/" + configs[0].name + suffix : given;
  handle_signal(SIGINT, ask_to_stop);
  handle_signal(SIGTERM, ask_to_stop);
  if (train_series(configs, varied, out, arguments.count("quiet") > 0, terminal_of(STDOUT_FILENO), stop)) return 0;
  std::fputs("train: stopped; the runs are saved. Repeat the command to continue\n", stderr);
  return 128 + stop;
}

// Returns the description of the model whose tokenizer a resumed run uses; empty when the run made its own tokens.
heed::Description description_of(const heed::Config& config, const heed::RunDirectory& run) {
  using namespace heed;
  const std::filesystem::path file = model_path(run.path());
  if (config.data.split != Split::subwords) return {};
  if (std::filesystem::exists(file)) return SafeTensorsFile(file).metadata();
  const auto pretrained = find_pretrained(config.from);
  return pretrained ? describe(*pretrained) : Description();
}

// Returns on all processes the configuration that rank 0 has read from the resumed run, which `directory` is there.
heed::ResumedConfig share_config(heed::ResumedConfig read, const heed::RunDirectory* directory,
                                 const heed::Communicator& processes) {
  using namespace heed;
  const std::string config = processes.exchange(to_yaml(read.config))[0];
  const std::string text = processes.exchange(directory ? format_json(description_of(read.config, *directory)) : "")[0];
  if (processes.rank() != 0) read.config = parse_config(config, "the configuration of rank 0");
  const auto description = parse_json(text).get<Description>();
  if (!description.empty()) use_tokenizer(read.config, described_model(description, "the model of rank 0"));
  return read;
}

int run(const cxxopts::ParseResult& arguments, const heed::Communicator& processes) {
  using namespace heed;
  const bool is_first = processes.rank() == 0, is_alone = processes.size() == 1;
  if (arguments.count("threads")) set_threads(arguments["threads"].as<int>());
  threads();  // throws when OMP_NUM_THREADS is refused, before anything is written
  for (const char* series : {"seeds", "folds"}) {
    if (!is_alone && arguments.count(series)) {
      throw misuse("train", fmt::format("--{} trains one run after another; start one process for it", series));
    }
  }
  if (!is_first && (arguments.count("check-gradients") || arguments.count("dry-run"))) return 0;
  if (arguments.count("seeds")) return run_series(arguments, Varied::seed);
  if (arguments.count("folds")) return run_series(arguments, Varied::fold);
  const auto text = [&](const char* name) { return text_of(arguments, name); };
  const std::vector<std::string> overrides = settings_of(arguments);
  std::optional<RunDirectory> directory;  // on rank 0
  const bool resumed = arguments.count("resume") > 0;
  if (resumed && is_first) directory.emplace(RunDirectory::open(text("resume")));
  const Done done = directory ? done_by(*directory) : Done{};
  ResumedConfig read = directory ? read_resumed_config(directory->config(), overrides, done.steps,
                                                       done.origin ? done.origin->config : "")
                       : resumed ? ResumedConfig{}
                                 : ResumedConfig{read_config(text("config"), overrides), {}};
  if (resumed) read = share_config(std::move(read), directory ? &*directory : nullptr, processes);
  const Config& config = read.config;
  const bool is_quiet = !is_first || arguments.count("quiet") > 0;
  if (arguments.count("check-gradients")) {
    const ModelCheck check = check_model_gradients(config);
    if (!is_quiet) fmt::print("{}", check.table);
    if (is_quiet && !check.passed) fail("some gradients are wrong; without --quiet the table shows which");
    return check.passed ? 0 : 1;
  }
  const bool is_dry = arguments.count("dry-run") > 0;
  const bool has_checkpoint = resumed && processes.any(directory && directory->has_checkpoint());
  Experiment experiment = [&] {
    try {
      const Values values = is_dry && config.from.empty() ? Values::none : Values::drawn;
      return make_experiment(config, {.values = values, .is_resumed = has_checkpoint});
    } catch (const FileError& error) {
      const std::string_view message = error.what(), file = config.data.train;
      if (!resumed && (file.empty() || message.find(file) == message.npos)) throw;
      fail("{}; data paths are relative to {}, or give another path with --set data.train=FILE", message,
           resumed ? "the directory in which the run was started: resume it there"
                   : "the working directory: start train elsewhere");
    }
  }();
  if (is_dry) {
    if (!is_quiet) fmt::print("{}", dry_run(experiment));
    check_memory(experiment);
    return 0;
  }
  check_memory(experiment, processes.size(), processes.size_on_host());
  check_same(experiment, processes);
  if (is_first && !directory) directory.emplace(RunDirectory::create(config.name, to_yaml(config), text("out")));
  if (!is_quiet) fmt::print("{}", opening(experiment, directory->path(), terminal_of(STDOUT_FILENO)));
  ProgressLine progress(config.optim.schedule.steps, isatty(STDOUT_FILENO), tokens_a_step(experiment));
  handle_signal(SIGINT, ask_to_stop);
  handle_signal(SIGTERM, ask_to_stop);
  handle_signal(SIGUSR1, ask_to_stop);  // mpirun forwards it without a time limit
  const Listener silent{[](std::int64_t, double) {}, [](std::int64_t, double, const Evaluation&) {}};
  Listener listener = is_quiet ? silent : progress.listener();
  if (resumed && is_first) {
    listener.on_begin = [&](std::int64_t step) {
      if (step == config.optim.schedule.steps && !read.changes.empty()) {
        fail("{}: all of its {} steps are done, so these settings would change nothing: {}; also raise train.steps",
             directory->path().string(), step, fmt::join(read.changes, ", "));
      }
      if (!is_quiet) fmt::print("{}", resumption(step, config, read.changes, terminal_of(STDOUT_FILENO)));
    };
  }
  std::optional<Limits> limits;
  std::optional<Profile> profile;
  if (is_first && arguments.count("profile")) {
    limits = measure_limits();
    profile.emplace();
  }
  const ParallelReducer reducer(processes, {.shard_optimizer = config.train.shard_optimizer});
  const std::int64_t steps = train(experiment, directory ? &*directory : nullptr, listener, stop, reducer);
  steps < config.optim.schedule.steps ? progress.erase() : progress.finish();
  if (profile) {
    write_trace(directory->path() / "trace.json", *profile);
    if (!is_quiet) fmt::print("{}", profile_table(*profile, *limits));
    profile.reset();
  }
  const int signal = stop ? stop : SIGTERM;  // another process may have received the signal
  if (processes.any(stop != 0) && steps < config.optim.schedule.steps) {
    if (!is_first) return 128 + signal;
    const std::string told =
        fmt::format("train: stopped after step {} of {}; the run is saved. Continue with: {} --resume {}\n", steps,
                    config.optim.schedule.steps, command_of("train"), shell_word(directory->path()));
    std::fputs(told.c_str(), stderr);
    return 128 + signal;
  }
  if (!is_quiet) fmt::print("{}", closing(experiment, *directory, terminal_of(STDOUT_FILENO)));
  return 0;
}

int run_command(int argc, char** argv, const heed::Communicator& processes) {
  try {
    const cxxopts::ParseResult arguments = options().parse(argc, argv);
    const bool tells = processes.rank() == 0;
    if (arguments.count("help")) {
      if (tells) fmt::print("{}", options().help());
    } else if (arguments.count("version")) {
      if (tells) fmt::print("train {}\n", HEED_VERSION);
    } else if (arguments.count("help-config")) {
      if (tells) fmt::print("{}", heed::config_help());
    } else {
      check(arguments);
      return run(arguments, processes);
    }
    return 0;
  } catch (const cxxopts::exceptions::exception& error) {
    throw heed::misuse("train", heed::command_line_error(argc, argv, error.what(), options().help()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  return heed::run_processes("train", argv[0],
                             [&](const heed::Communicator& processes) { return run_command(argc, argv, processes); });
}
