#include "inspect/commands/shared.h"
#include "inspect/run_studies.h"

#include <limits>

namespace heed {

const Command match_command{
    .name = "match",
    .words = "RUN RUN [RUN...]",
    .fewest = 2,
    .most = std::numeric_limits<std::size_t>::max(),
    .summary = "Finds the heads that do the same in runs with different seeds",
    .example = "inspect match runs/toy-seeds/seed-*",
    .shared = "limit json",
    .declare =
        [](cxxopts::OptionAdder& options) {
          options("test",
                  "Ask the sentences of this file (JSONL), on which no run was trained (default: "
                  "those that the runs held out)",
                  cxxopts::value<std::string>(), "FILE");
        },
    .of_runs = true,
    .instead =
        "Heads are matched between runs of train that differ in the seed; inspect circuit MODEL FILE.jsonl shows "
        "which heads of one model matter for pairs of texts",
    .is_shared = true,
    .faster = "--limit N asks fewer",
    .answer =
        [](const Request& request) {
          check_different(request.runs);
          const MatchedHeads matched =
              match_heads(request.runs, study_of(request), request.given<std::string>("test").value_or(""));
          return request.has("json") ? json_line(matched_heads_json(matched))
                                     : matched_heads_view(matched, request.view);
        }};

}  // namespace heed
