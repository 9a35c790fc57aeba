#include "inspect/commands/shared.h"
#include "inspect/run_studies.h"
#include "run/internal/baselines.h"

#include <heed/explain/studies/report.h>
#include <heed/formats/saved_model.h>

namespace heed {

const Command report_command{.name = "report",
                             .words = "RUN [FILE...]",
                             .summary = "Compares the answers to a data set with baselines",
                             .example = "inspect report runs/places test.jsonl",
                             .shared = "json",
                             .of_runs = true,
                             .instead = "Give it some: inspect report MODEL FILE",
                             .is_shared = true,
                             .answer = [](const Request& request) {
                               const std::filesystem::path& run = request.runs[0];
                               const Model model = model_of(run, {});
                               check_chooses(model);
                               const bool is_of_run = !is_pretrained(run);
                               if (is_of_run && !std::filesystem::is_directory(run)) {
                                 fail("{}: is a single file; inspect report needs the run directory", run.string());
                               }
                               const Baselines baselines = is_of_run ? read_baselines(run) : Baselines();
                               Json all = Json::array();
                               std::string text;
                               const auto add = [&](const std::string& set, const std::string& file) {
                                 const Report one = report(model, baselines, set, report_sentences(model, run, file),
                                                           request.processes);
                                 text += (text.empty() ? "" : "\n") + report_view(one, request.view.terminal);
                                 all.push_back(report_json(one));
                               };
                               for (const std::string& file : request.files) add(file, file);
                               if (request.files.empty()) add("held-out sentences", "");
                               return request.has("json") ? json_line(all) : text;
                             }};

}  // namespace heed
