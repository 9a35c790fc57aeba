#include <heed/autograd/random.h>
#include <heed/data/corpus.h>
#include <heed/explain/studies/induction_scores.h>
#include <heed/explain/trace.h>
#include <heed/models/reading.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace heed {
namespace {

constexpr double no_score = std::numeric_limits<double>::quiet_NaN();

// Returns the token after the latest earlier occurrence of `token`; -1 for its first occurrence.
int follower_of_same(const std::vector<std::string>& tokens, int token) {
  for (int earlier = token - 1; earlier >= 0; --earlier) {
    if (tokens[static_cast<std::size_t>(earlier)] == tokens[static_cast<std::size_t>(token)]) return earlier + 1;
  }
  return -1;
}

HeadScores scores_of(const std::vector<SentenceAttention>& sentences, std::size_t layer, std::int64_t head) {
  HeadScores sums;
  int tokens = 0, repeated = 0;
  for (const SentenceAttention& sentence : sentences) {
    const Tensor& weights = sentence.layers.at(layer);  // (heads, T, T)
    for (int t = 1; t < std::ssize(sentence.tokens); ++t) {
      sums.previous_token += weights.at({head, t, t - 1});
      ++tokens;
      const int follower = follower_of_same(sentence.tokens, t);
      if (follower < 0) continue;
      sums.induction += weights.at({head, t, follower});
      ++repeated;
    }
  }
  return {tokens ? sums.previous_token / tokens : no_score, repeated ? sums.induction / repeated : no_score};
}

}  // namespace

int repeated_tokens(const std::vector<SentenceAttention>& sentences) {
  int count = 0;
  for (const SentenceAttention& sentence : sentences) {
    for (int t = 1; t < std::ssize(sentence.tokens); ++t) count += follower_of_same(sentence.tokens, t) >= 0;
  }
  return count;
}

std::vector<std::vector<HeadScores>> head_scores(const std::vector<SentenceAttention>& sentences) {
  std::vector<std::vector<HeadScores>> scores;
  if (sentences.empty()) fail("head_scores: expected sentences, got none");
  for (std::size_t layer = 0; layer < sentences[0].layers.size(); ++layer) {
    scores.emplace_back();
    for (std::int64_t head = 0; head < sentences[0].layers[layer].size(0); ++head) {
      scores.back().push_back(scores_of(sentences, layer, head));
    }
  }
  return scores;
}

namespace {

constexpr int repeated_sequences = 50;
constexpr std::int64_t longest_sequence = 25, shortest_sequence = 4;

// Returns the ids of the tokens of texts: those that are no marks.
std::vector<std::int32_t> ordinary_tokens(const Model& model) {
  const auto& pretrained = model.tokenizer.pretrained();
  const TransformerConfig& config = model.transformer().config;
  const auto is_mark = [&](std::int32_t id) {
    if (pretrained) return id >= pretrained->size() || pretrained->is_special(id);
    const bool is_padding =
        !config.causal && config.position_offset > 0 && id == config.position_offset - 1;  // RoBERTa
    return is_padding || id == model.vocabulary.unknown() || std::ranges::count(model.end_tokens, id) > 0 ||
           model.vocabulary.word(id) == mask_token;
  };
  std::vector<std::int32_t> tokens;
  for (std::int32_t id = 0; id < config.vocabulary; ++id) {
    if (!is_mark(id)) tokens.push_back(id);
  }
  return tokens;
}

// Sequences of different tokens, twice in a row between the marks of the model's template.
class ReadTwice {
 public:
  explicit ReadTwice(const Model& model) : model_(model), tokens_(ordinary_tokens(model)) {
    if (const auto& pretrained = model.tokenizer.pretrained()) {
      before_.assign(pretrained->before().begin(), pretrained->before().end());
      behind_.assign(pretrained->behind().begin(), pretrained->behind().end());
    }
    room_ = model.transformer().config.max_length - std::ssize(before_) - std::ssize(behind_);
    length_ = std::min({longest_sequence, room_ / 2, std::int64_t{std::ssize(tokens_)}});
  }

