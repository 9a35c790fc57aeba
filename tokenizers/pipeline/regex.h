#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heed::tokenizers {

/// Limits the processor time of all searches in a text of `bytes`, by this thread while the object lives: 2 s, and 5 us per
/// byte. Searches then throw Error. An object within the life of another one changes nothing.
class SearchTime {
 public:
  explicit SearchTime(std::size_t bytes);
  ~SearchTime();
  SearchTime(const SearchTime&) = delete;
  SearchTime& operator=(const SearchTime&) = delete;
  class Clock;

 private:
  std::unique_ptr<Clock> clock_;
};

/// A regular expression over UTF-8.
class Regex {
 public:
  enum class Syntax { oniguruma, pcre2 };
  struct Match {
    std::size_t begin, end;
  };

  /// Translates Oniguruma's syntax, which the `tokenizers` package reads. Throws Error that says at which byte
  /// `pattern` is wrong, or which construct of it is not supported.
  explicit Regex(const std::string& pattern, Syntax syntax = Syntax::oniguruma);
  /// Returns a regular expression that finds `text` itself.
  static Regex literal(std::string_view text);

  /// Returns all matches in valid UTF-8, from left to right, without overlap; none in an empty text, as in the
  /// `tokenizers` package. Throws Error when the search takes more steps, memory or SearchTime than the limit.
  std::vector<Match> matches(std::string_view text) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
  std::string pattern_;
};

/// Returns `pattern`, written for Oniguruma with its Ruby syntax, as PCRE2 reads it with UTF and UCP.
std::string from_oniguruma(const std::string& pattern);

}  // namespace heed::tokenizers
