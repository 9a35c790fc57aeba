#include "tokenizers/pipeline/model.h"
#include "tokenizers/pipeline/unicode.h"

#include <algorithm>
#include <array>
#include <queue>
#include <unordered_map>

namespace heed::tokenizers {
namespace {

// Byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909): characters, of which the pair that comes first in a list of
// merges becomes one token, until no pair is in the list.
class Bpe : public Model {
 public:
  Bpe(const Part& part, const TokenTable& tokens) : tokens_(tokens) {
    part.expect_keys({"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                      "byte_fallback", "ignore_merges", "vocab", "merges"});
    if (const LargeJson* dropout = part.find("dropout"); dropout && *dropout != 0) {
      part.wrong("dropout {} makes tokens random, which is not supported", shown(*dropout));
    }
    unknown_token_ = part.given_text("unk_token");
    unknown_ = unknown_token_ ? tokens.find(*unknown_token_) : -1;
    prefix_ = part.text("continuing_subword_prefix", "");
    suffix_ = part.text("end_of_word_suffix", "");
    fuses_unknown_ = part.flag("fuse_unk", false);
    ignores_merges_ = part.flag("ignore_merges", false);
    bytes_.fill(-1);
    if (part.flag("byte_fallback", false)) {
      for (std::size_t byte = 0; byte < 256; ++byte)
        bytes_[byte] = tokens.find(byte_name(static_cast<unsigned char>(byte)));
    }
    read_merges(part);
  }

  int unknown() const override { return unknown_; }

  void encode(std::string_view piece, std::vector<PieceToken>& tokens) const override {
    if (const int whole = ignores_merges_ ? tokens_.find(piece) : -1; whole >= 0) {
      tokens.push_back({whole, 0, piece.size()});
      return;
    }
    std::vector<Symbol> symbols = characters(piece);
    merge(symbols);
    for (const Symbol& symbol : symbols) {
      if (symbol.id >= 0) tokens.push_back({symbol.id, symbol.begin, symbol.end});
    }
  }

 private:
  struct Symbol {
    int id;  // -1: merged into the one before
    std::size_t begin, end;
    std::ptrdiff_t previous, next;  // indices; -1 at the ends
  };
  struct Merge {
    std::uint32_t rank;
    int id;  // of the merged token
  };
  struct Candidate {
    Merge merge;
    std::size_t left;  // index of the left symbol
  };
  struct IsLater {
    bool operator()(const Candidate& a, const Candidate& b) const {
      return a.merge.rank != b.merge.rank ? a.merge.rank > b.merge.rank : a.left > b.left;
    }
  };

  static std::uint64_t key(int left, int right) {
    return static_cast<std::uint64_t>(left) << 32U | static_cast<std::uint32_t>(right);
  }

  void read_merges(const Part& part) {
    const LargeJson& merges = part.array("merges");
    merges_.reserve(merges.size());
    std::uint32_t rank = 0;
    std::size_t line = 0;
    for (const LargeJson& entry : merges) {
      std::string left, right;
      if (entry.is_string()) {  // "LEFT RIGHT"
        const auto& text = entry.get_ref<const std::string&>();
        const std::size_t space = text.find(' ');
        if (!text.starts_with("#version") && (space == text.npos || text.find(' ', space + 1) != text.npos)) {
          part.wrong("merges[{}]: expected two tokens with a space between, got '{}'", line, excerpt(text));
        }
        ++line;
        if (text.starts_with("#version")) continue;
        left = text.substr(0, space);
        right = text.substr(space + 1);
      } else if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
        left = entry[0].get<std::string>();
        right = entry[1].get<std::string>();
        ++line;
      } else {
        part.wrong("merges[{}]: expected two tokens, got {}", line, shown(entry));
      }
      if (right.size() < prefix_.size())
        part.wrong("merges[{}]: expected '{}' to begin with '{}'", line - 1, excerpt(right), excerpt(prefix_));
      const auto id = [&](const std::string& token) {
        const int found = tokens_.find(token);
        if (found < 0) part.wrong("merges[{}]: token '{}' is not in the vocabulary", line - 1, excerpt(token));
        return found;
      };
      const int left_id = id(left), right_id = id(right);
      merges_.insert_or_assign(key(left_id, right_id), Merge{rank, id(left + right.substr(prefix_.size()))});
      ++rank;
    }
  }

  // The token of each character, of its bytes, or the unknown token.
  std::vector<Symbol> characters(std::string_view piece) const {
    std::vector<Symbol> symbols;
    const auto add = [&](int id, std::size_t begin, std::size_t end) {
      const std::ptrdiff_t index = std::ssize(symbols);
      if (index > 0) symbols.back().next = index;
      symbols.push_back({id, begin, end, index - 1, -1});
    };
    std::optional<PieceToken> pending;  // an unknown token, to which more characters may be added
    const auto flush = [&] {
      if (pending) add(pending->id, pending->begin, pending->end);
      pending.reset();
    };
    std::string name;
    each_code_point(piece, [&](std::int32_t, std::size_t begin, std::size_t end) {
      name.clear();
      if (begin > 0) name += prefix_;
      name += piece.substr(begin, end - begin);
      if (end == piece.size()) name += suffix_;
      if (const int id = tokens_.find(name); id >= 0) {
        flush();
        add(id, begin, end);
        return;
      }
      const auto has_token = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)] >= 0; };
      if (std::all_of(name.begin(), name.end(), has_token)) {
        for (const char byte : name) add(bytes_[static_cast<unsigned char>(byte)], begin, end);
        return;
      }
      if (!unknown_token_) return;  // left out, as the `tokenizers` package does
      if (unknown_ < 0) {
        fail("'{}' is not in the vocabulary, and the unknown token '{}' is missing there, too",
             excerpt(piece.substr(begin, end - begin)), excerpt(*unknown_token_));
      }
      if (pending && fuses_unknown_) {
        pending->end = end;
      } else {
        flush();
        pending = PieceToken{unknown_, begin, end};
      }
    });
    flush();
    return symbols;
  }