  bool is_possible() const { return length_ >= shortest_sequence; }
  void check() const {
    if (is_possible()) return;
    fail("induction needs a model that reads {} different tokens twice; this one knows {} and reads {} at once",
         shortest_sequence, std::ssize(tokens_), room_);
  }

  std::int64_t length() const { return length_; }
  std::int64_t second() const { return std::ssize(before_) + length_; }  // where the second copy begins

  Batch draw(Random random) {
    for (std::int64_t i = 0; i < length_; ++i) {  // begins a shuffle
      const std::int64_t other = i + random.below(std::ssize(tokens_) - i);
      std::swap(tokens_[static_cast<std::size_t>(i)], tokens_[static_cast<std::size_t>(other)]);
    }
    std::vector<std::int32_t> read = before_;
    for (int copy = 0; copy < 2; ++copy) read.insert(read.end(), tokens_.begin(), tokens_.begin() + length_);
    read.insert(read.end(), behind_.begin(), behind_.end());
    const auto T = static_cast<std::int32_t>(std::ssize(read)), first = static_cast<std::int32_t>(second());
    Batch asked{.tokens = Ids({1, T}, std::move(read)), .lengths = {T}, .query = Ids({1}, {T - 1})};
    if (model_.head().chooses_candidates()) asked.candidates = Ids({1, 1, 2}, {first, first + 1});
    return asked;
  }

 private:
  const Model& model_;
  std::vector<std::int32_t> tokens_, before_, behind_;
  std::int64_t room_ = 0, length_ = 0;
};

}  // namespace

bool RepeatedScores::is_induction(int layer, int head) const {
  return heads.at(static_cast<std::size_t>(layer)).at(static_cast<std::size_t>(head)).induction.low > least;
}

bool RepeatedScores::is_undecided(int layer, int head) const {
  const Interval& score = heads.at(static_cast<std::size_t>(layer)).at(static_cast<std::size_t>(head)).induction;
  return score.low <= least && score.high >= least;
}

Interval induction_interval(const std::vector<double>& scores, int heads) {
  return interval_of(scores, {}, {0, 1, 0}, 0.05 / heads);
}

bool reads_repeats(const Model& model) { return ReadTwice(model).is_possible(); }

RepeatedScores repeated_scores(const Model& model, std::uint64_t seed, const OnProgress& progress) {
  ReadTwice sequences(model);
  sequences.check();
  const std::int64_t n = sequences.length(), first = sequences.second();
  const auto layers = static_cast<std::size_t>(model.layers()), heads = static_cast<std::size_t>(model.heads());
  const int count = model.layers() * model.heads();
  std::vector<std::vector<double>> previous(layers * heads), induction(layers * heads);  // per head, by sequence
  Passes passes("induction", repeated_sequences, progress);
  for (int number = 0; number < repeated_sequences; ++number) {
    passes.next();
    const Trace seen =
        trace(model, sequences.draw(Random(seed).stream("induction").stream(static_cast<std::uint64_t>(number))));
    for (std::size_t i = 0; i < layers * heads; ++i) {
      const Tensor& weights = seen.layers[i / heads].weights;  // (1, heads, T, T)
      const auto head = static_cast<std::int64_t>(i % heads);
      double to_previous = 0, to_follower = 0;
      for (std::int64_t t = first; t < first + n; ++t) {
        to_previous += weights.at({0, head, t, t - 1}) / static_cast<double>(n);
        to_follower += weights.at({0, head, t, t - n + 1}) / static_cast<double>(n);
      }
      previous[i].push_back(to_previous);
      induction[i].push_back(to_follower);
    }
  }
  RepeatedScores result{.sequences = repeated_sequences, .length = static_cast<int>(n)};
  result.heads.resize(layers);
  for (std::size_t i = 0; i < layers * heads; ++i) {
    result.heads[i / heads].push_back(
        {induction_interval(previous[i], count), induction_interval(induction[i], count)});
  }
  return result;
}

}  // namespace heed
