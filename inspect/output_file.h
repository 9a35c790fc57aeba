#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// First bytes of each format that `inspect` writes.
constexpr std::string_view svg_beginning = "<svg ", csv_beginning = "sentence,layer,head,", npy_beginning = "\x93NUMPY",
                           pdf_beginning = "%PDF-", png_beginning = "\x89PNG", page_beginning = "<!doctype html>";

/// Throws Error unless `path` may be written. Directories and files of `runs` are always refused. An existing file that does
/// not begin with `beginning` requires `force`. Devices and FIFOs are written to, not replaced.
void check_output(const std::filesystem::path& path, std::string_view beginning,
                  const std::vector<std::filesystem::path>& runs, bool force);

/// Writes `bytes` and returns the text to print: `said` ("it.svg: 2048 bytes") for a regular file, "" for a device or FIFO,
/// and `bytes` for standard output.
std::string write_output(const std::filesystem::path& path, const std::string& bytes, const std::string& said);

}  // namespace heed
