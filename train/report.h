#pragma once
#include "inspect/views/terminal.h"
#include "run/run_directory.h"
#include "train/experiment.h"

#include <filesystem>
#include <string>

namespace heed {

// The first lines: version, kernels and threads, model, data. With `run` where it is written.
std::string opening(const Experiment& experiment, const std::filesystem::path& run, const Terminal& terminal);

// How many tokens a step learns from; 0 where it learns from questions.
double tokens_a_step(const Experiment& experiment);

// Where a resumed run goes on, and with what: "train.steps 600 (was 300)".
std::string resumption(std::int64_t step, const Config& config, const std::vector<std::string>& changes,
                       const Terminal& terminal);

// What --dry-run prints: the resolved configuration and the size of what would run.
std::string dry_run(const Experiment& experiment);

// The last lines: what the query of each probe attends to, and the figures, trained beside untrained.
std::string closing(const Experiment& experiment, const RunDirectory& run, const Terminal& terminal);

}  // namespace heed
