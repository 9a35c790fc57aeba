#include "inspect/commands/shared.h"
#include "views/curves_view.h"

namespace heed {

const Command curves_command{
    .name = "curves",
    .summary = "Draws the numbers of metrics.jsonl, whatever the run trains",
    .example = "inspect curves runs/toy --only loss",
    .shared = "json",
    .declare =
        [](cxxopts::OptionAdder& options) {
          options("only", "Only names that contain this text", cxxopts::value<std::string>());
        },
    .answer =
        [](const Request& request) {
          const std::vector<Curve> curves = curves_of(request.runs[0], request.given<std::string>("only").value_or(""));
          return request.has("json") ? json_line(curves_json(curves)) : curves_view(curves, request.view);
        }};

}  // namespace heed
