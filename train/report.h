#pragma once
#include "run/internal/run_directory.h"
#include "train/experiment.h"
#include "views/terminal.h"

#include <filesystem>
#include <string>

namespace heed {

/// Returns the first lines: version, kernels and threads, model, data, and the run's directory.
std::string opening(const Experiment& experiment, const std::filesystem::path& run, const Terminal& terminal);

/// Returns "39,744".
std::string grouped(std::int64_t number);

/// Returns "1 layer" or "1,000 sentences".
std::string plural(std::int64_t count, const std::string& noun);

/// Returns how many tokens a step learns from; 0 for a model that learns from questions.
double tokens_a_step(const Experiment& experiment);

/// Returns the step from which a resumed run continues, and the changed keys: "train.steps 600 (was 300)".
std::string resumption(std::int64_t step, const Config& config, const std::vector<std::string>& changes,
                       const Terminal& terminal);

/// Returns the output of --dry-run: the size of the model, its memory, the data and the run as comments, then the resolved
/// configuration.
std::string dry_run(const Experiment& experiment);

/// Returns the last lines: the tokens that the query of each watched sentence attends to, and the figures before and
/// after training. A language model adds a sample of its text, and a model of the induction task names its two heads.
std::string closing(const Experiment& experiment, const RunDirectory& run, const Terminal& terminal);

}  // namespace heed
