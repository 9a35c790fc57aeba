#include "inspect/commands/shared.h"
#include "inspect/output_file.h"
#include "inspect/run_studies.h"
#include "run/internal/run_directory.h"
#include "views/circuit_view.h"
#include "views/compared_circuits_view.h"

#include <heed/explain/circuits/pair_task.h>

#include <fmt/format.h>

#include <sstream>

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr int matching_sentences = 400;  // on which the heads of several runs are compared

// Returns the value of an option among the names of an enumeration, or the default.
template <class E>
E choice_of(const Request& request, const char* option, E by_default) {
  const auto name = request.given<std::string>(option);
  if (!name) return by_default;
  if (const auto value = value_named<E>(*name)) return *value;
  misused("expected one of {} as --{}, got '{}'", listed(names_of<E>()), option, *name);
}

// Returns the options for the model that progress calls `name`.
CircuitOptions options_of(const Request& request, const std::string& name) {
  CircuitOptions options;
  if (request.has("method")) options.method = choice_of(request, "method", ScoreMethod::exact);
  options.choice = choice_of(request, "choice", options.choice);
  if (const auto target = request.given<Decimal>("faithfulness")) options.faithfulness = target->value;
  if (!(options.faithfulness > 0 && options.faithfulness <= 1)) {
    misused("expected --faithfulness above 0 and at most 1, got {}", options.faithfulness);
  }
  options.seed = request.given<std::uint64_t>("seed").value_or(options.seed);
  if (request.progress) {
    options.progress = [&request, name](const std::string& what, double share, double seconds) {
      request.progress(fmt::format("{} of {}", what, name), share, seconds);
    };
  }
  return options;
}

bool is_file_of_pairs(const fs::path& path) { return path.extension() == ".jsonl"; }

// Returns the pairs of FILE, or the minimal pairs among the sentences that a run held out.
std::vector<TextPair> pairs_of(const Request& request, const Model& model, const fs::path& run) {
  const bool has_file = !request.files.empty() && is_file_of_pairs(request.files[0]);
  std::vector<TextPair> pairs = has_file ? read_pairs(model, request.files[0]) : held_out_pairs(model, run, "circuit");
  const auto given = static_cast<std::size_t>(limit_of(request));
  keep_evenly(pairs, given > 0 ? given : has_file ? 0 : max_run_pairs);
  return pairs;
}

// Returns "a", "b c" for "a, b c".
std::vector<std::string> parts_between_commas(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream >> std::ws, part, ',');) parts.push_back(part);
  return parts;
}

struct Studied {
  CircuitStudy study;
  CircuitExample example;
  std::vector<std::string> removed;  // by --without
  std::optional<CircuitPart> rest;   // what that leaves
};

Studied studied(const Request& request, const Model& model, const fs::path& run) {
  const std::vector<TextPair> pairs = pairs_of(request, model, run);
  const CircuitOptions options = options_of(request, run.string());
  const PairTask task(model, pairs, options);
  Studied result{.study = circuit_study(task.task(), options), .example = {}, .removed = {}, .rest = {}};
  result.example = circuit_example(model, pairs, task.task(), result.study);
  if (const auto without = request.given<std::string>("without")) {
    result.removed = parts_between_commas(*without);
    if (result.removed.empty()) misused("expected names of edges or nodes as --without, got '{}'", *without);
  }
  if (!result.removed.empty() && result.study.verdict == CircuitStudy::Verdict::circuit) {
    result.rest = circuit_without(task.task(), result.study, result.removed);
  }
  return result;
}

