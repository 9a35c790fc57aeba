#include "tokenizers/pipeline/model.h"
#include "tokenizers/pipeline/trie.h"
#include "tokenizers/pipeline/unicode.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace heed::tokenizers {
namespace {

constexpr double unknown_penalty = 10;       // below the smallest score
constexpr std::size_t longest_token = 1000;  // bytes: a text takes time for each token that may begin at each place

// Returns a score as the `tokenizers` package reads it, up to one unit in the last place from the nearest double: as the whole
// number of its digits, times a power of ten or divided by one. Near-ties between tokens depend on it.
double as_package_reads(double score) {
  std::string digits = fmt::format("{}", std::abs(score));  // the fewest that identify it, as programs write it
  int exponent = 0;
  if (const std::size_t e = digits.find('e'); e != digits.npos) {
    exponent = std::stoi(digits.substr(e + 1));
    digits.resize(e);
  }
  if (const std::size_t point = digits.find('.'); point != digits.npos) {
    digits.erase(point, 1);
    exponent -= static_cast<int>(digits.size() - point);
  }
  const double power = std::strtod(fmt::format("1e{}", std::abs(exponent)).c_str(), nullptr);
  if (std::isinf(power)) return score;
  const auto number = static_cast<double>(std::stoull(digits));
  return std::copysign(exponent < 0 ? number / power : number * power, score);
}

// The tokens with the largest sum of scores (Kudo 2018, arXiv:1804.10959), by Viterbi's algorithm.
class Unigram : public Model {
 public:
  Unigram(const Part& part, const TokenTable& tokens)
      : tokens_(tokens), spells_bytes_(part.flag("byte_fallback", false)) {
    part.expect_keys({"unk_id", "vocab", "byte_fallback"});
    if (const auto id = part.given_count("unk_id")) {
      if (*id >= tokens.size()) part.wrong("unk_id {} is not below the number of tokens, {}", *id, tokens.size());
      unknown_ = static_cast<int>(*id);
    }
    std::vector<std::pair<std::string_view, int>> entries;
    double smallest = std::numeric_limits<double>::infinity();
    for (const LargeJson& entry : part.array("vocab")) {
      const auto& token = entry[0].get_ref<const std::string&>();
      if (token.size() > longest_token)
        part.wrong("token '{}' has {} bytes, more than {}", excerpt(token), token.size(), longest_token);
      scores_.push_back(as_package_reads(entry[1].get<double>()));
      smallest = std::min(smallest, scores_.back());
      if (!token.empty()) entries.emplace_back(token, tokens.find(token));
    }
    trie_ = Trie(std::move(entries));
    unknown_score_ = smallest - unknown_penalty;
  }

  int unknown() const override { return unknown_; }

  void encode(std::string_view piece, std::vector<PieceToken>& tokens) const override {
    const std::size_t first = tokens.size();
    const std::vector<Step> best = best_steps(piece);
    std::size_t unknown_end = 0;  // of characters without a token, which become one
    const auto flush = [&](std::size_t begin) {
      if (unknown_end > 0) append_unknown(piece, begin, unknown_end, tokens);
      unknown_end = 0;
    };
    std::size_t end = piece.size();
    while (end > 0) {
      const Step& step = best[end];
      if (step.id == unknown_) {
        if (unknown_end == 0) unknown_end = end;
      } else {
        flush(end);
        tokens.push_back({step.id, step.begin, end});
      }
      end = step.begin;
    }
    flush(0);
    std::reverse(tokens.begin() + static_cast<std::ptrdiff_t>(first), tokens.end());
  }

 private:
  struct Step {
    double score = 0;
    std::size_t begin = std::string_view::npos;
    int id = -1;
  };

  // The best last token of each beginning of the piece.
  std::vector<Step> best_steps(std::string_view piece) const {
    std::vector<Step> best(piece.size() + 1);
    each_code_point(piece, [&](std::int32_t, std::size_t begin, std::size_t next) {
      const double score_here = best[begin].score;
      const auto is_better = [&](std::size_t end, double score) {
        return best[end].begin == piece.npos || score > best[end].score;
      };
      const auto offer = [&](std::size_t end, double score, int id) {
        if (is_better(end, score)) best[end] = {score, begin, id};
      };
      bool has_single = false;
      std::uint32_t node = Trie::root;
      for (std::size_t at = begin; at < piece.size();) {
        node = trie_.next(node, static_cast<unsigned char>(piece[at++]));
        if (node == Trie::none) break;
        const int id = trie_.value(node);
        if (id < 0) continue;
        offer(at, scores_[static_cast<std::size_t>(id)] + score_here, id);
        if (at == next) has_single = true;
      }
      if (has_single || !is_better(next, unknown_score_ + score_here)) return;
      if (unknown_ < 0)
        fail("'{}' is not in the vocabulary, which has no unknown token", excerpt(piece.substr(begin, next - begin)));
      offer(next, unknown_score_ + score_here, unknown_);
    });
    return best;
  }

  // Appends in reverse, as encode() does.
  void append_unknown(std::string_view piece, std::size_t begin, std::size_t end,
                      std::vector<PieceToken>& tokens) const {
    const std::string_view text = piece.substr(begin, end - begin);
    if (const int id = tokens_.find(text); id >= 0) {
      tokens.push_back({id, begin, end});
      return;
    }
    std::vector<PieceToken> bytes;
    for (const char byte : text) {
      const int id = spells_bytes_ ? tokens_.find(byte_name(static_cast<unsigned char>(byte))) : -1;
      if (id < 0) break;
      bytes.push_back({id, begin, end});
    }
    if (bytes.size() == text.size()) {
      tokens.insert(tokens.end(), bytes.rbegin(), bytes.rend());
    } else {
      tokens.push_back({unknown_, begin, end});
    }
  }

  const TokenTable& tokens_;
  bool spells_bytes_;
  std::vector<double> scores_;  // by id
  double unknown_score_ = 0;
  int unknown_ = -1;
  Trie trie_;
};

}  // namespace

std::unique_ptr<Model> make_unigram(const Part& part, const TokenTable& tokens) {
  return std::make_unique<Unigram>(part, tokens);
}

}  // namespace heed::tokenizers
