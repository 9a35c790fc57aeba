#pragma once
#include <heed/files/file.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace heed {

// Returns the texts of lines.bin: each has its length in front.
inline std::vector<std::string> golden_lines() {
  const std::string bytes = read_file("tests/golden/tokenizers/lines.bin");
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint32_t size = 0;
    std::memcpy(&size, bytes.data() + at, sizeof size);
    lines.push_back(bytes.substr(at + sizeof size, size));
    at += sizeof size + size;
  }
  return lines;
}

}  // namespace heed
