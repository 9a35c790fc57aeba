#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed::tokenizers {

/// SentencePiece's table of replacements: a double-array trie of texts, each with its replacement.
class Charsmap {
 public:
  /// Throws Error when `blob` is cut short, or when its replacements are not UTF-8.
  explicit Charsmap(std::string blob);

  /// Returns the replacement of the shortest known prefix of `text`. The `tokenizers` package replaces all of `text` by it.
  std::optional<std::string_view> find(std::string_view text) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string replacements_;  // each ends with a NUL byte
};

/// Returns the bytes that `text` holds in base64. Throws Error when it is not base64.
std::string from_base64(std::string_view text);

}  // namespace heed::tokenizers
