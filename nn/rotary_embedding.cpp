#include <heed/nn/rotary_embedding.h>

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
  fail("rotary_frequencies: {} is no scaling", static_cast<int>(config.scaling));
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
  std::vector<double> frequencies;
  for (int i = 0; i < rotated; i += 2) {
    frequencies.push_back(scaled_frequency(std::pow(config.base, -static_cast<double>(i) / rotated), config));
  }
  return frequencies;
}

RotaryEmbedding::RotaryEmbedding(int max_length, const std::vector<double>& frequencies, RotaryPairs pairing,
                                 DType dtype)
    : pairs(pairing) {
  if (max_length < 1 || frequencies.empty()) {
    fail("RotaryEmbedding: expected a max_length from 1 up and frequencies, got {} and {} frequencies", max_length,
         frequencies.size());
  }
  std::vector<double> cosines, sines;
  for (int t = 0; t < max_length; ++t) {
    for (const double frequency : frequencies) {
      cosines.push_back(std::cos(t * frequency));
      sines.push_back(std::sin(t * frequency));
    }
  }
  const Shape shape{max_length, std::ssize(frequencies)};
  cosine = tensor(shape, cosines, dtype);
  sine = tensor(shape, sines, dtype);
}

Tensor RotaryEmbedding::operator()(const Tensor& x, std::int64_t first) const {
  if (x.rank() < 2 || first < 0 || first + x.size(-2) > cosine.size(0)) {
    fail("RotaryEmbedding: x {} starts at position {}, but the table ends at position {}", to_string(x.shape()), first,
         cosine.size(0));
  }
  const std::int64_t end = first + x.size(-2);
  return rotary(x, slice(cosine, 0, first, end), slice(sine, 0, first, end), pairs);
}

Linearised RotaryEmbedding::linearised(std::int64_t position) const {
  return {[rotation = *this, position](const Tensor& parts) {  // each part as a text of one token
    return squeeze(rotation(unsqueeze(parts, 1), position), 1);
  }};
}

}  // namespace heed
