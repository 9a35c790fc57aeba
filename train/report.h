#pragma once
#include "inspect/views/terminal.h"
#include "run/run_directory.h"
#include "train/experiment.h"

#include <filesystem>
#include <string>

namespace heed {

/// Returns the first lines: version, kernels and threads, model, data, and the run's directory.
std::string opening(const Experiment& experiment, const std::filesystem::path& run, const Terminal& terminal);

/// Returns how many tokens a step learns from; 0 for a model that learns from questions.
double tokens_a_step(const Experiment& experiment);

/// Returns the step from which a resumed run continues, and the changed keys: "train.steps 600 (was 300)".
std::string resumption(std::int64_t step, const Config& config, const std::vector<std::string>& changes,
                       const Terminal& terminal);

/// Returns the output of --dry-run: the resolved configuration and the size of the model and the run.
std::string dry_run(const Experiment& experiment);

/// Returns the last lines: the tokens that the query of each watched sentence attends to, and the figures before and
/// after training.
std::string closing(const Experiment& experiment, const RunDirectory& run, const Terminal& terminal);

}  // namespace heed
