#include "inspect/options.h"

#include "run/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace heed {
namespace {

cxxopts::Options options() {
  cxxopts::Options result("inspect",
                          "Shows what a run of train has learned: by default, where each watched sentence's\n"
                          "query looks, in every layer and head. RUN is a run directory, such as runs/toy,\n"
                          "one file of its attention directory, or a model. Two RUNs, or two --step, are\n"
                          "compared.\n");
  result.custom_help("RUN [RUN...] [OPTION...]").positional_help("").set_width(80);
  result.add_options()                                                                                //
      ("sentence", "Read this sentence with the saved model", cxxopts::value<std::string>(), "TEXT")  //
      ("query", "Its token to ask about; by default the last one of a kind that training asked about",
       cxxopts::value<std::string>(), "WORD")                                                                      //
      ("matrix", "All weights as heat maps")                                                                       //
      ("weights", "The learned W_Q, W_K, W_V and W_O: shapes, norms, heat maps")                                   //
      ("steps", "Every matrix from X to the output for --sentence, in one layer and head")                         //
      ("causes", "What cutting and replacing attention does to the answers to held-out sentences")                 //
      ("why-attends", "What makes a head look where it looks: its score as a sum over what wrote the two tokens")  //
      ("when", "When it became the cause: weight and effect at every dumped step, of a run with dump.weights")(
          "match", "With several RUNs, of other seeds: which heads do the same in each, and what is a seed's luck")(
          "induction", "By step, how each head looks at the token before, and at what followed the same token")(
          "card",
          "How well the model chooses among candidates, beside what needs no reading: RUN --card FILE..., or of\n"
          "the held-out sentences")                                                                               //
      ("limit", "How many of them to ask (default: as many as take up to a minute)", cxxopts::value<int>(), "N")  //
      ("page", "Write it all as one HTML file that opens offline in a browser; with RUN RUN, of both",
       cxxopts::value<std::string>(), "FILE")                                                        //
      ("json", "The dump, --causes, --why-attends, --when or --match as JSON; arrays count from 0")  //
      ("step",
       "The training step to look at (default: the last; of the model with dump.weights); given twice, both are "
       "compared",
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
       cxxopts::value<Decimal>(), "X")                                                                               //
      ("top-k", "Draw from the K likeliest tokens only", cxxopts::value<int>(), "K")                                 //
      ("top-p", "Draw from the likeliest tokens only whose probabilities sum to P", cxxopts::value<Decimal>(), "P")  //
      ("seed", "Of what is drawn (default: 1); the same seed, the same text", cxxopts::value<std::uint64_t>(), "N")  //
      ("stop", "End before this text; \\n is a line's end, or \\r\\n", cxxopts::value<std::string>(), "TEXT")        //
      ("verify", "Read every file of the run, and say of each whether it is whole")                                  //
      ("force", "Let --page, --svg, --csv and --npy replace a file of another kind")                                 //
      ("help", "Print this")("version", "Print the version")                                                         //
      ("run", "", cxxopts::value<std::vector<std::string>>());
  result.parse_positional({"run"});
  return result;
}

template <class... Args>
[[noreturn]] void misused(fmt::format_string<Args...> format, Args&&... args) {
  throw misuse("inspect", fmt::format(format, std::forward<Args>(args)...));
}

void check_continuation(const cxxopts::ParseResult& arguments) {
  const std::array options{"tokens", "temperature", "top-k", "top-p", "seed", "stop", "step"};
  for (const char* option : options) {
    if (option != std::string_view("step") && arguments.count(option) && !arguments.count("continue"))
      misused("--{} needs --continue", option);
  }
  if (!arguments.count("continue")) return;
  for (const auto& argument : arguments.arguments()) {
    if (argument.key() == "run" || argument.key() == "continue") continue;
    if (std::ranges::find(options, argument.key()) == options.end()) {
      misused("--continue writes a text; it goes without --{}", argument.key());
    }
  }
  if (arguments["run"].as<std::vector<std::string>>().size() > 1) misused("--continue is of one run");
  if (arguments.count("step") > 1) misused("--continue is of one --step");
  const auto number = [&](const char* name, double usual) { return given_number(arguments, name, usual); };
  const auto count = [&](const char* name, int usual) {
    return arguments.count(name) ? arguments[name].as<int>() : usual;
  };
  if (arguments.count("stop") && arguments["stop"].as<std::string>().empty()) misused("--stop must not be empty");
  if (count("tokens", 1) < 1) misused("--tokens must be at least 1");
  if (!(number("temperature", 1) >= 0)) misused("--temperature must be at least 0");
  if (count("top-k", 1) < 1) misused("--top-k must be at least 1");
  if (!(number("top-p", 1) > 0 && number("top-p", 1) <= 1)) misused("--top-p must be above 0 and at most 1");
}

void check(const cxxopts::ParseResult& arguments) {
  if (!arguments.count("run")) misused("expected a run directory");
  const auto& runs = arguments["run"].as<std::vector<std::string>>();
  const std::size_t steps = arguments.count("step");
  if (arguments.count("card")) {
    for (const auto& argument : arguments.arguments()) {
      if (argument.key() == "run" || argument.key() == "card" || argument.key() == "json") continue;
      misused("--card is of a run and sets of sentences; it goes without --{}", argument.key());
    }
    return;
  }
  if (runs.size() > 2 && !arguments.count("match")) {
    misused("expected one run directory, two to compare, or more with --match, got '{}' too", runs[2]);
  }
  if (steps > 2) misused("expected one --step, or two to compare, got {}", steps);
  const std::array views{"matrix", "weights", "steps", "causes", "why-attends", "when", "match", "induction"};
  const auto is_given = [&](const char* name) { return arguments.count(name) > 0; };
  if (std::count_if(views.begin(), views.end(), is_given) > 1) {
    misused("--{} are different views: choose one", fmt::join(views, ", --"));
  }
  for (const char* view : {"matrix", "weights", "steps", "induction"}) {
    if (is_given("json") && is_given(view))
      misused("--json prints the dump, --causes, --why-attends, --when or --match, not --{}", view);
  }
  check_continuation(arguments);
  if (is_given("limit") && std::ranges::none_of(std::array{"causes", "when", "match", "page"}, is_given)) {
    misused("--limit needs --causes, --when, --match or --page");
  }
  if (is_given("limit") && arguments["limit"].as<int>() < 1) misused("--limit must be at least 1");
  if (is_given("verify") && arguments.arguments().size() > runs.size() + 1)
    misused("--verify goes without other options");
  const std::array files{"page", "svg", "csv", "npy"};
  if (is_given("force") && std::none_of(files.begin(), files.end(), is_given)) {
    misused("--force needs --{}", fmt::join(files, ", --"));
  }
  if (is_given("page")) {
    for (const char* option : {"matrix", "weights", "steps", "causes", "why-attends", "when", "match", "json",
                               "sentence", "probe", "step", "layer", "head", "svg", "csv", "npy"}) {
      if (is_given(option)) misused("--page shows all of a run; it goes without --{}", option);
    }
    return;
  }
  if (is_given("match")) {
    if (runs.size() < 2) misused("--match needs two runs or more");
    for (const char* option : {"sentence", "probe", "step", "layer", "head", "svg", "csv", "npy"}) {
      if (is_given(option)) misused("--match is of all heads of each run; it goes without --{}", option);
    }
    return;
  }
  if (runs.size() == 2 || steps == 2) {
    for (const char* option : {"matrix", "weights", "steps", "causes", "why-attends", "when", "verify", "json",
                               "sentence", "svg", "csv", "npy"}) {
      if (is_given(option)) misused("two runs or steps are compared; --{} shows one", option);
    }
  }
  for (const char* file : {"svg", "csv", "npy"}) {
    for (const char* view : {"matrix", "weights", "steps", "causes", "why-attends", "when", "json"}) {
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
    for (const char* view : {"induction", "when"}) {
      if (is_given(view) && is_given(option)) misused("--{} is of all steps; it goes without --{}", view, option);
    }
  }
  if (is_given("query") && !is_given("sentence")) misused("--query needs --sentence");
  if (is_given("weights") && is_given("sentence")) misused("--weights shows the model, not a --sentence");
  if (is_given("json") && !is_given("why-attends") && (is_given("layer") || is_given("head"))) {
    misused("--json prints every layer and head");
  }
}

}  // namespace

cxxopts::ParseResult parse_options(int argc, const char* const* argv) {
  try {
    cxxopts::ParseResult arguments = options().parse(argc, argv);
    if (!arguments.count("help") && !arguments.count("version")) check(arguments);
    return arguments;
  } catch (const cxxopts::exceptions::exception& error) {
    misused("{}", command_line_error(argc, argv, error.what(), {"--temperature", "--top-p"}));
  }
}

std::string options_help() { return options().help(); }

}  // namespace heed
