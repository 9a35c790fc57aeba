#pragma once
#include "tests/message.h"

#include <heed/data/task.h>

#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace heed::test {

// A file that is removed with this object.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text)
      : folder_(std::filesystem::temp_directory_path() / fmt::format("heed-{}-{}", ::getpid(), counter_++)) {
    std::filesystem::create_directory(folder_);
    std::ofstream(folder_ / name, std::ios::binary) << text;
    path_ = (folder_ / name).string();
  }
  TemporaryFile(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove_all(folder_); }
  const std::string& path() const { return path_; }

 private:
  inline static int counter_ = 0;
  std::filesystem::path folder_;
  std::string path_;
};

inline std::string text(const Example& example) { return fmt::format("{}", fmt::join(example.tokens, " ")); }

}  // namespace heed::test
