#include <heed/nn/rotary_embedding.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heed {
namespace {

double scaled_frequency(double frequency, const RotaryConfig& config) {
  switch (config.scaling) {
    case RotaryScaling::none:
      return frequency;
    case RotaryScaling::linear:
      return frequency / config.factor;
    case RotaryScaling::llama3: {
      const double turns = config.original_length * frequency / (2 * std::numbers::pi);
      if (turns < config.low_frequency) return frequency / config.factor;
      if (turns > config.high_frequency) return frequency;
      const double kept = (turns - config.low_frequency) / (config.high_frequency - config.low_frequency);
      return (1 - kept) * frequency / config.factor + kept * frequency;
    }
  }
  fail("rotary_frequencies: {} is not a scaling", static_cast<int>(config.scaling));
}

}  // namespace

std::vector<double> rotary_frequencies(int d, const RotaryConfig& config) {
  const int rotated = 2 * static_cast<int>(config.fraction * d / 2);
  if (d < 2 || d % 2 != 0 || !(config.base > 0) || rotated < 2 || rotated > d || !(config.factor > 0)) {
    fail(
        "rotary_frequencies: expected an even d, a base and a factor above 0 and a fraction up to 1, got {}, {}, {}, "
        "{}",
        d, config.base, config.factor, config.fraction);
  }
  const std::size_t pairs = static_cast<std::size_t>(rotated) / 2;
  const bool is_positive = std::ranges::all_of(config.divisors, [](double divisor) { return divisor > 0; });
  if (!config.divisors.empty() && (config.divisors.size() != pairs || !is_positive)) {
    fail("rotary_frequencies: expected {} divisors above 0, one per pair, got {}", pairs,
         fmt::join(config.divisors, ", "));
  }
  std::vector<double> frequencies;
  for (std::size_t i = 0; i < pairs; ++i) {
    const double frequency = std::pow(config.base, -2.0 * static_cast<double>(i) / rotated);
    const double scaled = scaled_frequency(frequency, config);
    frequencies.push_back(config.divisors.empty() ? scaled : scaled / config.divisors[i]);
  }
  return frequencies;
}

RotaryEmbedding::RotaryEmbedding(int length, std::vector<double> frequencies, RotaryPairs pairing, DType dtype,
                                 double amplitude)
    : max_length(length), pairs(pairing) {
  if (max_length < 1 || frequencies.empty()) {
    fail("RotaryEmbedding: expected a max_length from 1 up and frequencies, got {} and {} frequencies", max_length,
         frequencies.size());
  }
  table_ = std::make_shared<Table>(std::move(frequencies), dtype, amplitude);
}

std::pair<Tensor, Tensor> RotaryEmbedding::up_to(std::int64_t end) const {
  Table& table = *table_;
  const std::lock_guard lock(table.mutex);
  const std::int64_t before = table.cosine.defined() ? table.cosine.size(0) : 0;
  if (end > before) {
    const std::int64_t rows = std::min<std::int64_t>(max_length, std::max({end, 2 * before, std::int64_t{64}}));
    std::vector<double> cosines, sines;
    for (std::int64_t t = 0; t < rows; ++t) {
      for (const double frequency : table.frequencies) {
        cosines.push_back(table.amplitude * std::cos(static_cast<double>(t) * frequency));
        sines.push_back(table.amplitude * std::sin(static_cast<double>(t) * frequency));
      }
    }
    const Shape shape{rows, std::ssize(table.frequencies)};
    table.cosine = tensor(shape, cosines, table.dtype);
    table.sine = tensor(shape, sines, table.dtype);
  }
  return {table.cosine, table.sine};
}

Tensor RotaryEmbedding::operator()(const Tensor& x, std::int64_t first) const {
  if (x.rank() < 2 || first < 0 || first + x.size(-2) > max_length) {
    fail("RotaryEmbedding: x {} starts at position {}, but the table ends at position {}", to_string(x.shape()), first,
         max_length);
  }
  const std::int64_t end = first + x.size(-2);
  const auto [cosine, sine] = up_to(end);
  return rotary(x, slice(cosine, 0, first, end), slice(sine, 0, first, end), pairs);
}

Linearised RotaryEmbedding::linearised(std::int64_t position) const {
  return {[rotation = *this, position](const Tensor& parts) {  // each part as a text of one token
    return squeeze(rotation(unsqueeze(parts, 1), position), 1);
  }};
}

}  // namespace heed
