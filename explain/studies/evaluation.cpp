#include <heed/autograd/ops.h>
#include <heed/data/corpus.h>
#include <heed/explain/evaluation.h>
#include <heed/explain/studies/evaluation.h>
#include <heed/explain/studies/held_out.h>
#include <heed/files/utf8.h>
#include <heed/models/reading.h>
#include <heed/tokenizers/unknown_hint.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>

namespace heed {
namespace {

constexpr double unknown_figure = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t min_blocks = 10, max_blocks = 100;

// Adds the numbers of the tokens of a text. Reads whole lines at a time, since the tokens of a long text take much memory.
TokenNumbers numbers_of(const Model& model, std::string_view text) {
  constexpr std::size_t piece = 1 << 20, max_named = 20;
  TokenNumbers numbers;
  std::set<std::string> unknown;
  std::string before;
  const auto add = [&](std::string_view token) {
    const std::string word(token);
    if (model.vocabulary.contains(word) || model.vocabulary.unknown()) {
      numbers.add(model.vocabulary[word]);
    } else {
      // each hint searches the whole vocabulary
      const std::string hint = unknown.size() < max_named ? unknown_hint({before, word}, 1, model.vocabulary) : "";
      unknown.insert(fmt::format("'{}'{}", excerpt(word, 20), hint));
    }
    before = word;
  };
  while (!text.empty()) {
    const std::size_t line_end = text.size() <= piece ? text.npos : text.find('\n', piece);
    const std::string_view lines = text.substr(0, line_end == text.npos ? line_end : line_end + 1);
    if (const auto& pretrained = model.tokenizer.pretrained()) {
      for (const EncodedToken& token : pretrained->encode(lines, false)) numbers.add(token.id);
    } else {
      model.tokenizer.each(lines, add);
    }
    text.remove_prefix(lines.size());
  }
  if (unknown.empty()) return numbers;
  const std::vector<std::string> named(unknown.begin(), unknown.end());
  fail(
      "the model knows {} {}, but not these of the text: {}. Models with data.tokens: bytes or subwords know every "
      "text",
      model.vocabulary.size(), name_of(model.tokenizer.split()), listed(named, ", ", max_named));
}

Corpus corpus_of(const Model& model, std::string_view text, int context) {
  const TransformerConfig& config = model.transformer().config;
  Corpus corpus;
  corpus.context = context > 0 ? context : std::min(config.max_length, 1024);
  if (corpus.context > config.max_length) {
    fail("expected a context of at most {} tokens, which the model reads, got {}", config.max_length, context);
  }
  if (const auto& pretrained = model.tokenizer.pretrained()) {
    corpus.before = pretrained->before();
    corpus.behind = pretrained->behind();
  }
  if (model.head().fills_masks()) {
    const auto& pretrained = model.tokenizer.pretrained();
    if (pretrained && !pretrained->special().mask) fail("the model's tokenizer.json has no mask token");
    corpus.mask = pretrained ? *pretrained->special().mask : model.vocabulary[mask_token];
    corpus.replacements = pretrained ? static_cast<std::int32_t>(pretrained->size()) : corpus.mask;
  }
  corpus.held_out = numbers_of(model, text);
  corpus.held_out_bytes = std::ssize(text);
  return corpus;
}

// The losses of predicted tokens, and whether each was the most probable.
struct Predictions {
  std::vector<double> losses, right;

  // logits (N, vocabulary), labels (N)
  void add(const Tensor& logits, const Ids& labels) {
    const Tensor rows = contiguous(logits.to(DType::float32));
    const std::vector<double> totals = logsumexp(rows, {1}).to_vector();
    const Ids guesses = argmax(rows);
    for (std::int64_t i = 0; i < rows.size(0); ++i) {
      if (labels[i] < 0) continue;
      losses.push_back(totals[static_cast<std::size_t>(i)] - rows.at({i, labels[i]}));
      right.push_back(guesses[i] == labels[i]);
    }
  }
};

// The mean of losses, of which none is below 0.
Interval loss_of(const std::vector<double>& losses, const std::vector<int>& groups) {
  Interval loss = mean_of(losses, groups);
  if (loss.low < 0) loss.low = 0;
  return loss;
}

}  // namespace

// P(|T| < t) is a finite sum in theta = atan(t / sqrt(degrees)) (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4).
double student_t(int degrees, double error) {
  const auto within = [&](double theta) {
    const double cosine = std::cos(theta);
    const bool is_odd = degrees % 2 == 1;
    double term = is_odd ? cosine : 1, sum = degrees == 1 ? 0 : term;
    for (int i = is_odd ? 3 : 2; i < degrees; i += 2) sum += term *= cosine * cosine * (i - 1) / i;
    return is_odd ? (theta + std::sin(theta) * sum) * 2 / std::numbers::pi : std::sin(theta) * sum;
  };
  double low = 0, high = std::numbers::pi / 2;
  for (int i = 0; i < 100; ++i) (within((low + high) / 2) < 1 - error ? low : high) = (low + high) / 2;
  return std::tan(low) * std::sqrt(degrees);
}

Interval share_of_answers(const std::vector<double>& right, const std::vector<int>& groups) {
  return interval_of(right, groups, share_scale);
}

Interval mean_of(const std::vector<double>& values, const std::vector<int>& groups) {
  struct Sums {
    double sum = 0, count = 0;
  };
  std::map<int, Sums> found;
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Sums& group = found[groups.at(i)];
    group.sum += values[i];
    group.count += 1;
    sum += values[i];
  }
  if (values.empty()) return {unknown_figure, unknown_figure, unknown_figure};
  const double mean = sum / static_cast<double>(values.size()), n = static_cast<double>(found.size());
  if (std::ssize(found) < min_blocks) return {mean, unknown_figure, unknown_figure};
  double squares = 0;
  for (const auto& [number, group] : found) squares += std::pow(group.sum - mean * group.count, 2);
  const double error =
      student_t(static_cast<int>(n) - 1) * std::sqrt(n / (n - 1) * squares) / static_cast<double>(values.size());
  return {mean, mean - error, mean + error};
}

