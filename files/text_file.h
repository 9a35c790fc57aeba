#pragma once
#include <heed/autograd/error.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// The origin of a sentence. All values compare equal, so that equal sentences from different files are equal.
struct SourceLine {
  std::string text{};   ///< for messages: "mine.jsonl:3"; "" for generated sentences
  std::string query{};  ///< the word asked about as the source has it, where a tokenizer cuts it into several tokens
  /// Returns true.
  bool operator==(const SourceLine&) const { return true; }
};

/// The lines of a UTF-8 text file, and the mistakes that its reader finds. They are reported together: the first 20,
/// and the number of others.
///
///     TextFile file("mine.txt");
///     for (std::size_t i = 0; i < file.lines().size(); ++i) {
///       if (file.lines()[i].empty()) file.mistake(i + 1, "expected a sentence, got an empty line");
///     }
///     file.finish();   // throws Error: "mine.txt:3: expected a sentence, got an empty line"
class TextFile {
 public:
  /// Throws Error when the file cannot be read, is not UTF-8, or holds a NUL byte.
  explicit TextFile(const std::filesystem::path& path);
  TextFile(std::string name, std::string text);  ///< the same with this text
  TextFile(const TextFile&) = delete;            ///< lines() point into the file's text

  /// Returns the path for messages.
  const std::string& name() const { return name_; }
  /// Returns "name:line"; lines count from 1.
  SourceLine at(std::size_t line) const { return {fmt::format("{}:{}", name_, line), ""}; }
  const std::vector<std::string_view>& lines() const { return lines_; }  ///< without line ends (LF or CR LF)

  /// Adds "name:line: message", made visible(); lines count from 1. Cut long texts with excerpt(). At the 1000th
  /// mistake it throws Error that lists them, because the file is probably of another kind.
  template <class... Args>
  void mistake(std::size_t line, fmt::format_string<Args...> format, Args&&... args) {
    note(line, fmt::format(format, std::forward<Args>(args)...));
  }
  int mistakes() const { return mistakes_; }  ///< their number so far
  void finish() const;                        ///< throws Error that lists the mistakes, if any

 private:
  void note(std::size_t line, std::string_view message);

  static constexpr int max_listed = 20, max_counted = 1000;
  std::string name_, text_, listing_;
  std::vector<std::string_view> lines_;
  int mistakes_ = 0;
};

}  // namespace heed
