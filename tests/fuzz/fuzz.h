#pragma once
#include <heed/autograd/error.h>
#include <heed/files/utf8.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace heed::fuzz {

// The targets: each reads an arbitrary input, and demands that it is rejected with an Error or has certain properties.
void babi(std::string_view input);
void dump(std::string_view input);
void gguf(std::string_view input);
void hugging_face(std::string_view input);
void jsonl(std::string_view input);
void model(std::string_view input);
void numpy(std::string_view input);
void safetensors(std::string_view input);
void settings(std::string_view input);
void tokenizer(std::string_view input);
void utf8(std::string_view text);
void vocabulary(std::string_view input);
void written(std::string_view input);
void yaml(std::string_view input);

// Throws what no target catches: libFuzzer then reports the input, and a test fails.
inline void demand(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("does not hold: ") + what);
}

// Returns whether f() accepts its input. f() rejects it with an Error whose text is UTF-8 of limited length. Any other
// exception is a defect.
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

}  // namespace heed::fuzz