TextEvaluation evaluate_text(const Model& model, std::string_view text, int context, const OnProgress& progress) {
  check_tokenizer(model);
  if (!model.head().has_token_logits()) {
    fail("the model {}; only one that predicts tokens, such as GPT-2 or BERT, is evaluated on a text",
         model.head().purpose());
  }
  const NoRecording unrecorded;
  const Corpus corpus = corpus_of(model, text, context);
  TextEvaluation result{.tokens = corpus.held_out.size(), .bytes = std::ssize(text), .context = corpus.context};
  result.is_masked = corpus.mask >= 0;
  result.windows = held_out_windows(corpus);
  const std::int64_t B = windows_at_once(corpus.context, model.transformer().config.vocabulary);
  Predictions predictions;
  Passes passes("evaluating", static_cast<double>((result.windows + B - 1) / B), progress);
  for (std::int64_t first = 0; first < result.windows; first += B) {
    passes.next();
    const Batch part = held_out_windows(corpus, first, std::min(result.windows, first + B));
    const Tensor logits = model.logits(part);  // (B, T, vocabulary)
    predictions.add(reshape(logits, {-1, logits.size(2)}), part.targets);
  }
  const std::int64_t count = std::ssize(predictions.losses);
  if (count == 0) {
    fail("the text has {}, of which none is predicted; expected more", counted(result.tokens, "token"));
  }
  double sum = 0;
  for (const double loss : predictions.losses) sum += loss;
  if (!std::isfinite(sum)) fail("the model computes a loss that is not finite, {}", sum);
  // Blocks of one window or less: neighbouring tokens depend on each other, distant ones hardly.
  const std::int64_t blocks = std::clamp<std::int64_t>(count / 100, min_blocks, max_blocks);
  std::vector<int> block_of;
  for (std::int64_t i = 0; i < count; ++i) block_of.push_back(static_cast<int>(i * blocks / count));
  result.predictions = count;
  result.loss = loss_of(predictions.losses, block_of);
  result.accuracy = share_of_answers(predictions.right, block_of);
  result.bits_per_byte =
      result.is_masked ? unknown_figure : sum / std::numbers::ln2 / static_cast<double>(corpus.held_out_bytes);
  return result;
}

AnswerEvaluation evaluate_answers(const Model& model, std::vector<Example> examples) {
  check_has_head(model);
  AnswerEvaluation result;
  result.too_long = static_cast<int>(leave_out_long(model, examples));
  if (examples.empty()) fail("no sentence is left: {} are too long for the model", result.too_long);
  const HeldOut asked(model, examples, examples.size());
  const std::vector<HeldOut::Answer> answers = asked.answers();
  std::vector<double> right, losses, both;
  std::vector<int> groups, loss_groups, pairs;
  std::map<std::string, std::vector<std::size_t>> of_relation;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Example& sentence = asked.sentences()[i];
    right.push_back(asked.right(i) >= 0 && answers[i].word == asked.right(i));
    groups.push_back(asked.group(i));
    of_relation[sentence.relation].push_back(i);
    if (asked.right(i) < 0) {
      ++result.without_answer;
    } else {
      losses.push_back(-std::log(answers[i].probability));
      loss_groups.push_back(groups.back());
    }
    if (sentence.counterpart < 0 || i % 2 == 0) continue;
    both.push_back(right[i - 1] > 0 && right[i] > 0 ? 1 : 0);
    pairs.push_back(groups.back());
  }
  result.sentences = static_cast<int>(answers.size());
  result.pairs = static_cast<int>(both.size());
  result.accuracy = share_of_answers(right, groups);
  result.both_of_pair = share_of_answers(both, pairs);
  result.loss = loss_of(losses, loss_groups);
  for (const auto& [name, members] : of_relation) {
    if (of_relation.size() < 2) break;
    std::vector<double> of_group;
    std::vector<int> number;
    for (const std::size_t i : members) of_group.push_back(right[i]), number.push_back(groups[i]);
    result.groups.push_back({name, static_cast<int>(members.size()), share_of_answers(of_group, number)});
  }
  return result;
}

}  // namespace heed
