#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/autograd/ops.h>
#include <heed/nn/linearised.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace heed {

template <>
inline constexpr EnumName<RotaryPairs> enum_names<RotaryPairs>[] = {{RotaryPairs::halves, "halves"},
                                                                    {RotaryPairs::interleaved, "neighbours"}};

/// Scaling of the frequencies for texts longer than those of training.
///
///     linear  positions are divided by `factor` (Chen et al. 2023, arXiv:2306.15595)
///     llama3  low frequencies are divided by `factor`, high ones are unchanged, with a smooth transition (Llama 3.1)
enum class RotaryScaling { none, linear, llama3 };
template <>
inline constexpr EnumName<RotaryScaling> enum_names<RotaryScaling>[] = {
    {RotaryScaling::none, "none"}, {RotaryScaling::linear, "linear"}, {RotaryScaling::llama3, "llama3"}};

/// Constants of a rotary embedding.
struct RotaryConfig {
  double base = 10000;
  double fraction = 1;  ///< share of each head's features that is rotated
  RotaryPairs pairs = RotaryPairs::halves;
  RotaryScaling scaling = RotaryScaling::none;
  double factor = 1;               ///< of the scaling
  double low_frequency = 1;        ///< llama3: frequencies with fewer turns within `original_length` are divided
  double high_frequency = 4;       ///< llama3: frequencies with more turns stay
  int original_length = 8192;      ///< llama3: length of the texts of training
  std::vector<double> divisors{};  ///< of each pair's frequency, beside the scaling (YaRN, LongRoPE); empty: 1 each
  double amplitude = 1;            ///< factor of cosines and sines (attention factor of YaRN and LongRoPE)

  /// Calls field(name, value, ...) for each field, as TransformerConfig does.
  static void for_each_field(auto& self, auto&& field) {
    field("base", self.base, 1.0);
    field("fraction", self.fraction, 0.0);
    field("pairs", self.pairs);
    field("scaling", self.scaling);
    field("factor", self.factor, 0.0);
    field("low_frequency", self.low_frequency, 0.0);
    field("high_frequency", self.high_frequency, 0.0);
    field("original_length", self.original_length, 1);
    field("divisors", self.divisors, 0.0);
    field("amplitude", self.amplitude, 0.0);
  }
};

/// Returns the angle per position of each pair of `d` features: base^(-2i/r) for i from 0 to r/2 - 1, scaled as `config`
/// says, where r = fraction * d, rounded down to an even number. Throws `Error` when no pair is left, and when there are
/// divisors but not one above 0 per pair.
std::vector<double> rotary_frequencies(int d, const RotaryConfig& config = {});

/// Rotary position embedding (Su et al. 2021, arXiv:2104.09864): rotates pair i at position t by t frequencies[i], and
/// multiplies it by `amplitude`. Features beyond the pairs stay as they are. It has no parameters. Copies share one table of
/// cosines and sines, which grows to the longest text so far; threads may use it at the same time.
///
///     const RotaryEmbedding rotary(1024, rotary_frequencies(64));
///     const Tensor Q = rotary(q);   // (B, heads, T, 64)
struct RotaryEmbedding {
  int max_length;
  RotaryPairs pairs;
  /// Pair i turns by frequencies[i] per position.
  RotaryEmbedding(int max_length, std::vector<double> frequencies, RotaryPairs pairs = RotaryPairs::halves,
                  DType dtype = DType::float32, double amplitude = 1);
  /// Rotates x (..., T, d), whose first token is at position `first`. Throws `Error` beyond max_length.
  Tensor operator()(const Tensor& x, std::int64_t first = 0) const;
  /// Returns the rotation at one position.
  Linearised linearised(std::int64_t position) const;

 private:
  struct Table {
    std::vector<double> frequencies;
    DType dtype;
    double amplitude;
    std::mutex mutex{};
    Tensor cosine{}, sine{};  // (positions so far, pairs)
    Table(std::vector<double> f, DType t, double a) : frequencies(std::move(f)), dtype(t), amplitude(a) {}
  };
  /// Returns the cosines and sines of the first `end` positions, or more.
  std::pair<Tensor, Tensor> up_to(std::int64_t end) const;
  std::shared_ptr<Table> table_;
};

}  // namespace heed
