#include "inspect/page/page.h"

#include "inspect/commands/shared.h"
#include "inspect/output_file.h"
#include "inspect/page/page_curves.h"

#include <algorithm>

namespace heed {

const Command page_command{
    .name = "page",
    .words = "RUN [RUN...]",
    .most = 8,
    .summary = "Writes runs as one HTML file that opens offline in a browser",
    .example = "inspect page runs/toy --out toy.html",
    .shared = "sentence query limit language force",
    .declare =
        [](cxxopts::OptionAdder& options) {
          options("out", "The file to write", cxxopts::value<std::string>(), "FILE");
        },
    .of_runs = true,
    .faster = "--limit N asks fewer",
    .answer =
        [](const Request& request) {
          const auto file = request.given<std::string>("out");
          if (!file) misused("expected --out FILE");
          const int limit = limit_of(request);
          const std::string language = language_of(request);
          check_output(*file, page_beginning, request.runs, request.has("force"));
          std::vector<PageRun> contents;
          std::string missing;
          if (request.has("sentence")) {
            if (request.runs.size() > 1) misused("--sentence needs exactly one run");
            const Model model = model_of(request.runs[0], {}, request.progress);
            const Example example = example_of(request, model);
            contents.push_back(page_sentence(last_part(request.runs[0]), model,
                                             attention_of(model, example, Tokens::words), example,
                                             *request.given<std::string>("sentence")));
          } else if (request.has("query")) {
            misused("--query needs --sentence");
          }
          std::vector<std::filesystem::path> rest = request.has("sentence") ? decltype(request.runs)() : request.runs;
          if (std::ranges::any_of(rest, has_numbers_alone)) {
            contents = page_curves(rest);
            rest.clear();
          }
          if (rest.size() > 2) misused("expected up to two runs, or the directories of a Log, got {}", rest.size());
          for (const std::filesystem::path& run : rest) {
            contents.push_back(page_run(run, limit, max_page_bytes, of_run(run, request.progress),
                                        page_bytes_with_models / request.runs.size()));
            const Json& description = contents.back().description;
            if (description.contains("causes_missing")) {
              missing += paragraph(description["causes_missing"].get<std::string>(), request.view.terminal);
            }
          }
          const std::string html = page(contents, language);
          return write_output(*file, html,
                              fmt::format("{}: {:.1f} MB; open it in a browser\n{}", *file,
                                          static_cast<double>(html.size()) / 1e6, missing));
        }};

}  // namespace heed
