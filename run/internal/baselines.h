#pragma once
#include <heed/explain/studies/bag_of_words.h>

#include <filesystem>
#include <vector>

namespace heed {

/// RUN/baselines.safetensors: the baselines of a run's reports.
std::filesystem::path baselines_path(const std::filesystem::path& run);
void write_baselines(const std::filesystem::path& run, const std::vector<Example>& training,
                     const Vocabulary& vocabulary);
/// Throws Error where there is no such file, or where it holds something else.
Baselines read_baselines(const std::filesystem::path& run);

}  // namespace heed
