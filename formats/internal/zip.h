#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed {

/// Receives the name of a file in an archive, its first 64 KiB or all of a smaller one, and its size.
using ZipCheck = std::function<void(const std::string& name, std::string_view beginning, std::uint64_t size)>;

/// Returns the files of a ZIP archive (PKWARE APPNOTE 6.3), stored or deflated, by their names. Calls `check` for each file, before it
/// takes memory for more than its first 64 KiB. Throws Error that begins with `source` for a damaged archive, for one with files that its
/// directory does not have, and for one that is made to fill the memory: its files share compressed bytes, expand beyond what deflate can,
/// or are together larger than this machine's memory.
std::vector<std::pair<std::string, std::string>> read_zip(std::string_view bytes, const std::string& source,
                                                          const ZipCheck& check);

/// Returns an archive of these files, stored. Throws Error when it would have 4 GB or more.
std::string write_zip(const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace heed
