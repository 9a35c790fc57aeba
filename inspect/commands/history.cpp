#include "inspect/commands/shared.h"
#include "inspect/run_studies.h"

namespace heed {

const Command history_command{.name = "history",
                              .summary = "Shows at which step the attention became the cause of the answers",
                              .example = "inspect history runs/kept",
                              .shared = "limit layer head json",
                              .of_runs = true,
                              .instead =
                                  "It has the weights of one step, and inspect causes MODEL FILE.jsonl measures "
                                  "what its answers to pairs of texts depend on",
                              .is_shared = true,
                              .faster = "--limit N asks fewer",
                              .answer = [](const Request& request) {
                                check_json_of_all_heads(request);
                                const std::filesystem::path& run = request.runs[0];
                                const CauseHistory history = cause_history(run, study_of(request));
                                return request.has("json") ? json_line(history_json(history))
                                                           : history_view(history, request.view);
                              }};

}  // namespace heed
