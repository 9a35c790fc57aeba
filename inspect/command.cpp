#include "inspect/command.h"

#include "inspect/causal/causes.h"
#include "inspect/causal/score_parts.h"
#include "inspect/output_file.h"
#include "inspect/page/page.h"
#include "inspect/verify.h"
#include "inspect/views/induction_view.h"
#include "inspect/views/picture.h"
#include "inspect/views/view.h"
#include "run/metrics.h"
#include "run/program.h"

#include <heed/files/file.h>
#include <heed/version.h>

#include <cxxopts.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace heed {
namespace {

namespace fs = std::filesystem;

cxxopts::Options options() {
  cxxopts::Options result("inspect",
                          "Shows what a run of train has learned: by default, where each watched sentence's\n"
                          "query looks, in every layer and head. RUN is a run directory, such as runs/toy,\n"
                          "or one file of its attention directory. Two RUNs, or two --step, are compared.\n");
  result.custom_help("RUN [RUN] [OPTION...]").positional_help("").set_width(80);
  result.add_options()                                                                                //
      ("sentence", "Read this sentence with the saved model", cxxopts::value<std::string>(), "TEXT")  //
      ("query", "Its token to ask about; by default the last one of a kind that training asked about",
       cxxopts::value<std::string>(), "WORD")                                                                      //
      ("matrix", "All weights as heat maps")                                                                       //
      ("weights", "The learned W_Q, W_K, W_V and W_O: shapes, norms, heat maps")                                   //
      ("steps", "Every matrix from X to the output for --sentence, in one layer and head")                         //
      ("causes", "What cutting and replacing attention does to the answers to held-out sentences")                 //
      ("why-attends", "What makes a head look where it looks: its score as a sum over what wrote the two tokens")  //
      ("induction", "By step, how each head looks at the token before, and at what followed the same token")       //
      ("limit", "How many of them to ask (default: as many as take up to a minute)", cxxopts::value<int>(), "N")   //
      ("page", "Write it all as one HTML file that opens offline in a browser; with RUN RUN, of both",
       cxxopts::value<std::string>(), "FILE")                                                                  //
      ("json", "The dump, --causes or --why-attends as JSON, with every layer and head; arrays count from 0")  //
      ("step", "The training step to look at (default: the last); given twice, both are compared",
       cxxopts::value<std::vector<std::int64_t>>(), "N")                                                             //
      ("probe", "Only this watched sentence, counted from 1 (--svg, --npy: the first)", cxxopts::value<int>(), "N")  //
      ("layer", "Only this layer, counted from 1 (--steps: the first)", cxxopts::value<int>(), "L")                  //
      ("head", "Only this head, counted from 1 (--steps: the first)", cxxopts::value<int>(), "H")                    //
      ("svg", "Draw one sentence's weights: a heat map of one head, or a grid of all", cxxopts::value<std::string>(),
       "FILE")                                                                                        //
      ("csv", "Write all weights as a table, counted from 1", cxxopts::value<std::string>(), "FILE")  //
      ("npy", "Write one sentence's weights for NumPy: (layers, heads, T, T)", cxxopts::value<std::string>(),
       "FILE")                                                                                                      //
      ("continue", "Go on with this text, with a model of data.task: text", cxxopts::value<std::string>(), "TEXT")  //
      ("tokens", "How many tokens to write (default: 500)", cxxopts::value<int>(), "N")                             //
      ("temperature", "Above 1 bolder, below 1 more cautious, 0 always the likeliest (default: 1)",
       cxxopts::value<double>(), "X")                                                                                //
      ("top-k", "Draw from the K likeliest tokens only", cxxopts::value<int>(), "K")                                 //
      ("top-p", "Draw from the likeliest tokens only whose probabilities sum to P", cxxopts::value<double>(), "P")   //
      ("seed", "Of what is drawn (default: 1); the same seed, the same text", cxxopts::value<std::uint64_t>(), "N")  //
      ("stop", "End before this text; \\n is a line's end", cxxopts::value<std::string>(), "TEXT")                   //
      ("verify", "Read every file of the run, and say of each whether it is whole")                                  //
      ("force", "Let --page, --svg, --csv and --npy replace a file of another kind")                                 //
      ("help", "Print this")("version", "Print the version")                                                         //
      ("run", "", cxxopts::value<std::vector<std::string>>());
  result.parse_positional({"run"});
  return result;
}

template <class... Args>
[[noreturn]] void misused(fmt::format_string<Args...> format, Args&&... args) {
  throw UsageError(fmt::format(format, std::forward<Args>(args)...) + " (see inspect --help)");
}

template <class T>
std::optional<T> given(const cxxopts::ParseResult& arguments, const char* name) {
  if (arguments.count(name) == 0) return {};
  return arguments[name].as<T>();
}

// "\\n", "\\t" and "\\\\", as a shell leaves them, as what they mean.
std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t known = text[i] == '\\' && i + 1 < text.size() ? std::string_view("nt\\").find(text[i + 1]) : 3;
    result += known < 3 ? "\n\t\\"[known] : text[i];
    i += known < 3;
  }
  return result;
}

