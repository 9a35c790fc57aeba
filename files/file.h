#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace heed {

// The file's bytes. Error with the path and the system's reason.
std::string read_file(const std::filesystem::path& path);

// Replaces `path` whole or not at all: written aside, synced, renamed, directory synced. Error with the path and the
// system's reason; then `path` is as it was and nothing is left beside it.
void write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace heed
