#include <heed/autograd/record.h>
#include <heed/nn/sampling.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace heed {

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
  const double largest = *std::ranges::max_element(weights);
  if (largest == -INFINITY) throw NotFinite("sample: all logits are -infinity: there is nothing to draw");
  if (temperature == 0 || std::isinf(largest)) {
    return static_cast<std::int32_t>(std::ranges::max_element(weights) - weights.begin());
  }
  for (double& x : weights) x = std::exp((x - largest) / temperature);
  std::vector<std::int32_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  const auto weight = [&](std::int32_t i) { return weights[static_cast<std::size_t>(i)]; };
  const bool leaves_out = top_k > 0 && top_k < std::ssize(order);
  if (leaves_out || top_p < 1) {
    std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) { return weight(a) > weight(b); });
    if (leaves_out) order.resize(static_cast<std::size_t>(top_k));
  }
  double total = 0;
  for (const std::int32_t i : order) total += weight(i);
  if (top_p < 1) {
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
