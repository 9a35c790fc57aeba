#include <heed/autograd/ops.h>
#include <heed/explain/sentence_attention.h>
#include <heed/explain/studies/head_choices.h>

#include <algorithm>
#include <array>

namespace heed {
namespace {

constexpr std::array directions{HeadChoices::Direction::to_candidate, HeadChoices::Direction::from_candidate};

// Returns the weight of a candidate in one head; weights of a sentence are (heads, T, T).
double weight_of(const Tensor& weights, int head, int query, Span span, HeadChoices::Direction direction) {
  double sum = 0;
  for (int token = span.begin; token < span.end; ++token) {
    sum += direction == directions[0] ? weights.at({head, query, token}) : weights.at({head, token, query});
  }
  return direction == directions[0] ? sum : sum / (span.end - span.begin);
}

// Returns whether the meant candidate has the largest `measure`.
template <class Measure>
bool points_at_meant(const Example& e, const Measure& measure) {
  const auto largest = std::ranges::max_element(e.candidates, {}, measure);
  return largest - e.candidates.begin() == e.chosen;
}

int distance_to_query(const Example& e, Span span) {
  return span.end <= e.query ? e.query - span.end + 1 : std::max(span.begin - e.query, 0);
}

// Returns the sentences of a half. Both of a pair are in the same half.
std::vector<std::size_t> half_of(const std::vector<Example>& examples, int half) {
  std::vector<std::size_t> chosen;
  int groups = 0;
  std::vector<int> half_of(examples.size());
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const int twin = examples[i].twin;
    half_of[i] =
        twin >= 0 && static_cast<std::size_t>(twin) < i ? half_of[static_cast<std::size_t>(twin)] : groups++ % 2;
    if (half_of[i] == half) chosen.push_back(i);
  }
  return chosen;
}

Interval share_among(const std::vector<bool>& right, const std::vector<Example>& examples,
                     const std::vector<std::size_t>& chosen) {
  std::vector<bool> part;
  std::vector<int> twins, place(right.size(), -1);
  for (const std::size_t i : chosen) place[i] = static_cast<int>(part.size()), part.push_back(right[i]);
  for (const std::size_t i : chosen)
    twins.push_back(examples[i].twin < 0 ? -1 : place[static_cast<std::size_t>(examples[i].twin)]);
  return share_of(part, twins);
}

std::vector<std::size_t> all_of(const std::vector<Example>& examples) {
  std::vector<std::size_t> all(examples.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

// Removes the examples that `unusable` names; the others keep their twins.
template <class Unusable>
int leave_out_examples(std::vector<Example>& examples, const Unusable& unusable) {
  std::vector<int> place(examples.size(), -1);
  std::vector<Example> kept;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (unusable(examples[i])) continue;
    place[i] = static_cast<int>(kept.size());
    kept.push_back(examples[i]);
  }
  const int left_out = static_cast<int>(examples.size() - kept.size());
  for (Example& e : kept) e.twin = e.twin < 0 ? -1 : place[static_cast<std::size_t>(e.twin)];
  examples = std::move(kept);
  return left_out;
}

}  // namespace

HeadChoices head_choices(const SavedModel& model, std::vector<Example> examples) {
  HeadChoices result;
  result.without =
      leave_out_examples(examples, [](const Example& e) { return e.candidates.size() < 2 || e.chosen < 0; });
  const TransformerConfig& config = model.transformer().config;
  result.too_long = leave_out_examples(examples, [&](const Example& e) {
    return model.transformer().learned_positions && std::ssize(e.tokens) > config.max_length;
  });
  if (examples.empty()) {
    fail("head_choices: no sentence is left: {} have no meant candidate among two, and {} are too long", result.without,
         result.too_long);
  }
  result.sentences = static_cast<int>(examples.size());
  std::vector<std::vector<bool>> right;  // [layer, head and direction][sentence]
  for (const Example& e : examples) {
    const SentenceAttention seen = attend(*model.network, model.vocabulary, e);
    std::size_t number = 0;
    for (const Tensor& weights : seen.layers) {
      for (int head = 0; head < weights.size(0); ++head) {
        for (const auto direction : directions) {
          if (number == right.size()) right.emplace_back();
          right[number++].push_back(
              points_at_meant(e, [&](Span span) { return weight_of(weights, head, e.query, span, direction); }));
        }
      }
    }
    result.pairs += e.twin > static_cast<int>(&e - examples.data());
    result.coin += 1.0 / static_cast<double>(std::ssize(e.candidates) * std::ssize(examples));
  }
  const std::vector<std::size_t> all = all_of(examples), first = half_of(examples, 0), second = half_of(examples, 1);
  std::size_t best = 0;
  for (std::size_t n = 0; n < right.size(); ++n) {
    const int head = static_cast<int>(n / directions.size());
    result.heads.push_back({head / model.heads(), head % model.heads(), directions[n % directions.size()],
                            share_among(right[n], examples, all)});
    result.mean += result.heads.back().right.share / static_cast<double>(right.size());
    const auto in_first = [&](std::size_t m) {
      return std::ranges::count_if(first, [&](std::size_t i) { return right[m][i]; });
    };
    if (in_first(n) > in_first(best)) best = n;
  }
  result.best = result.heads[best];
  result.chosen_on = share_among(right[best], examples, first);
  result.best.right = share_among(right[best], examples, second);
  std::vector<bool> nearest, first_in_text;
  for (const Example& e : examples) {
    nearest.push_back(points_at_meant(e, [&](Span span) { return -distance_to_query(e, span); }));
    first_in_text.push_back(points_at_meant(e, [](Span span) { return -span.begin; }));
  }
  result.nearest = share_among(nearest, examples, all);
  result.first = share_among(first_in_text, examples, all);
  return result;
}

}  // namespace heed
