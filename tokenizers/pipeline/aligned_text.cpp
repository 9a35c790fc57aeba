#include "tokenizers/pipeline/aligned_text.h"

#include "tokenizers/pipeline/unicode.h"

#include <heed/autograd/error.h>

namespace heed::tokenizers {

AlignedText AlignedText::of(std::string_view text, std::size_t at) {
  AlignedText result{std::string(text), {}, at == 0};
  result.origins.reserve(text.size());
  each_code_point(text, [&](std::int32_t, std::size_t begin, std::size_t end) {
    const Origin origin{static_cast<std::uint32_t>(at + begin), static_cast<std::uint32_t>(at + end), at + begin == 0};
    result.origins.insert(result.origins.end(), end - begin, origin);
  });
  return result;
}

AlignedText AlignedText::slice(std::size_t begin, std::size_t end) const {
  AlignedText result;
  result.append(*this, begin, end);
  return result;
}

void AlignedText::append(std::string_view text, Origin origin) {
  constexpr std::size_t always_allowed = 1 << 24, max_growth = 100;  // a character becomes at most 18 by NFKC
  bytes += text;
  if (bytes.size() > always_allowed && bytes.size() / max_growth > origin.end) {
    fail("the tokenizer makes more than {} bytes of the first {} of a text", always_allowed, origin.end);
  }
  origins.insert(origins.end(), text.size(), origin);
}

void AlignedText::append(const AlignedText& text, std::size_t begin, std::size_t end) {
  bytes.append(text.bytes, begin, end - begin);
  const auto first = text.origins.begin();
  origins.insert(origins.end(), first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end));
}

}  // namespace heed::tokenizers
