#include "inspect/card/card.h"
#include "inspect/commands/shared.h"

namespace heed {

const Command report_command{.name = "report",
                             .words = "RUN [FILE...]",
                             .summary = "Sets the answers to a data set beside baselines",
                             .example = "inspect report runs/places test.jsonl",
                             .shared = "json",
                             .answer = [](const Request& request) {
                               const std::filesystem::path& run = request.runs[0];
                               const SavedModel model = model_of(run, {});
                               check_chooses(model);
                               if (!std::filesystem::is_directory(run)) {
                                 fail("{}: is a single file; inspect report needs the run directory", run.string());
                               }
                               const Baselines baselines = Baselines::read(run);
                               Json all = Json::array();
                               std::string text;
                               const auto add = [&](const std::string& set, const std::string& file) {
                                 const Card one = card(model, baselines, set, card_sentences(model, run, file));
                                 text += (text.empty() ? "" : "\n") + card_view(one, request.view.terminal);
                                 all.push_back(card_json(one));
                               };
                               for (const std::string& file : request.files) add(file, file);
                               if (request.files.empty()) add("held-out sentences", "");
                               return request.has("json") ? json_line(all) : text;
                             }};

}  // namespace heed
