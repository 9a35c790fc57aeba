#include "inspect/commands/shared.h"
#include "inspect/serve/served_page.h"
#include "run/program.h"

#include <heed/models/reading.h>

#include <csignal>

namespace heed {
namespace {

constexpr const char* first_sentence = "The animal didn't cross the street because it was too tired.";

// Returns the page of a run, or of one sentence if it is asked for or the model has no run.
PageRun served_run(const Request& request, const SavedModel& model) {
  const std::filesystem::path& run = request.runs[0];
  if (!request.has("sentence") && !dump_steps(run).empty()) {
    return page_run(run, limit_of(request), most_page_bytes, of_run(run, request.progress));
  }
  const bool asks_last = std::holds_alternative<LanguageModel>(*model.network);
  const std::string text = request.given<std::string>("sentence").value_or(first_sentence);
  const Example example =
      request.has("sentence") ? example_of(request, model) : question(model, text, asks_last ? "" : "it");
  return page_sentence(last_part(run), model, attention_of(model, example, Tokens::pieces), example, text);
}

}  // namespace

const Command serve_command{
    .name = "serve",
    .summary = "Shows a model of any size in a browser, and answers as you type",
    .example = "inspect serve all-MiniLM-L6-v2",
    .shared = "sentence query limit",
    .declare =
        [](cxxopts::OptionAdder& options) {
          options("port", "The port on 127.0.0.1 (default: any free one)", cxxopts::value<int>(), "N");
        },
    .answer = [](const Request& request) -> std::string {
      const int port = request.given<int>("port").value_or(0);
      if (port < 0 || port > 65'535) misused("--port must be from 0 to 65535");
      if (request.has("query") && !request.has("sentence")) misused("--query needs --sentence");
      LocalServer server(port);
      const SavedModel model = model_of(request.runs[0], {}, request.progress);
      const ServedPage page(served_run(request, model), model);
      request.write(fmt::format("http://127.0.0.1:{}{}\nOpen this address in a browser. Ctrl+C ends the program.\n",
                                server.port(), page.path()));
      handle_signal(SIGINT, SIG_DFL);  // a text that is written stops after a token; a server ends at once
      server.run(page);
      return "";
    }};

}  // namespace heed
