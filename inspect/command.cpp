#include "inspect/command.h"

#include "inspect/card/card.h"
#include "inspect/causal/cause_history.h"
#include "inspect/causal/causes.h"
#include "inspect/causal/matched_heads.h"
#include "inspect/causal/score_parts_json.h"
#include "inspect/options.h"
#include "inspect/output_file.h"
#include "inspect/page/page.h"
#include "inspect/verify.h"
#include "inspect/views/induction_view.h"
#include "inspect/views/picture.h"
#include "inspect/views/view.h"
#include "run/metrics.h"
#include "run/program.h"
#include "run/run_directory.h"

#include <heed/explain/score_parts.h>
#include <heed/files/file.h>
#include <heed/version.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace heed {
namespace {

namespace fs = std::filesystem;

// "\\n", "\\r", "\\t" and "\\\\", as a shell leaves them, as what they mean.
std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t known = text[i] == '\\' && i + 1 < text.size() ? std::string_view("nrt\\").find(text[i + 1]) : 4;
    result += known < 4 ? "\n\r\t\\"[known] : text[i];
    i += known < 4;
  }
  return result;
}

// All that it writes is returned where nobody else takes it.
std::string write_on(const SavedModel& model, const cxxopts::ParseResult& arguments, const OnText& write) {
  const Continuation defaults;
  const Continuation asked{
      .begin = arguments["continue"].as<std::string>(),
      .tokens = given<int>(arguments, "tokens").value_or(defaults.tokens),
      .sampling = {.temperature = given_number(arguments, "temperature", defaults.sampling.temperature),
                   .top_k = given<int>(arguments, "top-k").value_or(defaults.sampling.top_k),
                   .top_p = given_number(arguments, "top-p", defaults.sampling.top_p)},
      .seed = given<std::uint64_t>(arguments, "seed").value_or(defaults.seed),
      .stop = unescaped(given<std::string>(arguments, "stop").value_or(""))};
  std::string text;
  continue_text(model, asked, [&](std::string_view piece) {
    if (write) return write(piece);
    text += piece;
    return true;
  });
  return text;
}

// Of each file; of the held-out sentences where there is none.
std::string cards(const SavedModel& model, const fs::path& run, std::vector<std::string> files, bool as_json,
                  const Terminal& terminal) {
  check_chooses(model);
  if (!fs::is_directory(run)) fail("{}: is a single file; --card needs the run directory", run.string());
  const Baselines baselines = Baselines::read(run);
  Json all = Json::array();
  std::string text;
  const bool held_out = files.empty();
  if (held_out) files.emplace_back();
  for (const std::string& file : files) {
    const Card one = card(model, baselines, held_out ? "held-out sentences" : file, card_sentences(model, run, file));
    text += (text.empty() ? "" : "\n") + card_view(one, terminal);
    all.push_back(card_json(one));
  }
  return as_json ? format_json(all) + "\n" : text;
}

SavedModel model_of(const fs::path& run, const std::optional<std::int64_t>& step) {
  if (fs::is_regular_file(run)) {
    SavedModel model = load_model(run);
    if (step && *step != model.step) fail("{}: is the model of step {}, not {}", run.string(), model.step, *step);
    return model;
  }
  if (step && fs::exists(dumped_model_path(run, *step))) return load_model(dumped_model_path(run, *step));
  if (!fs::exists(model_path(run))) fail("{}: is missing; has the run been saved?", model_path(run).string());
  SavedModel model = load_model(model_path(run));
  if (!step || *step == model.step) return model;
  if (const std::vector<std::int64_t> kept = dumped_model_steps(run); !kept.empty()) {
    fail("{}: holds no model of step {}; there are {}, and the last, of {}", run.string(), *step, listed(kept),
         model.step);
  }
  fail(
      "{}: only the last model is kept, of step {}; there is none of step {}. With dump.weights: true train keeps that "
      "of each dumped step",
      run.string(), model.step, *step);
}

Dump dump_of(const fs::path& run, const std::optional<std::int64_t>& step) {
  if (fs::is_regular_file(run)) {
    const Dump dump = read_dump(run);
    if (step && *step != dump.step) fail("{}: is the dump of step {}, not {}", run.string(), dump.step, *step);
    return dump;
  }
  if (!step) return last_dump(run);
  const std::vector<std::int64_t> steps = dump_steps(run);
  if (std::find(steps.begin(), steps.end(), *step) == steps.end()) {
    const std::string others = steps.empty() ? "it holds none" : fmt::format("there are {}", listed(steps));
    fail("{}: has no dump of step {}; {}", run.string(), *step, others);
  }
  return read_dump(dump_path(run, *step));
}

Side side_of(const fs::path& run, const std::optional<std::int64_t>& step, bool by_step) {
  Side side{.run = run.string(), .name = {}, .dump = dump_of(run, step), .metrics = std::nullopt};
  side.name = by_step ? fmt::format("step {}", side.dump.step) : side.run;
  for (const Metrics& line : read_metrics(run)) {
    if (line.step == side.dump.step) side.metrics = line;
  }
  return side;
}

