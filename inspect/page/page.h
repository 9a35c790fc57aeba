#pragma once
#include "inspect/page/page_run.h"

#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// Writes runs as one HTML file that works offline: it contains its data, style and script, and its Content-Security-Policy
/// blocks all requests. `language` is that of its texts, "en" or "zh"; "" takes the browser's. The reader can switch it. The sources are in
/// inspect/page/.
std::string page(const std::vector<PageRun>& runs, std::string_view language = "");

}  // namespace heed
