#include "tokenizers/pipeline/added_tokens.h"

#include "tokenizers/pipeline/unicode.h"

#include <algorithm>

namespace heed::tokenizers {
namespace {

constexpr std::size_t longest_content = 1000;  // bytes: a text takes time for each that may begin at each place

// The byte at which the code point before `end` begins.
std::size_t previous(std::string_view text, std::size_t end) {
  do --end;
  while ((static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U);
  return end;
}

std::int32_t code_point_at(std::string_view text, std::size_t at) { return next_code_point(text, at); }

bool is_within_word(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin > 0 && is_word(code_point_at(text, previous(text, begin)))) ||
         (end < text.size() && is_word(code_point_at(text, end)));
}

}  // namespace

AddedTokens::AddedTokens(const Part& file, const TokenTable& tokens, const Normalizer& normalizer) {
  if (!file.find("added_tokens")) return;
  const std::vector<Part> all = file.parts("added_tokens");
  for (const Part& part : all) {
    part.expect_keys({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    const std::int64_t id = part.count("id");
    AddedToken token{.id = static_cast<int>(id),
                     .content = part.text("content"),
                     .normalized = {},
                     .is_special = part.flag("special"),
                     .is_single_word = part.flag("single_word"),
                     .strips_left = part.flag("lstrip"),
                     .strips_right = part.flag("rstrip"),
                     .is_normalized = part.flag("normalized")};
    if (token.content.empty()) continue;
    if (token.content.size() > longest_content)
      part.wrong("'content' has {} bytes, more than {}", token.content.size(), longest_content);
    if (id >= id_limit(static_cast<std::size_t>(tokens.size()) + all.size()))
      part.wrong("id {} is far above the number of tokens", id);
    const int known = tokens.find(token.content);
    if (known >= 0 && known != id)
      part.wrong("token '{}' has the id {} here and {} in the vocabulary", excerpt(token.content), id, known);
    const std::string* name = tokens.name(token.id);
    if (name && *name != token.content)
      part.wrong("id {} of token '{}' is that of '{}' in the vocabulary", id, excerpt(token.content), excerpt(*name));
    if (const AddedToken* other = find(token.content); other && other->id != id) {
      part.wrong("token '{}' has two ids, {} and {}", excerpt(token.content), other->id, id);
    }
    token.normalized =
        token.is_normalized && normalizer ? normalizer(AlignedText::of(token.content)).bytes : token.content;
    if (token.normalized.empty()) {  // with it the `tokenizers` package divides texts into bytes, or fails
      part.wrong("the normalizer leaves nothing of token '{}'; set 'normalized' to false", excerpt(token.content));
    }
    const auto [entry, is_new] = by_id_.emplace(token.id, token);
    if (!is_new && entry->second.content != token.content) {
      part.wrong("tokens '{}' and '{}' have the same id {}", excerpt(entry->second.content), excerpt(token.content),
                 id);
    }
  }
  std::vector<std::pair<std::string_view, int>> raw, normalized;
  for (const auto& [id, token] : by_id_) {
    (token.is_normalized ? normalized : raw).emplace_back(token.normalized, id);
  }
  raw_ = Trie(std::move(raw));
  normalized_ = Trie(std::move(normalized));
}

const AddedToken* AddedTokens::find(int id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second;
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto found = std::ranges::find_if(by_id_, [&](const auto& entry) { return entry.second.content == content; });
  return found == by_id_.end() ? nullptr : &found->second;
}

std::vector<Piece> AddedTokens::pieces(std::string_view text, const Trie& trie) const {
  std::vector<Piece> result;
  std::size_t covered = 0;
  for (std::size_t at = 0; at < text.size();) {
    int id = -1;  // of the longest token that begins here
    std::size_t stop = at;
    std::uint32_t node = Trie::root;
    for (std::size_t i = at; i < text.size();) {
      node = trie.next(node, static_cast<unsigned char>(text[i++]));
      if (node == Trie::none) break;
      if (trie.value(node) < 0) continue;
      id = trie.value(node);
      stop = i;
    }
    if (id < 0) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = stop;
    at = stop;
    const AddedToken& token = by_id_.at(id);
    if (token.is_single_word && is_within_word(text, begin, end)) continue;
    if (token.strips_left) {
      while (begin > covered && is_white_space(code_point_at(text, previous(text, begin))))
        begin = previous(text, begin);
      begin = std::max(begin, covered);
    }
    if (token.strips_right) {
      for (std::size_t next = end; next < text.size() && is_white_space(next_code_point(text, next));) end = next;
    }
    if (covered < begin) result.push_back({covered, begin});
    if (begin < end) result.push_back({begin, end, id});
    covered = end;
  }
  if (covered < text.size()) result.push_back({covered, text.size()});
  return result;
}

Pieces AddedTokens::divide(std::string_view text, const Normalizer& normalizer) const {
  Pieces result;
  const auto append = [&](const AlignedText& from, const Piece& piece) {
    const std::size_t begin = result.text.bytes.size();
    result.text.append(from, piece.begin, piece.end);
    result.pieces.push_back({begin, result.text.bytes.size(), piece.id});
  };
  for (const Piece& raw : pieces(text, raw_)) {
    AlignedText part = AlignedText::of(text.substr(raw.begin, raw.end - raw.begin), raw.begin);
    if (raw.id >= 0) {
      append(part, {0, part.bytes.size(), raw.id});
      continue;
    }
    if (normalizer) part = normalizer(part);
    for (const Piece& piece : pieces(part.bytes, normalized_)) append(part, piece);
  }
  return result;
}

}  // namespace heed::tokenizers
