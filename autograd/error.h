#pragma once
#include <fmt/format.h>

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace heed {

// The one exception of this library. Its text says what was expected, what came, and what to do.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws Error with the formatted text.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

// " (did you mean 'lr'?)" for the candidate that is `word` but for its case, or has the smallest edit distance to it; ""
// when none is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace heed
