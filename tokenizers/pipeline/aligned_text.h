#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heed::tokenizers {

/// Bytes of the original text that a byte of a changed text stands for.
struct Origin {
  std::uint32_t begin, end;
  bool is_first;  // whether the `tokenizers` package gives the byte the offset 0, as it does at the beginning alone
};

/// A text that normalizers and pre-tokenizers change, with the origin of each byte.
struct AlignedText {
  std::string bytes;
  std::vector<Origin> origins;   // one per byte
  bool begins_original = false;  // whether it stands for the beginning of the original, as a normalizer's argument

  /// Returns `text` as it is; its first byte is byte `at` of the original.
  static AlignedText of(std::string_view text, std::size_t at = 0);
  AlignedText slice(std::size_t begin, std::size_t end) const;
  /// Throws Error when the text then has more than 16 MiB and 100 times the bytes of the original up to `origin`.
  void append(std::string_view text, Origin origin);
  void append(const AlignedText& text, std::size_t begin, std::size_t end);
  /// Returns the bytes of the original that a range, not empty, stands for.
  Origin origin_of(std::size_t begin, std::size_t end) const {
    return {origins[begin].begin, origins[end - 1].end, origins[begin].is_first};
  }
};

/// A part of a changed text: an added token, or text for the model.
struct Piece {
  std::size_t begin, end;
  int id = -1;  // of an added token
};
struct Pieces {
  AlignedText text;
  std::vector<Piece> pieces;
};

}  // namespace heed::tokenizers