  const Merge* find(const Symbol& left, const Symbol& right) const {
    const auto found = merges_.find(key(left.id, right.id));
    return found == merges_.end() ? nullptr : &found->second;
  }

  void merge(std::vector<Symbol>& symbols) const {
    std::vector<Candidate> first;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      if (const Merge* merge = find(symbols[i], symbols[i + 1])) first.push_back({*merge, i});
    }
    std::priority_queue<Candidate, std::vector<Candidate>, IsLater> queue(IsLater(), std::move(first));
    const auto push = [&](std::ptrdiff_t left, std::ptrdiff_t right) {
      if (left < 0 || right < 0) return;
      const auto l = static_cast<std::size_t>(left);
      if (const Merge* merge = find(symbols[l], symbols[static_cast<std::size_t>(right)])) queue.push({*merge, l});
    };
    while (!queue.empty()) {
      const Candidate best = queue.top();
      queue.pop();
      Symbol& left = symbols[best.left];
      if (left.id < 0 || left.next < 0) continue;
      Symbol& right = symbols[static_cast<std::size_t>(left.next)];
      const Merge* merge = find(left, right);
      if (!merge || merge->id != best.merge.id) continue;  // one of the two has changed since
      left.id = best.merge.id;
      left.end = right.end;
      left.next = right.next;
      right.id = -1;
      const auto at = static_cast<std::ptrdiff_t>(best.left);
      if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = at;
      push(left.previous, at);
      push(at, left.next);
    }
  }

  const TokenTable& tokens_;
  std::unordered_map<std::uint64_t, Merge> merges_;
  std::optional<std::string> unknown_token_;
  int unknown_ = -1;
  std::string prefix_, suffix_;
  bool fuses_unknown_ = false, ignores_merges_ = false;
  std::array<int, 256> bytes_{};  // tokens of bytes, for characters without a token
};

}  // namespace

std::unique_ptr<Model> make_bpe(const Part& part, const TokenTable& tokens) {
  return std::make_unique<Bpe>(part, tokens);
}

}  // namespace heed::tokenizers
