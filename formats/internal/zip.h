#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed {

/// Returns the files of a ZIP archive (PKWARE APPNOTE 6.3), stored or deflated, by their names. Throws Error that begins with `source`
/// for a damaged archive, and for one whose files share compressed bytes or expand beyond what deflate can: those are made to fill
/// the memory.
std::vector<std::pair<std::string, std::string>> read_zip(std::string_view bytes, const std::string& source);

/// Returns an archive of these files, stored. Throws Error when it would have 4 GB or more.
std::string write_zip(const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace heed
