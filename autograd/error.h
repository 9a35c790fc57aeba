#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace heed {

/// The exception type of this library. Its text names the expected value, the value found, and a remedy.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thrown when the system has too little memory for a tensor.
struct OutOfMemoryError : Error {
  using Error::Error;
};

/// Prefixes errors of this thread with the layer's name while it is open. Each layer opens one. Scopes nest; the innermost
/// scope with a name applies.
///
///     Tensor MyLayer::operator()(const Tensor& x) const {
///       const LayerScope scope(name);
///       return matmul(x, weight);       // "decoder.3.out: matmul: inner dimensions must match ..."
///     }
class LayerScope {
 public:
  /// Keeps a reference to `name`.
  [[nodiscard]] explicit LayerScope(const std::string& name) : outer_(innermost_) {
    if (!name.empty()) innermost_ = &name;
  }
  LayerScope(const std::string&&) = delete;
  ~LayerScope() { innermost_ = outer_; }
  LayerScope(const LayerScope&) = delete;
  LayerScope& operator=(const LayerScope&) = delete;

  /// Returns the name of the layer that this thread runs, or "".
  static const std::string& layer();

 private:
  const std::string* outer_;
  static inline constinit thread_local const std::string* innermost_ = nullptr;
};

/// Returns `text`, prefixed by the name of the layer that this thread runs: "decoder.3.out: text".
std::string in_layer(std::string text);

/// Throws Error with the formatted text, prefixed by in_layer().
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(in_layer(fmt::format(format, std::forward<Args>(args)...)));
}

/// Returns up to `most` of `items`, separated by `between`, and the number of others: "a, b, ... and 4123 more".
std::string listed(const auto& items, std::string_view between = ", ", std::size_t most = 20) {
  std::string text;
  std::size_t count = 0;
  for (const auto& item : items) {
    if (++count > most) continue;
    text += fmt::format("{}{}", count > 1 ? between : "", item);
  }
  return count > most ? fmt::format("{}{}... and {} more", text, between, count - most) : text;
}

/// Returns the count with the noun: "1 token", "2 tokens".
std::string counted(std::int64_t count, std::string_view noun);

/// Returns " (did you mean 'heads'?)" with the candidate that differs from `word` only in case, ends with a dot and `word`, or has the
/// smallest edit distance to it. Returns "" when no candidate is similar, and for words of more than 200 bytes.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace heed
