#pragma once
#include <fmt/format.h>

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace heed {

/// The exception type of this library. Its text says what was expected, what came, and what to do.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// While one is open, errors of this thread begin with the layer's name. Each layer opens one. Scopes nest; the innermost
/// that has a name counts.
///
///   Tensor MyLayer::operator()(const Tensor& x) const {
///     const LayerScope scope(name);
///     return matmul(x, weight);       // "decoder.3.out: matmul: inner dimensions must match ..."
///   }
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

/// Returns `text` behind the name of the layer that this thread runs: "decoder.3.out: text".
std::string in_layer(std::string text);

/// Throws Error with the formatted text, in_layer().
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(in_layer(fmt::format(format, std::forward<Args>(args)...)));
}

// " (did you mean 'lr'?)" for the candidate that is `word` but for its case, or has the smallest edit distance to it; ""
// when none is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace heed
