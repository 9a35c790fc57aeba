#include "train/seeds.h"

#include "files/internal/ascii.h"
#include "run/internal/program.h"
#include "train/progress.h"
#include "train/report.h"

#include <heed/explain/studies/evaluation.h>
#include <heed/explain/studies/held_out.h>
#include <heed/files/file.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <set>
#include <sstream>
#include <unistd.h>

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_seeds = 1000;

// A figure of an evaluation, and its format: in percent, or with this many digits after the point.
struct SeedFigure {
  const char* name;
  double (*of)(const Evaluation&);
  int digits;  // percent: 0
};

double best_weight(const Evaluation& e) {
  const auto best = e.best_head();
  return best ? best->weight : std::numeric_limits<double>::quiet_NaN();
}

constexpr SeedFigure seed_figures[] = {
    {"loss", [](const Evaluation& e) { return e.loss; }, 4},
    {"perplexity", [](const Evaluation& e) { return e.perplexity; }, 4},
    {"bits a byte", [](const Evaluation& e) { return e.bits_per_byte; }, 4},
    {"accuracy", [](const Evaluation& e) { return e.accuracy; }, 0},
    {"both of a pair", [](const Evaluation& e) { return e.counterpart_accuracy; }, 0},
    {"weight on antecedent", best_weight, 2},
};

const SeedFigure& figure_called(const std::string& name) {
  return *std::ranges::find(seed_figures, name, &SeedFigure::name);
}

std::string shown_figure(const SeedFigure& figure, double value) {
  return figure.digits == 0 ? percent(value) : fmt::format("{:.{}f}", value, figure.digits);
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Returns half of the 95 % interval of the mean: t s / sqrt(n).
double half_width(const std::vector<double>& values) {
  const double centre = mean_of(values), n = static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return student_t(static_cast<int>(values.size()) - 1) * std::sqrt(squares / (n - 1) / n);
}

const char* name_of(Varied varied) { return varied == Varied::seed ? "seed" : "fold"; }

std::uint64_t number_of(Varied varied, const Config& config) {
  return varied == Varied::seed ? config.seed : static_cast<std::uint64_t>(config.data.fold.number);
}

fs::path run_of(const fs::path& out, Varied varied, const Config& config) {
  return out / fmt::format("{}-{}", name_of(varied), number_of(varied, config));
}

// Returns the first line in which two configurations differ.
std::string first_difference(const std::string& there, const std::string& here) {
  std::istringstream theirs(there), ours(here);
  std::string their_line, our_line;
  while (their_line == our_line && std::getline(theirs, their_line) && std::getline(ours, our_line)) {
  }
  const auto unindented = [](const std::string& line) {
    return line.substr(std::min(line.find_first_not_of(' '), line.size()));
  };
  return fmt::format("'{}', but this command has '{}'", unindented(their_line), unindented(our_line));
}

void check_same_config(const fs::path& run, const Config& config) {
  const fs::path file = run / "config.yaml";
  if (!fs::exists(file)) return;
  const std::string there = to_yaml(read_config(file)), here = to_yaml(config);
  if (there == here) return;
  fail("{}: was trained with {}. Choose another --out, or use the configuration with which it was started",
       run.string(), first_difference(there, here));
}

}  // namespace

