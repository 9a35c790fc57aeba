#include <heed/autograd/error.h>
#include <heed/data/corpus.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace heed {
namespace {

constexpr std::int32_t not_counted = -1;

// One window from each of `begins`.
Batch windows_at(const TokenNumbers& text, const Corpus& corpus, const std::vector<std::int64_t>& begins) {
  std::vector<std::int32_t> tokens, next;
  for (const std::int64_t begin : begins) {
    const std::int64_t end = std::min(begin + corpus.text_context(), text.size());
    tokens.insert(tokens.end(), corpus.before.begin(), corpus.before.end());
    next.resize(tokens.size(), not_counted);
    const auto first = std::ssize(tokens);
    for (std::int64_t t = begin; t < end; ++t) {
      const bool counts =
          !corpus.is_sequences || std::find(tokens.begin() + first, tokens.end(), text[t]) != tokens.end();
      tokens.push_back(text[t]);
      next.push_back(counts && t + 1 < text.size() ? text[t + 1] : not_counted);
    }
    tokens.insert(tokens.end(), corpus.behind.begin(), corpus.behind.end());
    const std::int64_t padding = begin + corpus.text_context() - end;
    tokens.resize(tokens.size() + static_cast<std::size_t>(padding), 0);
    next.resize(tokens.size(), not_counted);
  }
  const std::int64_t B = std::ssize(begins);
  return {.tokens = Ids({B, corpus.context}, std::move(tokens)), .targets = Ids({B * corpus.context}, std::move(next))};
}

bool hides_none(const Batch& windows) {
  return std::ranges::count(windows.targets, not_counted) == windows.targets.numel();
}

// Hides tokens in the windows, with `at_least_one` also one of the first window where it would hide none. The choice depends only on
// (random, window).
Batch masked(Batch windows, const Corpus& corpus, const Random& random, bool at_least_one) {
  const std::int64_t first = std::ssize(corpus.before), end = first + corpus.text_context();
  const std::int64_t B = windows.tokens.shape()[0], T = windows.tokens.shape()[1];
  std::vector<std::int32_t> tokens, hidden;
  std::int64_t in_first = 0;  // tokens of the text in the first window
  for (std::int64_t b = 0; b < B; ++b) {
    Random of_window = random.stream(static_cast<std::uint64_t>(b));
    for (std::int64_t t = 0; t < T; ++t) {
      const std::int32_t token = windows.tokens[b * T + t];
      const bool is_there = t == first || (t > first && t < end && windows.targets[b * T + t - 1] != not_counted);
      in_first += b == 0 && is_there;
      const double chosen = of_window.uniform(), how = of_window.uniform();
      const auto other = static_cast<std::int32_t>(of_window.below(corpus.replacements));
      const bool predicts = is_there && chosen < masked_share;
      tokens.push_back(!predicts || how >= 0.9 ? token : how < 0.8 ? corpus.mask : other);
      hidden.push_back(predicts ? token : not_counted);
    }
  }
  if (at_least_one && std::ranges::count(hidden, not_counted) == std::ssize(hidden)) {
    const auto t = static_cast<std::size_t>(first + random.stream("one").below(in_first));
    hidden[t] = std::exchange(tokens[t], corpus.mask);
  }
  return {.tokens = Ids({B, T}, std::move(tokens)), .targets = Ids({B * T}, std::move(hidden))};
}

std::int64_t stride_of(const Corpus& corpus) {
  if (corpus.text_context() < 1) {
    fail("Corpus: its context must be at least {}, got {}", corpus.context - corpus.text_context() + 1, corpus.context);
  }
  return corpus.text_context() + (corpus.is_sequences ? 1 : 0);
}

}  // namespace

TokenNumbers::TokenNumbers(std::size_t expected) { std::get<0>(numbers_).reserve(expected); }

template <class T>
void TokenNumbers::widen() {
  numbers_ = std::visit([](const auto& narrow) { return std::vector<T>(narrow.begin(), narrow.end()); }, numbers_);
}

