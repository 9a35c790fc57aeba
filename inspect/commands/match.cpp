#include "inspect/commands/shared.h"
#include "inspect/run_studies.h"

#include <limits>

namespace heed {

const Command match_command{.name = "match",
                            .words = "RUN RUN [RUN...]",
                            .fewest = 2,
                            .most = std::numeric_limits<std::size_t>::max(),
                            .summary = "Finds the heads that do the same in runs with different seeds",
                            .example = "inspect match runs/toy-seeds/seed-*",
                            .shared = "limit json",
                            .of_runs = true,
                            .is_shared = true,
                            .answer = [](const Request& request) {
                              const MatchedHeads matched = match_heads(request.runs, study_of(request));
                              return request.has("json") ? json_line(matched_heads_json(matched))
                                                         : matched_heads_view(matched, request.view);
                            }};

}  // namespace heed
