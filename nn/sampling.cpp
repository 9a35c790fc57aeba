#include <heed/autograd/record.h>
#include <heed/nn/sampling.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace heed {
namespace {

std::vector<std::int32_t> all_of(const std::vector<double>& numbers) {
  std::vector<std::int32_t> places(numbers.size());
  std::iota(places.begin(), places.end(), 0);
  return places;
}

// Returns the places of the `count` largest numbers, the largest first; of equal numbers the first.
std::vector<std::int32_t> largest(const std::vector<double>& numbers, std::size_t count) {
  std::vector<double> sorted = numbers;
  const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(count) - 1;
  std::ranges::nth_element(sorted, last, std::greater());
  const double bound = *last;
  std::ptrdiff_t equal = static_cast<std::ptrdiff_t>(count) -
                         std::ranges::count_if(sorted.begin(), last, [&](double x) { return x > bound; });
  std::vector<std::int32_t> places;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] > bound || (numbers[i] == bound && equal-- > 0)) places.push_back(static_cast<std::int32_t>(i));
  }
  std::ranges::stable_sort(places, [&](std::int32_t a, std::int32_t b) {
    return numbers[static_cast<std::size_t>(a)] > numbers[static_cast<std::size_t>(b)];
  });
  return places;
}

// Returns the places of the largest weights, the largest first, at least as many as have the sum `enough`.
std::vector<std::int32_t> most_probable(const std::vector<double>& weights, double enough) {
  for (std::size_t count = 64; count < weights.size(); count *= 8) {
    std::vector<std::int32_t> places = largest(weights, count);
    double sum = 0;
    for (const std::int32_t i : places) sum += weights[static_cast<std::size_t>(i)];
    if (sum >= enough) return places;
  }
  return largest(weights, weights.size());
}

}  // namespace

void check(const Sampling& sampling, const char* where) {
  const auto& [temperature, top_k, top_p] = sampling;
  if (!(temperature >= 0 && std::isfinite(temperature))) {
    fail("{}: temperature must be finite and at least 0, got {}", where, temperature);
  }
  if (top_k < 0) fail("{}: top_k must be at least 1, or 0 for all tokens, got {}", where, top_k);
  if (!(top_p > 0 && top_p <= 1)) fail("{}: top_p must be above 0 and at most 1, got {}", where, top_p);
}

std::int32_t sample(const Tensor& logits, const Sampling& sampling, Random& random) {
  check(sampling, "sample");
  const auto& [temperature, top_k, top_p] = sampling;
  std::vector<double> weights = logits.to_vector();
  if (logits.rank() != 1 || weights.empty()) fail("sample: expected logits (C), got {}", to_string(logits.shape()));
  if (std::ranges::any_of(weights, [](double x) { return std::isnan(x); })) {
    throw NotFinite("sample: a logit is NaN: the model's weights are too large, or damaged");
  }
  const double max_logit = *std::ranges::max_element(weights);
  if (max_logit == -INFINITY) throw NotFinite("sample: all logits are -infinity: there is nothing to draw");
  if (temperature == 0 || std::isinf(max_logit)) {
    return static_cast<std::int32_t>(std::ranges::max_element(weights) - weights.begin());
  }
  const auto weight = [&](std::int32_t i) -> double& { return weights[static_cast<std::size_t>(i)]; };
  const auto is_left_out = top_k > 0 && top_k < std::ssize(weights);
  std::vector<std::int32_t> order = is_left_out ? largest(weights, static_cast<std::size_t>(top_k)) : all_of(weights);
  double total = 0;
  for (const std::int32_t i : order) total += weight(i) = std::exp((weight(i) - max_logit) / temperature);
  if (top_p < 1) {
    if (!is_left_out) order = most_probable(weights, top_p * total);
    double kept = 0;
    std::size_t count = 0;
    while (count < order.size() && (count == 0 || kept < top_p * total)) kept += weight(order[count++]);
    order.resize(count);
    total = kept;
  }
  double left = random.uniform() * total;
  for (const std::int32_t i : order) {
    left -= weight(i);
    if (left < 0) return i;
  }
  return order.back();
}

}  // namespace heed
