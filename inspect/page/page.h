#pragma once
#include "inspect/page/page_run.h"

#include <string>
#include <vector>

namespace heed {

/// Writes runs as one HTML file that works offline: it contains its data, style and script, and its Content-Security-Policy
/// blocks all requests. The sources are in inspect/page/.
std::string page(const std::vector<PageRun>& runs);

}  // namespace heed
