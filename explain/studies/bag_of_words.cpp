#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/explain/studies/bag_of_words.h>
#include <heed/optim/optimizer.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <utility>

namespace heed {
namespace {

constexpr double absent = -1e30;  // logit of a padding candidate

// Examples as the sums that form their logits.
struct Bags {
  Ids words;           // (N, W): distinct words of a sentence
  Tensor counts;       // (N, W, 1): 1, or 0 for padding
  Ids own;             // (N, C, O): distinct words of a candidate
  Tensor own_counts;   // (N, C, O, 1)
  Tensor place;        // (N, C, places): 1 at the candidate's place in the text
  Booleans is_absent;  // (N, C)
  Ids chosen;          // (N); C means none of them
};

using WordNumbers = std::vector<std::int32_t>;

WordNumbers different(const Example& example, Span span, const Vocabulary& vocabulary) {
  std::set<std::int32_t> numbers;
  for (int i = span.begin; i < span.end; ++i) {
    numbers.insert(vocabulary[example.tokens[static_cast<std::size_t>(i)]]);
  }
  return {numbers.begin(), numbers.end()};
}

// Rows padded to equal length, with a mask of the real entries.
std::pair<std::vector<std::int32_t>, std::vector<double>> padded(const std::vector<WordNumbers>& rows,
                                                                 std::size_t width) {
  std::vector<std::int32_t> numbers(rows.size() * width);
  std::vector<double> counts(rows.size() * width);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::ranges::copy(rows[r], numbers.begin() + static_cast<std::ptrdiff_t>(r * width));
    std::fill_n(counts.begin() + static_cast<std::ptrdiff_t>(r * width), rows[r].size(), 1.0);
  }
  return {std::move(numbers), std::move(counts)};
}

std::int64_t widest(const std::vector<WordNumbers>& rows) {
  std::size_t most = 1;
  for (const WordNumbers& row : rows) most = std::max(most, row.size());
  return static_cast<std::int64_t>(most);
}

Bags bags_of(const std::vector<Example>& examples, const Vocabulary& vocabulary, std::int64_t places) {
  const std::int64_t N = std::ssize(examples);
  std::size_t C = 1;
  for (const Example& e : examples) C = std::max(C, e.candidates.size());
  std::vector<WordNumbers> words, own;
  std::vector<double> place(static_cast<std::size_t>(N) * C * static_cast<std::size_t>(places));
  std::vector<std::uint8_t> is_absent;
  std::vector<std::int32_t> chosen;
  for (std::size_t n = 0; n < examples.size(); ++n) {
    const Example& e = examples[n];
    words.push_back(different(e, {0, static_cast<int>(e.tokens.size())}, vocabulary));
    chosen.push_back(e.chosen < 0 ? static_cast<int>(C) : e.chosen);
    for (std::size_t c = 0; c < C; ++c) {
      is_absent.push_back(c >= e.candidates.size());
      own.push_back(is_absent.back() ? WordNumbers{} : different(e, e.candidates[c], vocabulary));
      if (is_absent.back()) continue;
      const auto before = std::ranges::count_if(e.candidates, [&](Span s) { return s.begin < e.candidates[c].begin; });
      const std::int64_t at = std::min<std::int64_t>(before, places - 2);
      place[(n * C + c) * static_cast<std::size_t>(places) + static_cast<std::size_t>(at)] = 1;
    }
  }
  const std::int64_t W = widest(words), O = widest(own), count = static_cast<std::int64_t>(C);
  auto [word_numbers, counts] = padded(words, static_cast<std::size_t>(W));
  auto [own_numbers, own_counts] = padded(own, static_cast<std::size_t>(O));
  return {.words = Ids({N, W}, std::move(word_numbers)),
          .counts = tensor({N, W, 1}, counts),
          .own = Ids({N, count, O}, std::move(own_numbers)),
          .own_counts = tensor({N, count, O, 1}, own_counts),
          .place = tensor({N, count, places}, place),
          .is_absent = Booleans({N, count}, std::move(is_absent)),
          .chosen = Ids({N}, std::move(chosen))};
}

// Returns logits (N, C), or (N, C + 1) where the last means none of them.
Tensor logits_of(const Bags& bags, const Tensor& place, const Tensor& own, bool has_none) {
  const std::int64_t N = bags.place.size(0), C = bags.place.size(1), places = bags.place.size(2);
  const Tensor of_places = sum(embedding(place, bags.words) * bags.counts, {1});      // (N, places)
  const Tensor of_own = sum(embedding(own, bags.own) * bags.own_counts, {2, 3});      // (N, C)
  const Tensor at_place = sum(bags.place * reshape(of_places, {N, 1, places}), {2});  // (N, C)
  const Tensor logits = masked_fill(at_place + of_own, bags.is_absent, absent);
  if (!has_none) return logits;
  return concat({reshape(logits, {N, C}), slice(of_places, 1, places - 1, places)}, 1);
}

}  // namespace

BagOfWords::BagOfWords(const std::vector<Example>& training, const Vocabulary& vocabulary) {
  constexpr int steps = 150;
  constexpr double rate = 0.1;
  std::size_t most = 2;
  for (const Example& e : training) {
    most = std::max(most, e.candidates.size());
    has_none_ = has_none_ || e.chosen < 0;
  }
  const std::int64_t places = static_cast<std::int64_t>(most) + 1;
  const Scope scope(parameters_, 0);
  const Tensor place = scope.parameter("place", {vocabulary.size(), places}, Init::zeros());
  const Tensor own = scope.parameter("own", {vocabulary.size(), 1}, Init::zeros());
  const Bags bags = bags_of(training, vocabulary, places);
  const double penalty = 0.5 / static_cast<double>(training.size());
  Optimizer adam(parameters_, {});
  for (int step = 0; step < steps; ++step) {
    const Recording recording;
    const Tensor loss = cross_entropy(logits_of(bags, place, own, has_none_), bags.chosen) +
                        (sum(square(place)) + sum(square(own))) * penalty;
    adam.step(backward(loss), rate * 0.5 * (1 + std::cos(std::numbers::pi * step / steps)));
  }
}

BagOfWords::BagOfWords(const Tensor& place, const Tensor& own, bool has_none) : has_none_(has_none) {
  if (place.rank() != 2 || place.size(1) < 3 || own.shape() != Shape{place.size(0), 1}) {
    fail("expected 'place' (V, at least 3) and 'own' (V, 1), got {} and {}", to_string(place.shape()),
         to_string(own.shape()));
  }
  parameters_.add("place", variable(place));
  parameters_.add("own", variable(own));
}

std::vector<int> BagOfWords::answers(const std::vector<Example>& examples, const Vocabulary& vocabulary) const {
  std::vector<int> result;
  if (examples.empty()) return result;
  const Tensor& place = parameters_["place"];
  const Bags bags = bags_of(examples, vocabulary, place.size(1));
  const Tensor logits = logits_of(bags, place, parameters_["own"], has_none_);
  const std::vector<double> values = logits.to_vector();
  for (std::int64_t n = 0; n < logits.size(0); ++n) {
    const auto row = values.begin() + n * logits.size(1);
    const int best = static_cast<int>(std::max_element(row, row + logits.size(1)) - row);
    result.push_back(best == bags.place.size(1) ? -1 : best);
  }
  return result;
}

}  // namespace heed