// Compares the circuits of several runs, or of the steps of one.
std::string compared(const Request& request) {
  using enum ComparedCircuits::SameHeads;
  const bool has_steps = request.has("over-training");
  std::vector<fs::path> runs{request.runs[0]};
  runs.insert(runs.end(), request.files.begin(), request.files.end());
  std::vector<ComparedCircuits::Model> models;
  const auto add = [&](const fs::path& run, const std::optional<std::int64_t>& step) {
    const Model model = model_of(run, step, request.progress);
    const std::string name = has_steps ? fmt::format("step {}", model.step) : last_part(run);
    models.push_back(
        {name, model.step, circuit_study(model, pairs_of(request, model, run), options_of(request, name))});
  };
  if (has_steps) {
    if (!request.files.empty())
      misused("--over-training compares the steps of one run, got '{}' too", request.files[0]);
    const fs::path& run = request.runs[0];
    check_run(run);
    const std::vector<std::int64_t> steps = dumped_model_steps(run);
    if (steps.empty()) {
      fail("{}: keeps only the last model, so earlier circuits cannot be found; train with dump.weights: true",
           run.string());
    }
    for (const std::int64_t step : steps) add(run, step);
  } else {
    check_different(runs);
    for (const fs::path& run : runs) {
      check_run(run);
      add(run, {});
    }
  }
  const ComparedCircuits all = compare_circuits(std::move(models), has_steps ? by_number : of_layer);
  std::optional<MatchedCircuits> matched;
  std::string not_matched;
  if (!has_steps && all.found > 1) {
    try {
      const StudyOptions options{.most = matching_sentences, .progress = request.progress};
      matched = matched_circuits(all, match_heads(runs, options));
    } catch (const Error& error) {
      not_matched = fmt::format("The heads of these runs were not matched: {}", error.what());
    }
  }
  if (request.has("json")) {
    Json json = compared_circuits_json(all);
    if (matched) json["matched"] = matched_circuits_json(*matched);
    if (!not_matched.empty()) json["not_matched"] = not_matched;
    return json_line(json);
  }
  std::string text = compared_circuits_view(all, request.view);
  if (matched) text += matched_circuits_view(*matched, all.found, request.view);
  if (!not_matched.empty()) text += "\n" + paragraph(not_matched, request.view.terminal);
  return text;
}

std::string answer(const Request& request) {
  const bool has_file = !request.files.empty() && is_file_of_pairs(request.files[0]);
  if (has_file && request.files.size() > 1) {
    misused("expected one model with a file of pairs, got '{}' too", request.files[1]);
  }
  if (request.has("over-training") || (!has_file && !request.files.empty())) {
    for (const char* option : {"svg", "step", "without"}) {
      if (request.has(option)) misused("--{} is for one model", option);
    }
    return compared(request);
  }
  const auto svg = request.given<std::string>("svg");
  if (svg) check_output(*svg, svg_beginning, request.runs, request.has("force"));
  const fs::path& run = request.runs[0];
  const Model model = model_of(run, step_of(request), request.progress);
  check_has_head(model);
  const Studied found = studied(request, model, run);
  std::string text;
  if (request.has("json")) {
    Json json = circuit_json(found.study);
    json["example"] = circuit_example_json(found.example);
    if (!found.removed.empty()) json["without"] = found.rest ? circuit_part_json(*found.rest) : Json();
    text = json_line(json);
  } else {
    text = circuit_view(found.study, request.view);
    if (found.rest) text += circuit_part_view(found.removed, *found.rest, request.view);
    if (!found.removed.empty() && !found.rest) {
      text += "\n" + paragraph("--without: nothing was removed, as there is no circuit.", request.view.terminal);
    }
    text += circuit_example_view(found.example, request.view);
  }
  if (svg) {
    const std::string picture = circuit_svg(found.study, found.example);
    text += write_output(*svg, picture, request.has("json") ? "" : fmt::format("{}: {} bytes\n", *svg, picture.size()));
  }
  return text;
}

}  // namespace

const Command circuit_command{
    .name = "circuit",
    .words = "RUN [RUN...] | MODEL FILE",
    .summary = "Finds the edges between heads and MLPs that carry an answer",
    .example = "inspect circuit runs/toy --svg circuit.svg",
    .shared = "step json force",
    .declare =
        [](cxxopts::OptionAdder& options) {
          const auto text = [] { return cxxopts::value<std::string>(); };
          options("method",
                  "How edges are scored: eap, eap_ig, deeplift or exact (default: exact where that takes seconds, else "
                  "deeplift)",
                  text(),
                  "NAME")  //
              ("choice", "How edges join: greedy, from the answer on, or threshold (default: greedy)", text(),
               "NAME")  //
              ("faithfulness", "Share of the difference that the circuit keeps (default: 0.8)",
               cxxopts::value<Decimal>(),
               "X")  //
              ("limit", "How many pairs to use, evenly from first to last (default: all of FILE, 100 of a run)",
               cxxopts::value<int>(), "N")                                                      //
              ("over-training", "Compare the circuits at the steps whose models the run kept")  //
              ("seed", "Seed of the halves, resamples and random circuits (default: 1)",
               cxxopts::value<std::uint64_t>(),
               "N")                                                                      //
              ("svg", "Draw the circuit, from the words to the answer", text(), "FILE")  //
              ("without", "Measure what is left without these edges and nodes of the circuit, separated by commas",
               text(), "NAMES");
        },
    .faster = "--limit N asks fewer",
    .answer = answer};

}  // namespace heed