std::vector<std::uint64_t> parse_seeds(std::string_view text) {
  std::vector<std::uint64_t> seeds;
  std::set<std::uint64_t> known;
  const auto refuse = [&](const std::string& what) {
    throw UsageError(fmt::format("--seeds: expected seeds such as 1-8 or 1,3,5, got '{}': {}", text, what));
  };
  for (std::string_view rest = text;;) {
    const std::string_view part = rest.substr(0, rest.find(','));
    const std::size_t dash = part.find('-');
    const auto first = parse_number<std::uint64_t>(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number<std::uint64_t>(part.substr(dash + 1));
    if (!first || !last) refuse(fmt::format("expected a seed or a range such as 1-8, got '{}'", part));
    if (*last < *first) refuse(fmt::format("{} is before {}", *last, *first));
    if (*last - *first >= max_seeds) refuse(fmt::format("more than {} seeds", max_seeds));
    for (std::uint64_t i = 0; i <= *last - *first; ++i) {
      if (!known.insert(*first + i).second) refuse(fmt::format("{} twice", *first + i));
      seeds.push_back(*first + i);
    }
    if (seeds.size() > max_seeds) refuse(fmt::format("more than {} seeds", max_seeds));
    if (part.size() == rest.size()) return seeds;
    rest.remove_prefix(part.size() + 1);
  }
}

std::string SeedTable::row(std::uint64_t number, const Evaluation& held_out) {
  std::string text;
  if (columns_.empty()) {
    text = fmt::format("{:>6}", name_of(varied_));
    for (const SeedFigure& figure : seed_figures) {
      if (std::isnan(figure.of(held_out))) continue;
      columns_.push_back({figure.name, std::max(9, static_cast<int>(std::string_view(figure.name).size()) + 2), {}});
      text += fmt::format("{:>{}}", figure.name, columns_.back().width);
    }
    text += "\n";
  }
  text += fmt::format("{:>6}", number);
  for (Column& column : columns_) {
    const SeedFigure& figure = figure_called(column.name);
    column.values.push_back(figure.of(held_out));
    text += fmt::format("{:>{}}", shown_figure(figure, column.values.back()), column.width);
  }
  if (const auto best = held_out.best_head())
    text += fmt::format("  layer {} head {}", best->layer + 1, best->head + 1);
  return text + "\n";
}

std::string SeedTable::summary() const {
  if (columns_.empty()) return "";
  std::string means = "  mean", widths = "     ±";
  bool has_equal = false;
  for (const Column& column : columns_) {
    const SeedFigure& figure = figure_called(column.name);
    means += fmt::format("{:>{}}", shown_figure(figure, mean_of(column.values)), column.width);
    const auto [low, high] = std::ranges::minmax(column.values);
    has_equal = has_equal || low == high;
    widths += fmt::format("{:>{}}", low == high ? "-" : shown_figure(figure, half_width(column.values)), column.width);
  }
  // Folds share training sentences: half_width() would be too small. FoldAnswers has an interval over sentences.
  if (columns_[0].values.size() == 1 || varied_ == Varied::fold) return means + "\n";
  return fmt::format("{}\n{}  (95 % interval over seeds{})\n", means, widths, has_equal ? "; -: all are equal" : "");
}

void FoldAnswers::add(const Model& model, const std::vector<Example>& held_out) {
  const HeldOut asked(model, held_out, held_out.size());
  const std::vector<HeldOut::Answer> answers = asked.answers();
  const int first = static_cast<int>(right_.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    right_.push_back(asked.right(i) >= 0 && answers[i].word == asked.right(i));
    groups_.push_back(first + asked.group(i));
  }
}

std::string FoldAnswers::summary(const Terminal& terminal) const {
  const Interval right = share_of_answers(right_, groups_);
  return wrapped(
             fmt::format(
                 "All {}, each held out once: {} are answered right, 95 % interval {:.1f} to {:.1f} over sentences. "
                 "The "
                 "folds share training sentences, so they are not independent: no interval tells how much the accuracy "
                 "changes with other training sentences.",
                 counted(std::ssize(right_), "sentence"), percent(right.share), 100 * right.low, 100 * right.high),
             terminal.width) +
         "\n";
}

bool train_series(const std::vector<Config>& configs, Varied varied, const fs::path& out, bool quiet,
                  const Terminal& terminal, const volatile std::sig_atomic_t& stop) {
  if (fs::exists(out / "config.yaml")) {
    fail("{}: is a run; --{}s needs a directory for its runs: choose another --out", out.string(), name_of(varied));
  }
  for (const Config& config : configs) check_same_config(run_of(out, varied, config), config);
  if (varied == Varied::fold) {  // throws where there are too few sentences for the last fold
    make_task(configs.back());
  }
  SeedTable table(varied);
  FoldAnswers folds;
  for (const Config& config : configs) {
    const fs::path path = run_of(out, varied, config);
    const bool has_begun = fs::exists(path / "config.yaml");
    std::optional<RunDirectory> run;
    if (has_begun) run.emplace(RunDirectory::open(path));
    Experiment experiment = make_experiment(config, {.is_resumed = run && run->has_checkpoint()});
    if (!run) run.emplace(RunDirectory::create(config.name, to_yaml(config), path));
    if (!quiet && &config == &configs[0]) {
      fmt::print("{}\n", opening(experiment, out / fmt::format("{}-N", name_of(varied)), terminal));
    }
    const bool is_live = !quiet && isatty(STDOUT_FILENO);
    ProgressLine progress(config.optim.schedule.steps, true, tokens_a_step(experiment));
    const Listener silent{[](std::int64_t, double) {}, [](std::int64_t, double, const Evaluation&) {}};
    const std::int64_t steps = train(experiment, *run, is_live ? progress.listener() : silent, stop);
    progress.erase();
    if (stop && steps < config.optim.schedule.steps) return false;
    if (!quiet) fmt::print("{}", table.row(number_of(varied, config), read_metrics(path).back().held_out));
    if (!quiet && varied == Varied::fold) folds.add(load_model(model_path(path)), experiment.task.held_out);
    std::fflush(stdout);
  }
  if (quiet) return true;
  fmt::print("{}\n", table.summary());
  if (varied == Varied::fold) fmt::print("{}\n", folds.summary(terminal));
  fmt::print("Look closer: {} {}\n", command_of("inspect"), shell_word(run_of(out, varied, configs[0])));
  if (configs.size() > 1 && varied == Varied::seed) {
    fmt::print("Heads that do the same: {} match {}\n", command_of("inspect"), shell_word(out) + "/seed-*");
  }
  return true;
}

}  // namespace heed
