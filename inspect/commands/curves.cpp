#include "inspect/commands/shared.h"
#include "inspect/output_file.h"
#include "views/curves_view.h"

namespace heed {

const Command curves_command{
    .name = "curves",
    .summary = "Draws the numbers of metrics.jsonl, whatever the run trains",
    .example = "inspect curves runs/toy --only loss",
    .shared = "json force",
    .declare =
        [](cxxopts::OptionAdder& options) {
          const auto text = [] { return cxxopts::value<std::string>(); };
          options("only", "Only names that contain this text", text(), "TEXT")  //
              ("svg", "Draw the curves, those of gradient/NAME and the like together", text(), "FILE");
        },
    .answer =
        [](const Request& request) {
          const std::vector<Curve> curves = curves_of(request.runs[0], request.given<std::string>("only").value_or(""));
          const auto svg = request.given<std::string>("svg");
          if (svg) check_output(*svg, svg_beginning, request.runs, request.has("force"));
          std::string text = request.has("json") ? json_line(curves_json(curves)) : curves_view(curves, request.view);
          if (svg) {
            const std::string picture = curves_svg(curves, request.runs[0].string());
            text += write_output(*svg, picture,
                                 request.has("json") ? "" : fmt::format("{}: {} bytes\n", *svg, picture.size()));
          }
          return text;
        }};

}  // namespace heed
