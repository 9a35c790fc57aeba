#include "explain/internal/joined_batch.h"

#include <heed/autograd/ops.h>
#include <heed/explain/sentence_attention.h>
#include <heed/explain/studies/sentence_causes.h>
#include <heed/files/utf8.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

namespace heed {
namespace {

constexpr double not_measured = std::numeric_limits<double>::quiet_NaN();

// Interventions on a text, and what receives the logits of each.
struct Change {
  Intervention intervention;
  std::function<void(const std::vector<double>& logits)> use;
};

// A text and everything that the model computes for it.
struct ReadText {
  const Model& model;
  const Example& example;
  Batch asked;
  Trace seen;

  ReadText(const Model& of, const Example& text)
      : model(of), example(text), asked(batch_of(model, text)), seen(trace(model, asked)) {
    if (!is_finite(seen.logits)) fail_not_finite(model, asked);
  }

  std::vector<double> logits() const { return seen.logits.to_vector(); }
  std::string answer(std::size_t index) const { return answer_text(model, example, static_cast<int>(index)); }

  // Makes changes in one layer. A batch of copies of the text answers under many of them at once, so that the parameters are
  // read once for all, and from this layer on, since the layers before it are not changed.
  void answer_under(int layer, const std::vector<Change>& changes, Passes& passes) const {
    constexpr std::size_t tokens_at_once = 1024;
    const std::size_t most = std::max<std::size_t>(1, tokens_at_once / example.tokens.size());
    for (std::size_t first = 0; first < changes.size(); first += most) {
      const std::size_t count = std::min(most, changes.size() - first);
      std::vector<Intervention> interventions;
      for (std::size_t i = 0; i < count; ++i) {
        passes.next();
        interventions.push_back(in_text(static_cast<int>(i), changes[first + i].intervention));
      }
      const Tensor& residual = seen.layers[static_cast<std::size_t>(layer)].residual_in;
      const auto copied = static_cast<std::int64_t>(count);
      const LayerInput input{layer, contiguous(broadcast_to(residual, {copied, residual.size(1), residual.size(2)}))};
      const Batch many = joined(std::vector(count, asked));
      const Tensor logits = logits_under(interventions, model, many, input);  // (count, answers)
      for (std::size_t i = 0; i < count; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        changes[first + i].use(slice(logits, 0, row, row + 1).to_vector());
      }
    }
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

bool is_cut(double weight) { return weight >= min_cut_weight; }

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

SentenceCauses sentence_causes(const Model& model, const Example& example, const std::optional<Example>& other,
                               const OnProgress& progress, Heads among) {
  check_has_head(model);
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
                        .difference = not_measured,
                        .pair_difference = not_measured};
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
      one.layer = layer, one.head = head, one.zero_weight = one.restored = not_measured;
      for (int key = 0; key < T; ++key) one.weights.push_back(weight_of(text, {layer, head}, key));
      passes += counterpart ? 3 : 2;
      passes += std::ranges::any_of(one.weights, is_cut);
      passes += static_cast<double>(std::ranges::count_if(one.weights, is_cut));
    }
  }
  Passes pass("causes", passes, progress);
  const auto into = [&measure, &before](double& figure) {
    return [&, to = &figure](const std::vector<double>& logits) { *to = measure(logits) - measure(before); };
  };
  for (auto first = result.heads.begin(), end = first; first != result.heads.end(); first = end) {
    const int layer = first->layer;
    end = std::find_if(first, result.heads.end(), [&](const SentenceCauses::Head& one) { return one.layer != layer; });
    const std::span<SentenceCauses::Head> heads(first, end);
    const MeanOutput mean = mean_over_tokens(text.seen.layers[static_cast<std::size_t>(layer)].head_output);
    std::vector<Change> changes, of_largest_cuts, in_counterpart;
    for (SentenceCauses::Head& one : heads) {
      const Heads at{layer, one.head};
      changes.push_back({ablate(at), [&](const std::vector<double>& without) {
                           one.zero = measure(without) - measure(before);
                           one.answer_without = text.answer(index_of_largest(without));
                         }});
      changes.push_back({ablate(at, mean, {example.query}), into(one.mean)});
      one.cuts.resize(static_cast<std::size_t>(T), not_measured);
      for (int key = 0; key < T; ++key) {
        const auto k = static_cast<std::size_t>(key);
        if (is_cut(one.weights[k]))
          changes.push_back({cut(at, Edge{example.query, {key, key + 1}}), into(one.cuts[k])});
      }
      if (counterpart) {
        in_counterpart.push_back({patch(at, text.seen), [&](const std::vector<double>& patched) {
                                    one.restored = (measure(patched) - result.pair_difference) /
                                                   (result.difference - result.pair_difference);
                                  }});
      }
    }
    text.answer_under(layer, changes, pass);
    for (SentenceCauses::Head& one : heads) {
      const int key = one.largest_cut();
      if (key < 0) continue;
      const Edge edge{example.query, {key, key + 1}};
      of_largest_cuts.push_back({zero_weight({layer, one.head}, edge), into(one.zero_weight)});
    }
    text.answer_under(layer, of_largest_cuts, pass);
    if (counterpart) counterpart->answer_under(layer, in_counterpart, pass);
  }
  return result;
}

}  // namespace heed
