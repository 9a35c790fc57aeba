#pragma once
#include <heed/autograd/error.h>
#include <heed/files/utf8.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace heed::fuzz {

// Ends the process, which libFuzzer then reports with its input.
inline void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// Returns whether f() accepts its input. f() rejects it with an Error whose text is UTF-8 of limited length. Any other
// exception ends the process.
template <class F>
bool accepts(F f) {
  try {
    f();
    return true;
  } catch (const Error& error) {
    const std::string text = error.what();
    demand(!text.empty() && text.size() < (1 << 20), "an Error has a text of limited length");
    return false;
  }
}

// A file in memory, for functions that read a path.
class MemoryFile {
 public:
  MemoryFile() : number_(::memfd_create("fuzz", 0)) {}
  ~MemoryFile() { ::close(number_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::filesystem::path path(std::string_view content) const {
    demand(::ftruncate(number_, 0) == 0, "the file can be emptied");
    demand(::pwrite(number_, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size()),
           "the file can be written");
    return "/proc/self/fd/" + std::to_string(number_);
  }

 private:
  int number_;
};

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace heed::fuzz