void check_continuation(const cxxopts::ParseResult& arguments) {
  const std::array options{"tokens", "temperature", "top-k", "top-p", "seed", "stop"};
  for (const char* option : options) {
    if (arguments.count(option) && !arguments.count("continue")) misused("--{} needs --continue", option);
  }
  if (!arguments.count("continue")) return;
  for (const auto& argument : arguments.arguments()) {
    if (argument.key() == "run" || argument.key() == "continue") continue;
    if (std::ranges::find(options, argument.key()) == options.end()) {
      misused("--continue writes a text; it goes without --{}", argument.key());
    }
  }
  if (arguments["run"].as<std::vector<std::string>>().size() > 1) misused("--continue is of one run");
  const auto number = [&](const char* name, double usual) {
    return arguments.count(name) ? arguments[name].as<double>() : usual;
  };
  const auto count = [&](const char* name, int usual) {
    return arguments.count(name) ? arguments[name].as<int>() : usual;
  };
  if (count("tokens", 1) < 1) misused("--tokens must be at least 1");
  if (!(number("temperature", 1) >= 0)) misused("--temperature must be at least 0");
  if (count("top-k", 1) < 1) misused("--top-k must be at least 1");
  if (!(number("top-p", 1) > 0 && number("top-p", 1) <= 1)) misused("--top-p must be above 0 and at most 1");
}

