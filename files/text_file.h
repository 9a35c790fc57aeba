#pragma once
#include <heed/autograd/error.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// Where something was read, "mine.jsonl:3", for messages; "" where it was made. All are equal: a sentence stays the same
/// wherever it is read.
struct SourceLine {
  std::string text{};
  /// Returns true.
  bool operator==(const SourceLine&) const { return true; }
};

/// A UTF-8 text file by lines, and the mistakes that its reader finds, so that they are reported at once: the first 20, and
/// how many more there are.
class TextFile {
 public:
  /// Throws Error when the file cannot be read, is not UTF-8, or holds a NUL byte.
  explicit TextFile(const std::filesystem::path& path);
  TextFile(const TextFile&) = delete;  // lines() point into it

  // Its path, as in messages.
  const std::string& name() const { return name_; }
  /// Returns "name:line"; lines count from 1.
  SourceLine at(std::size_t line) const { return {fmt::format("{}:{}", name_, line)}; }
  const std::vector<std::string_view>& lines() const { return lines_; }  // without LF or CR LF

  /// Notes "name:line: message", the message visible(); lines count from 1. Long texts are to be cut by excerpt(). Throws
  /// Error that lists the mistakes at the 1000th: the file is of another kind.
  template <class... Args>
  void mistake(std::size_t line, fmt::format_string<Args...> format, Args&&... args) {
    note(line, fmt::format(format, std::forward<Args>(args)...));
  }
  int mistakes() const { return mistakes_; }
  void finish() const;  // Error that lists the mistakes, if there are any

 private:
  void note(std::size_t line, std::string_view message);

  static constexpr int most_listed = 20, most_counted = 1000;
  std::string name_, text_, listing_;
  std::vector<std::string_view> lines_;
  int mistakes_ = 0;
};

}  // namespace heed
