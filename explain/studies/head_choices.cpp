#include "explain/studies/held_out.h"

#include <heed/autograd/ops.h>
#include <heed/data/overlap.h>
#include <heed/explain/sentence_attention.h>
#include <heed/explain/studies/head_choices.h>
#include <heed/models/reading.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>

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

Span meant_candidate(const Example& e) { return e.candidates[static_cast<std::size_t>(e.chosen)]; }

// Returns whether two sentences are equal up to the last of the pronoun and the candidates.
bool is_equal_where_compared(const Example& one, const Example& other) {
  if (one.query != other.query || one.candidates != other.candidates) return false;
  int end = one.query + 1;
  for (const Span span : one.candidates) end = std::max(end, span.end);
  return std::equal(one.tokens.begin(), one.tokens.begin() + end, other.tokens.begin());
}

// Returns the sentences of a half. Those of a group are in the same half.
std::vector<std::size_t> half_of(const std::vector<int>& groups, std::size_t half) {
  std::vector<std::size_t> chosen;
  std::map<int, std::size_t> numbers;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (numbers.try_emplace(groups[i], numbers.size()).first->second % 2 == half) chosen.push_back(i);
  }
  return chosen;
}

// Returns the values of the chosen sentences.
template <class Value>
std::vector<Value> among(const std::vector<Value>& values, const std::vector<std::size_t>& chosen) {
  std::vector<Value> result;
  for (const std::size_t i : chosen) result.push_back(values[i]);
  return result;
}

// Returns the answers with and without the edge of a head between the pronoun and the meant candidate.
HeadChoices::Answers answers_of(const Model& model, const std::vector<Example>& examples,
                                const HeadChoices::Head& head) {
  const HeldOut held_out(model, examples, examples.size());
  const InterventionOf without = cut_in_each({head.layer, head.head}, [&](const Example& e) {
    const Span meant = meant_candidate(e);
    return head.direction == directions[0] ? Edge{e.query, meant} : Edge{meant.end - 1, {e.query, e.query + 1}};
  });
  const auto share_right = [&](const std::vector<HeldOut::Answer>& answers) {
    std::vector<bool> right;
    for (std::size_t i = 0; i < answers.size(); ++i) right.push_back(answers[i].word == held_out.right(i));
    return share_of(right, observations_of(held_out.sentences()));
  };
  return {share_right(held_out.answers()), share_right(held_out.answers(without))};
}

}  // namespace

HeadChoices head_choices(const Model& model, std::vector<Example> examples, const Communicator& processes) {
  HeadChoices result;
  result.without = static_cast<int>(
      leave_out_if(examples, [](const Example& e) { return e.candidates.size() < 2 || e.chosen < 0; }));
  result.too_long = static_cast<int>(leave_out_long(model, examples));
  if (examples.empty()) {
    fail("head_choices: no sentence is left: {} without a correct candidate among two, {} too long", result.without,
         result.too_long);
  }
  result.sentences = static_cast<int>(examples.size());
  check_same_on_all(processes, model, examples);
  const Share share = share_of(std::ssize(examples), processes.rank(), processes.size());
  std::vector<double> own;  // 1: right, by sentence, layer, head and direction
  for (const Example& e : std::span(examples).subspan(static_cast<std::size_t>(share.first),
                                                      static_cast<std::size_t>(share.end - share.first))) {
    for (const Tensor& weights : attend(model, e).layers) {
      for (int head = 0; head < weights.size(0); ++head) {
        for (const auto direction : directions) {
          own.push_back(
              points_at_meant(e, [&](Span span) { return weight_of(weights, head, e.query, span, direction); }));
        }
      }
    }
  }
  const std::vector<double> all = processes.gather(own);
  std::vector<std::vector<bool>> right(all.size() / examples.size());  // [layer, head and direction][sentence]
  for (std::size_t i = 0; i < all.size(); ++i) right[i % right.size()].push_back(all[i] != 0);
  for (const Example& e : examples) {
    const bool is_pair = e.counterpart > static_cast<int>(&e - examples.data());
    result.pairs += is_pair;
    result.equal_pairs += is_pair && model.transformer().config.causal &&
                          is_equal_where_compared(e, examples[static_cast<std::size_t>(e.counterpart)]);
    result.coin += 1.0 / static_cast<double>(std::ssize(e.candidates) * std::ssize(examples));
  }
  const std::vector<int> groups = observations_of(examples);
  const std::vector<std::size_t> first = half_of(groups, 0), second = half_of(groups, 1);
  std::size_t best = 0;
  for (std::size_t n = 0; n < right.size(); ++n) {
    const int head = static_cast<int>(n / directions.size());
    result.heads.push_back(
        {head / model.heads(), head % model.heads(), directions[n % directions.size()], share_of(right[n], groups)});
    result.mean += result.heads.back().right.share / static_cast<double>(right.size());
    const auto in_first = [&](std::size_t m) {
      return std::ranges::count_if(first, [&](std::size_t i) { return right[m][i]; });
    };
    if (in_first(n) > in_first(best)) best = n;
  }
  result.best = result.heads[best];
  result.chosen_on = share_of(among(right[best], first), among(groups, first));
  result.best.right = share_of(among(right[best], second), among(groups, second));
  std::map<std::string, int> times_meant;
  for (const std::size_t i : first) ++times_meant[text_of(examples[i], meant_candidate(examples[i]))];
  std::vector<bool> nearest, first_in_text, most_frequent;
  for (const Example& e : examples) {
    nearest.push_back(points_at_meant(e, [&](Span span) { return -distance_to_query(e, span); }));
    first_in_text.push_back(points_at_meant(e, [](Span span) { return -span.begin; }));
    most_frequent.push_back(points_at_meant(e, [&](Span span) {
      const auto found = times_meant.find(text_of(e, span));
      return found == times_meant.end() ? 0 : found->second;
    }));
  }
  result.nearest = share_of(nearest, groups);
  result.first = share_of(first_in_text, groups);
  const auto over = [&](const std::vector<bool>& baseline) {
    return advantage(among(right[best], second), among(baseline, second), among(groups, second));
  };
  result.over_nearest = over(nearest);
  result.over_first = over(first_in_text);
  result.most_frequent = share_of(among(most_frequent, second), among(groups, second));
  result.over_most_frequent = over(most_frequent);
  if (model.head().answers_about_a_word()) result.answers = answers_of(model, examples, result.best);
  return result;
}

}  // namespace heed