// Error for what is no run, with the command that was meant.
void check_run(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    if (error) fail("{}: cannot be read: {}", path.string(), error.message());
    fail("{}: there is no such run; {} --config FILE makes one", path.string(), command_of("train"));
  }
  if (path.extension() == ".yaml" || path.extension() == ".yml") {
    fail("{0}: is a configuration, not a run; {1} --config {0} makes a run of it, which inspect shows", path.string(),
         command_of("train"));
  }
  if (path.extension() == ".jsonl" || path.extension() == ".txt") {
    fail("{}: is data, not a run; {} makes a run of a configuration whose data.train it is", path.string(),
         command_of("train"));
  }
  if (!fs::is_directory(path) || fs::exists(path / "config.yaml")) return;
  std::vector<std::string> runs;
  for (const fs::path& run : runs_in(path)) runs.push_back(run.string());
  constexpr std::size_t most = 5;
  const std::size_t more = runs.size() > most ? runs.size() - most : 0;
  runs.resize(runs.size() - more);
  if (runs.empty()) return;
  fail("{}: is no run, but holds runs; inspect one of them: {}{}", path.string(), fmt::join(runs, ", "),
       more > 0 ? fmt::format(" and {} more", more) : "");
}

// Where the model has gone on since its last dump: what a view of the dump says below. "" else, or of one file.
std::string newer_model_note(const fs::path& run, std::int64_t dumped, const Terminal& terminal) {
  if (fs::is_regular_file(run) || !fs::exists(model_path(run))) return "";
  const std::int64_t step = saved_step(model_path(run));
  if (step <= dumped) return "";
  return "\n" +
         wrapped(fmt::format("The model is of step {}; attention was last dumped at step {}. {} --resume {} "
                             "goes on, and --sentence asks the model itself.",
                             step, dumped, command_of("train"), shell_word(run)),
                 terminal.width) +
         "\n";
}

// Leaves of both dumps the watched sentence number `probe` of the first, from 1.
void keep_probe(Side& a, Side& b, int probe) {
  const Range chosen = chosen_range("watched sentence", probe, static_cast<int>(a.dump.sentences.size()));
  const SentenceAttention kept = a.dump.sentences[static_cast<std::size_t>(chosen.begin)];
  a.dump.sentences = {kept};
  std::erase_if(b.dump.sentences,
                [&](const SentenceAttention& s) { return s.tokens != kept.tokens || s.query != kept.query; });
  if (b.dump.sentences.empty()) fail("{}: did not watch sentence {} of {}", b.run, probe, a.run);
}

// With the run's name: "causes of runs/toy".
OnProgress of_run(const fs::path& run, const OnProgress& progress) {
  if (!progress) return {};
  return [=](const std::string& what, double share, double seconds) {
    progress(fmt::format("{} of {}", what, run.string()), share, seconds);
  };
}

// One step, one run: for both sides.
std::string compare(const std::vector<std::string>& runs, const std::vector<std::int64_t>& steps,
                    std::optional<int> probe, const View& view) {
  const auto step = [&](std::size_t i) {
    return steps.empty() ? std::nullopt : std::optional(steps[std::min(i, steps.size() - 1)]);
  };
  const bool by_step = runs.size() == 1;
  Side a = side_of(runs.front(), step(0), by_step), b = side_of(runs.back(), step(1), by_step);
  if (probe) keep_probe(a, b, *probe);
  return compare_view(a, b, view);
}

// Before anything is computed.
void check_outputs(const cxxopts::ParseResult& arguments, const std::vector<fs::path>& runs) {
  const std::array<std::pair<const char*, std::string_view>, 4> files{
      {{"page", page_beginning}, {"svg", svg_beginning}, {"csv", csv_beginning}, {"npy", npy_beginning}}};
  for (const auto& [option, beginning] : files) {
    if (const auto file = given<std::string>(arguments, option)) {
      check_output(*file, beginning, runs, arguments.count("force") > 0);
    }
  }
}

// Writes what is asked for, and says so; none where nothing is asked for.
std::optional<std::string> write_files(const cxxopts::ParseResult& arguments, const Dump& dump, const View& view) {
  std::optional<std::string> text;
  const auto write = [&](const char* option, const auto& content) {
    if (const auto file = given<std::string>(arguments, option)) {
      if (dump.sentences.empty()) fail("step {}: the dump holds no sentences", dump.step);
      const std::string bytes = content();
      text = text.value_or("") + write_output(*file, bytes, fmt::format("{}: {} bytes\n", *file, bytes.size()));
    }
  };
  write("svg", [&] { return attention_svg(dump.sentences[0], dump.step, view); });
  write("csv", [&] { return attention_csv(dump, view); });
  write("npy", [&] { return attention_npy(dump.sentences[0], view); });
  return text;
}

