#pragma once
#include "inspect/page/page_run.h"

#include <filesystem>
#include <vector>

namespace heed {

/// Reads the numbers of metrics.jsonl in each directory, for a page of their curves: {"curves": [{"name", "steps", "values", "count"}],
/// "steps": [[0, 10, ...], ...]}, where "steps" of a curve is an index, and null stands for a number that is not finite. A curve of more
/// points than the page can hold keeps the smallest and the largest of each stretch of steps; "count" is the number it had. Throws
/// Error for a directory without numbers.
std::vector<PageRun> page_curves(const std::vector<std::filesystem::path>& logs);

}  // namespace heed
