#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

// What a file of one of the formats that inspect writes begins with.
constexpr std::string_view svg_beginning = "<svg ", csv_beginning = "sentence,layer,head,", npy_beginning = "\x93NUMPY",
                           page_beginning = "<!doctype html>";

// Error unless `path` may be written: a directory and the files of `runs` never; an existing file that does not begin with
// `beginning` only with `force`. What is no regular file (a device, a FIFO) is written to, not replaced.
void check_output(const std::filesystem::path& path, std::string_view beginning,
                  const std::vector<std::filesystem::path>& runs, bool force);

// Writes, and returns what is to be printed: "it.svg: 2048 bytes", for what is no regular file nothing, and for standard
// output `bytes`.
std::string write_output(const std::filesystem::path& path, const std::string& bytes, const std::string& said);

}  // namespace heed
