#include "inspect/commands/shared.h"
#include "views/induction_view.h"

namespace heed {
namespace {

// The snapshots of a run, in which its heads are scored step by step.
std::vector<Dump> snapshots_of(const std::filesystem::path& run) {
  std::vector<Dump> dumps;
  if (!std::filesystem::is_directory(run) || is_pretrained(run)) return dumps;
  for (const std::int64_t step : dump_steps(run)) dumps.push_back(read_dump(dump_path(run, step)));
  return dumps;
}

}  // namespace

const Command induction_command{
    .name = "induction",
    .summary = "Scores each head as previous-token and induction head",
    .example = "inspect induction runs/induction --layer 2",
    .shared = "layer head json",
    .answer = [](const Request& request) {
      const std::filesystem::path& run = request.runs[0];
      const Model model = model_of(run, {}, request.progress);
      const std::vector<Dump> dumps = snapshots_of(run);
      const std::vector<Metrics> metrics = dumps.empty() ? std::vector<Metrics>{} : read_metrics(run);
      if (!dumps.empty() && !reads_repeats(model)) {  // the sentences of its snapshots alone
        return request.has("json") ? json_line(induction_json(dumps, metrics, request.view))
                                   : induction_view(dumps, metrics, request.view);
      }
      const RepeatedScores repeated = repeated_scores(model, 1, of_run(run, request.progress));
      if (request.has("json")) {
        Json json = dumps.empty() ? Json::object() : induction_json(dumps, metrics, request.view);
        json["repeated"] = repeated_json(repeated, request.view);
        return json_line(json);
      }
      if (dumps.empty()) return repeated_view(repeated, request.view);
      return paragraph(repeated_verdict(repeated, request.view), request.view.terminal) +
             induction_view(dumps, metrics, request.view);
    }};

}  // namespace heed
