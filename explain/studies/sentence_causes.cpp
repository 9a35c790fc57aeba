#include <heed/autograd/ops.h>
#include <heed/explain/sentence_attention.h>
#include <heed/explain/studies/sentence_causes.h>
#include <heed/files/utf8.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace heed {
namespace {

constexpr double no_figure = std::numeric_limits<double>::quiet_NaN();

// A text and everything that the model computes for it.
struct ReadText {
  const SavedModel& model;
  const Example& example;
  Questions asked;
  Trace seen;

  ReadText(const SavedModel& of, const Example& text)
      : model(of),
        example(text),
        asked(questions(*model.network, model.vocabulary, text)),
        seen(trace(*model.network, asked)) {
    if (!is_finite(seen.logits)) fail_not_finite(*model.network, asked);
  }

  std::vector<double> logits() const { return seen.logits.to_vector(); }
  std::vector<double> logits_with(const Intervention& change) const {
    return heed::answer(*model.network, asked, {change}).logits.to_vector();
  }
  std::string answer(std::size_t index) const {
    return answer_text(*model.network, model.vocabulary, example, static_cast<int>(index));
  }
};

std::size_t index_of_largest(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
}

double probability(const std::vector<double>& logits, std::size_t answer) {
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - logits[answer]);
  return 1 / sum;
}

// The output of each head, averaged over the tokens of the text.
MeanOutput mean_over_tokens(const Tensor& head_output) {  // (1, heads, T, d_v)
  const std::vector<double> values = mean(head_output.to(DType::float64), {2}).to_vector();
  return {values, values};
}

double weight_of(const ReadText& text, Heads at, int key) {
  return text.seen.layers[static_cast<std::size_t>(at.layer)].weights.at({0, at.head, text.example.query, key});
}

bool is_cut(double weight) { return weight >= least_cut_weight; }

void check_counterpart(const Example& text, const Example& counterpart) {
  if (counterpart.tokens.size() != text.tokens.size()) {
    fail("the pair: expected {} tokens as in the sentence, so that heads can be patched token by token, got {}{}",
         text.tokens.size(), counterpart.tokens.size(),
         counterpart.tokens.size() > 30 ? "" : ": " + listed(counterpart.tokens, " ", 30));
  }
  if (counterpart.query != text.query) {
    fail("the pair: expected the question at token {} as in the sentence, got token {}", text.query + 1,
         counterpart.query + 1);
  }
  if (counterpart.candidates.size() != text.candidates.size()) {
    fail("the pair: expected {} candidates as in the sentence, got {}", text.candidates.size(),
         counterpart.candidates.size());
  }
}

}  // namespace

int SentenceCauses::Head::largest_cut() const {
  int largest = -1;
  for (int key = 0; key < std::ssize(cuts); ++key) {
    const auto size = [&](int token) { return std::abs(cuts[static_cast<std::size_t>(token)]); };
    if (!std::isnan(size(key)) && (largest < 0 || size(key) > size(largest))) largest = key;
  }
  return largest;
}

SentenceCauses sentence_causes(const SavedModel& model, const Example& example, const std::optional<Example>& other,
                               const OnProgress& progress, Heads among) {
  check_has_answers(*model.network);
  if (other) check_counterpart(example, *other);
  const ReadText text(model, example);
  std::optional<ReadText> counterpart;
  if (other) counterpart.emplace(model, *other);

  const std::vector<double> before = text.logits(), before_in_pair = counterpart ? counterpart->logits() : before;
  const std::size_t answer = index_of_largest(before), rival = index_of_largest(before_in_pair);
  SentenceCauses result{.tokens = example.tokens,
                        .query = example.query,
                        .answer = text.answer(answer),
                        .probability = probability(before, answer),
                        .difference = no_figure,
                        .pair_difference = no_figure};
  const auto measure = [&](const std::vector<double>& logits) {
    return counterpart ? logits[answer] - logits[rival] : probability(logits, answer);
  };
  if (counterpart) {
    if (rival == answer) {
      fail("the pair: expected a text with another answer, but the most probable answer to both is '{}'",
           excerpt(result.answer));
    }
    result.pair_tokens = other->tokens;
    result.rival = text.answer(rival);
    result.difference = measure(before);
    result.pair_difference = measure(before_in_pair);
  }

  const int T = static_cast<int>(example.tokens.size());
  double passes = 0;
  for (int layer = 0; layer < model.layers(); ++layer) {
    for (int head = 0; head < model.heads(); ++head) {
      if ((among.layer >= 0 && layer != among.layer) || (among.head >= 0 && head != among.head)) continue;
      SentenceCauses::Head& one = result.heads.emplace_back();
      one.layer = layer, one.head = head, one.zero_weight = one.restored = no_figure;
      for (int key = 0; key < T; ++key) one.weights.push_back(weight_of(text, {layer, head}, key));
      passes += counterpart ? 3 : 2;
      passes += std::ranges::any_of(one.weights, is_cut);
      passes += static_cast<double>(std::ranges::count_if(one.weights, is_cut));
    }
  }
  Passes pass("causes", passes, progress);
  for (SentenceCauses::Head& one : result.heads) {
    const Heads at{one.layer, one.head};
    const auto changed = [&](const Intervention& change) {
      pass.next();
      return measure(text.logits_with(change)) - measure(before);
    };
    pass.next();
    const std::vector<double> without = text.logits_with(ablate(at));
    one.zero = measure(without) - measure(before);
    one.answer_without = text.answer(index_of_largest(without));
    const Tensor& output = text.seen.layers[static_cast<std::size_t>(at.layer)].head_output;
    one.mean = changed(ablate(at, mean_over_tokens(output), {example.query}));
    for (int key = 0; key < T; ++key) {
      const Edge edge{example.query, {key, key + 1}};
      one.cuts.push_back(is_cut(one.weights[static_cast<std::size_t>(key)]) ? changed(cut(at, edge)) : no_figure);
    }
    if (const int key = one.largest_cut(); key >= 0) {
      one.zero_weight = changed(zero_weight(at, Edge{example.query, {key, key + 1}}));
    }
    if (!counterpart) continue;
    pass.next();
    const double patched = measure(counterpart->logits_with(patch(at, text.seen)));
    one.restored = (patched - result.pair_difference) / (result.difference - result.pair_difference);
  }
  return result;
}

}  // namespace heed