std::string write_page(const std::vector<fs::path>& runs, const fs::path& file, int limit, const OnProgress& progress) {
  std::vector<PageRun> contents;
  for (const fs::path& run : runs)
    contents.push_back(
        page_run(run, limit, most_page_bytes, of_run(run, progress), page_bytes_with_models / runs.size()));
  const std::string html = page(contents);
  return write_output(
      file, html,
      fmt::format("{}: {:.1f} MB; open it in a browser\n", file.string(), static_cast<double>(html.size()) / 1e6));
}

}  // namespace

std::string inspect(int argc, const char* const* argv, const Terminal& terminal, const OnProgress& progress,
                    const OnText& write) {
  const cxxopts::ParseResult arguments = parse_options(argc, argv);
  if (arguments.count("help")) return options_help();
  if (arguments.count("version")) return "inspect " HEED_VERSION "\n";
  const View view{terminal, given<int>(arguments, "layer"), given<int>(arguments, "head")};
  const auto steps = given<std::vector<std::int64_t>>(arguments, "step").value_or(std::vector<std::int64_t>{});
  const auto& runs = arguments["run"].as<std::vector<std::string>>();
  if (arguments.count("card")) {
    check_run(runs[0]);
    return cards(model_of(runs[0], {}), runs[0], {runs.begin() + 1, runs.end()}, arguments.count("json") > 0, terminal);
  }
  for (const fs::path path : runs) check_run(path);
  check_outputs(arguments, {runs.begin(), runs.end()});
  if (const auto file = given<std::string>(arguments, "page")) {
    return write_page({runs.begin(), runs.end()}, *file, given<int>(arguments, "limit").value_or(0), progress);
  }
  const int limit = given<int>(arguments, "limit").value_or(0);
  if (arguments.count("match")) {
    const MatchedHeads matched = match_heads({runs.begin(), runs.end()}, limit, progress);
    return arguments.count("json") ? format_json(matched_heads_json(matched)) + "\n"
                                   : matched_heads_view(matched, view);
  }
  if (runs.size() == 2 || steps.size() == 2) return compare(runs, steps, given<int>(arguments, "probe"), view);
  const fs::path run = runs[0];
  const auto step = steps.empty() ? std::nullopt : std::optional(steps[0]);

  if (arguments.count("verify")) return verify(run);
  if (arguments.count("continue")) return write_on(model_of(run, step), arguments, write);
  if (arguments.count("causes")) {
    const Causes found = causes(model_of(run, step), run, limit, of_run(run, progress));
    return arguments.count("json") ? format_json(causes_json(found)) + "\n" : causes_view(found, view);
  }
  if (arguments.count("when")) {
    const CauseHistory history = cause_history(run, limit, of_run(run, progress));
    return arguments.count("json") ? format_json(history_json(history)) + "\n" : history_view(history, view);
  }
  if (arguments.count("induction")) {
    std::vector<Dump> dumps;
    for (const std::int64_t dumped : dump_steps(run)) dumps.push_back(read_dump(dump_path(run, dumped)));
    if (dumps.empty()) dumps.push_back(last_dump(run));  // an Error that says so
    return induction_view(dumps, read_metrics(run), view);
  }
  if (arguments.count("weights")) return weights_view(model_of(run, step), view);
  Dump dump;
  if (const auto sentence = given<std::string>(arguments, "sentence")) {
    const SavedModel model = model_of(run, step);
    const Example example = question(model, *sentence, given<std::string>(arguments, "query").value_or(""));
    if (arguments.count("steps")) return steps_view(model, example, view);
    dump = {model.step, {attend(*model.network, model.vocabulary, example)}};
    if (reads_pieces(model) && !arguments.count("why-attends")) {
      dump.sentences[0] = of_whole_words(dump.sentences[0]);
    }
  } else {
    dump = dump_of(run, step);
  }
  const std::vector<SentenceAttention> watched = dump.sentences;
  if (const auto probe = given<int>(arguments, "probe")) {
    const Range chosen = chosen_range("watched sentence", probe, static_cast<int>(dump.sentences.size()));
    dump.sentences = {dump.sentences[static_cast<std::size_t>(chosen.begin)]};
  }
  if (arguments.count("why-attends")) {
    const SavedModel model = model_of(run, step);
    if (reads_pieces(model) && !arguments.count("sentence")) {
      fail(
          "{}: watched sentences are kept as whole words, of which the model reads pieces; ask --why-attends of a "
          "--sentence",
          run.string());
    }
    check_same_model(dump, model, dump_path(run, dump.step).string());
    const std::vector<ScoreParts> all = why_attends(model, dump, watched, view);
    if (!arguments.count("json")) return why_attends_view(all, dump, view);
    Json result = Json::array();
    for (const ScoreParts& one : all) result.push_back(score_parts_json(one));
    return format_json(result) + "\n";
  }
  if (const auto written = write_files(arguments, dump, view)) return *written;
  if (arguments.count("json")) return json_view(dump);
  const bool is_last = steps.empty() && !arguments.count("sentence");
  return (arguments.count("matrix") ? matrix_view(dump, view) : query_view(dump, view)) +
         (is_last ? newer_model_note(run, dump.step, terminal) : "");
}

}  // namespace heed
