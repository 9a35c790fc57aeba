#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
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
constexpr std::int64_t longest_sequence = 25, shortest_sequence = 5;

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

  std::int64_t max_length() const { return length_; }
  // With copies of 2 tokens the one behind the first copy would be the token before.
  std::int64_t min_length() const { return std::max<std::int64_t>(3, length_ / 2); }
  // Returns the length of a copy, so that no distance between the copies is more frequent than the others.
  std::int64_t length_of(int number) const { return length_ - number % (length_ - min_length() + 1); }
  std::int64_t second(std::int64_t n) const { return std::ssize(before_) + n; }  // where the second copy begins

  Batch draw(std::int64_t n, Random random) {
    for (std::int64_t i = 0; i < n; ++i) {  // begins a shuffle
      const std::int64_t other = i + random.below(std::ssize(tokens_) - i);
      std::swap(tokens_[static_cast<std::size_t>(i)], tokens_[static_cast<std::size_t>(other)]);
    }
    std::vector<std::int32_t> read = before_;
    for (int copy = 0; copy < 2; ++copy) read.insert(read.end(), tokens_.begin(), tokens_.begin() + n);
    read.insert(read.end(), behind_.begin(), behind_.end());
    const auto T = static_cast<std::int32_t>(std::ssize(read)), first = static_cast<std::int32_t>(second(n));
    Batch asked{.tokens = Ids({1, T}, std::move(read)), .lengths = {T}, .query = Ids({1}, {T - 1})};
    if (model_.head().chooses_candidates()) asked.candidates = Ids({1, 1, 2}, {first, first + 1});
    return asked;
  }

 private:
  const Model& model_;
  std::vector<std::int32_t> tokens_, before_, behind_;
  std::int64_t room_ = 0, length_ = 0;
};

// Returns the share of the tokens of the second copy, from its second on, that the model predicts.
double share_predicted(const Model& model, const Ids& tokens, std::int64_t second, std::int64_t n) {
  const NoRecording unrecorded;
  const Ids predicted = argmax(model.logits({.tokens = tokens}), 2);
  double right = 0;
  for (std::int64_t t = second; t + 1 < second + n; ++t) right += predicted.at({0, t}) == tokens.at({0, t + 1});
  return right / static_cast<double>(n - 1);
}

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
  const auto layers = static_cast<std::size_t>(model.layers()), heads = static_cast<std::size_t>(model.heads());
  const int count = model.layers() * model.heads();
  std::vector<std::vector<double>> previous(layers * heads), induction(layers * heads);  // per head, by sequence
  std::vector<double> right;
  Passes passes("induction", repeated_sequences, progress);
  for (int number = 0; number < repeated_sequences; ++number) {
    passes.next();
    const std::int64_t n = sequences.length_of(number), first = sequences.second(n);
    const Batch sequence =
        sequences.draw(n, Random(seed).stream("induction").stream(static_cast<std::uint64_t>(number)));
    const Trace seen = trace(model, sequence);
    if (model.head().generates()) right.push_back(share_predicted(model, sequence.tokens, first, n));
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
  RepeatedScores result{.sequences = repeated_sequences,
                        .min_length = static_cast<int>(sequences.min_length()),
                        .max_length = static_cast<int>(sequences.max_length())};
  if (!right.empty()) result.right = induction_interval(right, 1);
  result.heads.resize(layers);
  for (std::size_t i = 0; i < layers * heads; ++i) {
    result.heads[i / heads].push_back(
        {induction_interval(previous[i], count), induction_interval(induction[i], count)});
  }
  return result;
}

}  // namespace heed