void TokenNumbers::add(std::int32_t number) {
  if (number < 0) fail("TokenNumbers: expected a number from 0, got {}", number);
  if (numbers_.index() < 1 && number > std::numeric_limits<std::uint8_t>::max()) widen<std::uint16_t>();
  if (numbers_.index() < 2 && number > std::numeric_limits<std::uint16_t>::max()) widen<std::int32_t>();
  std::visit([&]<class T>(std::vector<T>& numbers) { numbers.push_back(static_cast<T>(number)); }, numbers_);
}

std::int64_t TokenNumbers::size() const {
  return std::visit([](const auto& numbers) { return std::ssize(numbers); }, numbers_);
}

std::int32_t TokenNumbers::operator[](std::int64_t i) const {
  return std::visit(
      [&](const auto& numbers) { return static_cast<std::int32_t>(numbers[static_cast<std::size_t>(i)]); }, numbers_);
}

std::int64_t TokenNumbers::bytes() const {
  return std::visit(
      []<class T>(const std::vector<T>& numbers) { return static_cast<std::int64_t>(numbers.capacity() * sizeof(T)); },
      numbers_);
}

Batch training_windows(const Corpus& corpus, int B, std::int64_t step, const Random& random) {
  Random of_step = random.stream(static_cast<std::uint64_t>(step));
  const std::int64_t N = corpus.train.size(), T = corpus.text_context();
  if (B < 1 || T < 1 || N <= T) {
    fail(
        "training_windows: expected B and context from 1 and more tokens than context, got B {}, context {} and {} "
        "tokens",
        B, T, N);
  }
  std::vector<std::int64_t> begins;
  for (int b = 0; b < B; ++b) {
    begins.push_back(corpus.is_sequences ? (T + 1) * of_step.below(N / (T + 1)) : of_step.below(N - T));
  }
  Batch windows = windows_at(corpus.train, corpus, begins);
  constexpr bool at_least_one = true;
  return corpus.mask < 0 ? windows : masked(std::move(windows), corpus, of_step.stream("masks"), at_least_one);
}

std::int64_t held_out_windows(const Corpus& corpus) {
  const std::int64_t stride = stride_of(corpus), N = corpus.held_out.size();
  return corpus.is_sequences ? N / stride : N < 2 ? 0 : (N - 2) / stride + 1;
}

Batch held_out_windows(const Corpus& corpus, std::int64_t first, std::int64_t end) {
  const std::int64_t all = held_out_windows(corpus);
  if (first < 0 || first > end || end > all) {
    fail("held_out_windows: [{}, {}) does not lie in the {} windows", first, end, all);
  }
  const std::int64_t stride = stride_of(corpus), B = end - first;
  std::vector<std::int64_t> begins;
  for (std::int64_t i = first; i < end; ++i) begins.push_back(i * stride);
  if (corpus.mask < 0) return windows_at(corpus.held_out, corpus, begins);
  const auto window = [&](std::int64_t i, bool at_least_one) {  // its masks depend on i alone
    return masked(windows_at(corpus.held_out, corpus, {i * stride}), corpus,
                  Random(0).stream("held-out masks").stream(static_cast<std::uint64_t>(i)), at_least_one);
  };
  std::int64_t empty = 0;  // windows before the first that hides a token: all of them in a short text
  while (first == 0 && empty < all && hides_none(window(empty, false))) ++empty;
  std::vector<std::int32_t> tokens, hidden;
  for (std::int64_t i = first; i < end; ++i) {
    const Batch one = window(i, i == 0 && empty == all);
    tokens.insert(tokens.end(), one.tokens.data(), one.tokens.data() + one.tokens.numel());
    hidden.insert(hidden.end(), one.targets.data(), one.targets.data() + one.targets.numel());
  }
  return {.tokens = Ids({B, corpus.context}, std::move(tokens)),
          .targets = Ids({B * corpus.context}, std::move(hidden))};
}

}  // namespace heed
