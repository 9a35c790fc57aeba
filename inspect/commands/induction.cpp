#include "inspect/commands/shared.h"
#include "inspect/views/induction_view.h"

namespace heed {

const Command induction_command{.name = "induction",
                                .summary = "Scores each head as previous-token and induction head, by step",
                                .example = "inspect induction runs/induction --layer 2",
                                .shared = "layer head json",
                                .of_runs = true,
                                .answer = [](const Request& request) {
                                  const std::filesystem::path& run = request.runs[0];
                                  std::vector<Dump> dumps;
                                  for (const std::int64_t step : dump_steps(run))
                                    dumps.push_back(read_dump(dump_path(run, step)));
                                  if (dumps.empty()) dumps.push_back(last_dump(run));  // throws an error that says so
                                  const std::vector<Metrics> metrics = read_metrics(run);
                                  return request.has("json") ? json_line(induction_json(dumps, metrics, request.view))
                                                             : induction_view(dumps, metrics, request.view);
                                }};

}  // namespace heed
