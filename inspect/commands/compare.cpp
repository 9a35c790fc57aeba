#include "inspect/commands/shared.h"
#include "views/written_tokens.h"

#include <algorithm>

namespace heed {
namespace {

Side side_of(const Request& request, const std::filesystem::path& run, const std::optional<std::int64_t>& step) {
  Reading read = reading_of(run, step);
  if (read.model) (request.has("json") ? write_out_candidates : write_out)(read.dump, read.model->tokenizer);
  Side side{.run = run.string(), .name = {}, .dump = std::move(read.dump), .metrics = std::nullopt};
  const bool by_step = request.runs.size() == 1;
  side.name = by_step ? fmt::format("step {}", side.dump.step) : side.run;
  for (const Metrics& line : read_metrics(run)) {
    if (line.step == side.dump.step) side.metrics = line;
  }
  return side;
}

// Keeps only the watched sentence that --probe selects in `a`, in both snapshots.
void choose_probe_of_both(const Request& request, Side& a, Side& b) {
  choose_probe(request, a.dump);
  const SentenceAttention& kept = a.dump.sentences[0];
  std::erase_if(b.dump.sentences,
                [&](const SentenceAttention& s) { return s.tokens != kept.tokens || s.query != kept.query; });
  if (b.dump.sentences.empty()) {
    fail("{}: did not watch sentence {} of {}", b.run, *request.given<int>("probe"), a.run);
  }
}

}  // namespace

const Command compare_command{
    .name = "compare",
    .words = "RUN [RUN]",
    .most = 2,
    .summary = "Compares two runs, or two steps of one run",
    .example = "inspect compare runs/toy --step 0 --step 300",
    .shared = "probe layer head json",
    .declare =
        [](cxxopts::OptionAdder& options) {
          options("step", "The training step; given twice, one for each side (default: the last)",
                  cxxopts::value<std::vector<std::int64_t>>(), "N");
        },
    .of_runs = true,
    .answer =
        [](const Request& request) {
          const auto steps = request.given<std::vector<std::int64_t>>("step").value_or(std::vector<std::int64_t>{});
          const bool by_step = request.runs.size() == 1;
          if (by_step ? steps.size() != 2 : steps.size() > 2) {
            misused("expected two runs, or one run and --step twice, got --step {}",
                    steps.size() == 1 ? "once" : fmt::format("{} times", steps.size()));
          }
          const auto step = [&](std::size_t side) {
            return steps.empty() ? std::nullopt : std::optional(steps[std::min(side, steps.size() - 1)]);
          };
          Side a = side_of(request, request.runs.front(), step(0)), b = side_of(request, request.runs.back(), step(1));
          if (request.has("probe")) choose_probe_of_both(request, a, b);
          return request.has("json") ? json_line(compare_json(a, b, request.view)) : compare_view(a, b, request.view);
        }};

}  // namespace heed