// All that it writes is returned where nobody else takes it.
std::string write_on(const SavedModel& model, const cxxopts::ParseResult& arguments, const OnText& write) {
  const Continuation defaults;
  const Continuation asked{
      .begin = arguments["continue"].as<std::string>(),
      .tokens = given<int>(arguments, "tokens").value_or(defaults.tokens),
      .sampling = {.temperature = given<double>(arguments, "temperature").value_or(defaults.sampling.temperature),
                   .top_k = given<int>(arguments, "top-k").value_or(defaults.sampling.top_k),
                   .top_p = given<double>(arguments, "top-p").value_or(defaults.sampling.top_p)},
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

void check(const cxxopts::ParseResult& arguments) {
  if (!arguments.count("run")) misused("expected a run directory");
  const auto& runs = arguments["run"].as<std::vector<std::string>>();
  const std::size_t steps = arguments.count("step");
  if (runs.size() > 2) misused("expected one run directory, or two to compare, got '{}' too", runs[2]);
  if (steps > 2) misused("expected one --step, or two to compare, got {}", steps);
  const std::array views{"matrix", "weights", "steps", "causes", "why-attends", "induction"};
  const auto is_given = [&](const char* name) { return arguments.count(name) > 0; };
  if (std::count_if(views.begin(), views.end(), is_given) > 1) {
    misused("--{} are different views: choose one", fmt::join(views, ", --"));
  }
  for (const char* view : {"matrix", "weights", "steps", "induction"}) {
    if (is_given("json") && is_given(view))
      misused("--json prints the dump, --causes or --why-attends, not --{}", view);
  }
  check_continuation(arguments);
  if (is_given("limit") && !is_given("causes") && !is_given("page")) misused("--limit needs --causes or --page");
  if (is_given("limit") && arguments["limit"].as<int>() < 1) misused("--limit must be at least 1");
  if (is_given("verify") && arguments.arguments().size() > runs.size() + 1)
    misused("--verify goes without other options");
  const std::array files{"page", "svg", "csv", "npy"};
  if (is_given("force") && std::none_of(files.begin(), files.end(), is_given)) {
    misused("--force needs --{}", fmt::join(files, ", --"));
  }
  if (is_given("page")) {
    for (const char* option : {"matrix", "weights", "steps", "causes", "why-attends", "json", "sentence", "probe",
                               "step", "layer", "head", "svg", "csv", "npy"}) {
      if (is_given(option)) misused("--page shows all of a run; it goes without --{}", option);
    }
    return;
  }
  if (runs.size() == 2 || steps == 2) {
    for (const char* option :
         {"matrix", "weights", "steps", "causes", "why-attends", "verify", "json", "sentence", "svg", "csv", "npy"}) {
      if (is_given(option)) misused("two runs or steps are compared; --{} shows one", option);
    }
  }
  for (const char* file : {"svg", "csv", "npy"}) {
    for (const char* view : {"matrix", "weights", "steps", "causes", "why-attends", "json"}) {
      if (is_given(file) && is_given(view)) misused("--{} writes attention weights, not --{}", file, view);
    }
  }
  if (is_given("probe") && is_given("sentence")) misused("--probe chooses a watched sentence, --sentence another");
  for (const char* view : {"weights", "causes"}) {
    if (is_given("probe") && is_given(view)) misused("--{} is not about one --probe", view);
  }
  if (is_given("causes") && is_given("sentence")) misused("--causes is about held-out sentences, not a --sentence");
  if (is_given("steps") && !is_given("sentence")) misused("--steps needs --sentence");
  for (const char* option : {"sentence", "probe", "step", "svg", "csv", "npy"}) {
    if (is_given("induction") && is_given(option)) misused("--induction is of all steps; it goes without --{}", option);
  }
  if (is_given("query") && !is_given("sentence")) misused("--query needs --sentence");
  if (is_given("weights") && is_given("sentence")) misused("--weights shows the model, not a --sentence");
  if (is_given("json") && !is_given("why-attends") && (is_given("layer") || is_given("head"))) {
    misused("--json prints every layer and head");
  }
}

SavedModel model_of(const fs::path& run, const std::optional<std::int64_t>& step) {
  if (fs::is_regular_file(run)) {
    fail(
        "{}: is a single file; --sentence, --weights, --steps, --causes, --why-attends and --continue need the run "
        "directory with its model",
        run.string());
  }
  if (!fs::exists(model_path(run))) fail("{}: is missing; has the run been saved?", model_path(run).string());
  SavedModel model = load_model(model_path(run));
  if (step && *step != model.step) {
    fail("{}: only the last model is kept, of step {}; there is none of step {}", run.string(), model.step, *step);
  }
  return model;
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
    const std::string others = steps.empty() ? "it holds none" : fmt::format("there are {}", fmt::join(steps, ", "));
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
    fail("{}: there is no such run; train --config FILE makes one", path.string());
  }
  if (path.extension() == ".yaml" || path.extension() == ".yml") {
    fail("{0}: is a configuration, not a run; train --config {0} makes a run of it, which inspect shows",
         path.string());
  }
  if (!fs::is_directory(path) || fs::exists(path / "config.yaml")) return;
  std::vector<std::string> runs;
  for (const fs::path& entry : entries_of(path)) {
    if (fs::exists(entry / "config.yaml", error)) runs.push_back(entry.string());
  }
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
         wrapped(fmt::format("The model is of step {}; attention was last dumped at step {}. train --resume {} "
                             "goes on, and --sentence asks the model itself.",
                             step, dumped, run.string()),
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
  return [=](const std::string& what, double share) { progress(fmt::format("{} of {}", what, run.string()), share); };
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
  for (const fs::path& run : runs) contents.push_back(page_run(run, limit, most_page_bytes, of_run(run, progress)));
  const std::string html = page(contents);
  return write_output(
      file, html,
      fmt::format("{}: {:.1f} MB; open it in a browser\n", file.string(), static_cast<double>(html.size()) / 1e6));
}

}  // namespace

std::string inspect(int argc, const char* const* argv, const Terminal& terminal, const OnProgress& progress,
                    const OnText& write) {
  cxxopts::ParseResult arguments;
  try {
    arguments = options().parse(argc, argv);
    if (arguments.count("help")) return options().help();
    if (arguments.count("version")) return "inspect " HEED_VERSION "\n";
    check(arguments);
  } catch (const cxxopts::exceptions::exception& error) {
    misused("{}", error.what());
  }
  const View view{terminal, given<int>(arguments, "layer"), given<int>(arguments, "head")};
  const auto steps = given<std::vector<std::int64_t>>(arguments, "step").value_or(std::vector<std::int64_t>{});
  const auto& runs = arguments["run"].as<std::vector<std::string>>();
  for (const fs::path path : runs) check_run(path);
  check_outputs(arguments, {runs.begin(), runs.end()});
  if (const auto file = given<std::string>(arguments, "page")) {
    return write_page({runs.begin(), runs.end()}, *file, given<int>(arguments, "limit").value_or(0), progress);
  }
  if (runs.size() == 2 || steps.size() == 2) return compare(runs, steps, given<int>(arguments, "probe"), view);
  const fs::path run = runs[0];
  const auto step = steps.empty() ? std::nullopt : std::optional(steps[0]);

  if (arguments.count("verify")) return verify(run);
  if (arguments.count("continue")) return write_on(model_of(run, step), arguments, write);
  if (arguments.count("causes")) {
    const Causes found =
        causes(model_of(run, step), run, given<int>(arguments, "limit").value_or(0), of_run(run, progress));
    return arguments.count("json") ? format_json(causes_json(found)) + "\n" : causes_view(found, view);
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
    dump = {model.step, {attend(*model.reader, model.vocabulary, example)}};
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
