#include "inspect/commands/shared.h"
#include "inspect/serve/served_page.h"
#include "run/internal/program.h"

#include <heed/models/reading.h>

#include <csignal>

namespace heed {
namespace {

constexpr const char* first_sentence = "The animal didn't cross the street because it was too tired.";
constexpr const char* masked_sentence = "The animal didn't cross the street because [MASK] was too tired.";

// A text to begin with, as the model reads it and as a user would type it; "": the joined tokens.
struct First {
  Example example;
  std::string text;
};

// Returns the first text when none is given: the first watched one of the run in which a model's file lies, or a usual sentence.
First first_of(const std::filesystem::path& path, const Model& model) {
  const std::filesystem::path run = path.parent_path();
  if (std::filesystem::is_regular_file(path) && !reads_pieces(model) && !dump_steps(run).empty()) {
    return {question(last_dump(run).sentences.at(0)), ""};
  }
  const bool is_masked = model.head().fills_masks() && !model.tokenizer.pretrained();
  const std::string text = is_masked ? masked_sentence : first_sentence;
  try {
    const Example example = question(model, text, is_masked || model.head().generates() ? "" : "it");
    batch_of(model, example);
    return {example, text};
  } catch (const Error& error) {
    fail("{}: give a text that the model reads with --sentence; it cannot read the usual one: {}", path.string(),
         error.what());
  }
}

// Returns the page of a run, or of one sentence if it is asked for or the model has no run.
PageRun served_run(const Request& request, const Model& model) {
  const std::filesystem::path& run = request.runs[0];
  if (!request.has("sentence") && std::filesystem::is_directory(run) && !dump_steps(run).empty()) {
    return page_run(run, limit_of(request), max_page_bytes, of_run(run, request.progress));
  }
  const First first = request.has("sentence")
                          ? First{example_of(request, model), *request.given<std::string>("sentence")}
                          : first_of(run, model);
  return page_sentence(last_part(run), model, attention_of(model, first.example, Tokens::pieces), first.example,
                       first.text);
}

}  // namespace

const Command serve_command{
    .name = "serve",
    .summary = "Shows a model of any size in a browser, and answers as you type",
    .example = "inspect serve all-MiniLM-L6-v2",
    .shared = "sentence query limit language",
    .declare =
        [](cxxopts::OptionAdder& options) {
          options("port", "The port on 127.0.0.1 (default: any free one)", cxxopts::value<int>(), "N");
        },
    .faster = "--limit N asks fewer",
    .answer = [](const Request& request) -> std::string {
      const int port = request.given<int>("port").value_or(0);
      if (port < 0 || port > 65'535) misused("--port must be from 0 to 65535");
      if (request.has("query") && !request.has("sentence")) misused("--query needs --sentence");
      const std::string language = language_of(request);
      LocalServer server(port);
      const Model model = model_of(request.runs[0], {}, request.progress);
      const ServedPage page(served_run(request, model), model, language);
      request.write(fmt::format("http://127.0.0.1:{}{}\nOpen this address in a browser. Ctrl+C ends the program.\n",
                                server.port(), page.path()));
      handle_signal(SIGINT, SIG_DFL);  // a text that is written stops after a token; a server ends at once
      server.run(page);
      return "";
    }};

}  // namespace heed
