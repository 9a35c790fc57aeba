#include "inspect/commands/shared.h"
#include "inspect/run_studies.h"

namespace heed {

const Command causes_command{.name = "causes",
                             .summary = "Measures what cutting and replacing attention does to the answers",
                             .example = "inspect causes runs/toy --limit 40",
                             .shared = "limit step layer head json",
                             .of_runs = true,
                             .is_shared = true,
                             .answer = [](const Request& request) {
                               check_json_of_all_heads(request);
                               const std::filesystem::path& run = request.runs[0];
                               const SavedModel model = model_of(run, step_of(request), request.progress);
                               check_has_answers(*model.network);
                               const auto chosen = [](const char* what, std::optional<int> number, int count) {
                                 return number ? chosen_range(what, number, count).begin : -1;
                               };
                               const Heads among{chosen("layer", request.view.layer, model.layers()),
                                                 chosen("head", request.view.head, model.heads())};
                               const Causes found = causes(model, run, study_of(request), among);
                               return request.has("json") ? json_line(causes_json(found))
                                                          : causes_view(found, request.view);
                             }};

}  // namespace heed
