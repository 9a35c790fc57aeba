#include "tests/autograd/helpers.h"

#include <heed/nn/rotary_embedding.h>

#include <numbers>

using namespace heed;

TEST_CASE("Products of vectors rotated by RotaryEmbedding depend only on their distance") {
  const RotaryPairs pairs = GENERATE(RotaryPairs::halves, RotaryPairs::interleaved);
  const RotaryEmbedding rotate(20, rotary_frequencies(6, {.base = 100}), pairs, DType::float64);
  Random random(3);
  const Tensor q = uniform({1, 6}, random), k = uniform({1, 6}, random);
  const auto product = [&](std::int64_t i, std::int64_t j) { return sum(rotate(q, i) * rotate(k, j)).item(); };
  CHECK(product(5, 2) == Approx(product(17, 14)));
  CHECK(std::abs(product(5, 2) - product(5, 3)) > 1e-3);
  CHECK(rotary_frequencies(6, {.base = 100}) ==
        std::vector<double>{1, std::pow(100, -2.0 / 6), std::pow(100, -4.0 / 6)});
  CHECK(message([&] { rotate(q, 20); }) ==
        "RotaryEmbedding: x (1, 6) starts at position 20, but the table ends at position 20");
}

TEST_CASE("RotaryEmbedding rotates a fraction of the features and keeps the rest") {
  const RotaryPairs pairs = GENERATE(RotaryPairs::halves, RotaryPairs::interleaved);
  // 0.75 of 6 features are 4.5: 4 are rotated.
  const std::vector<double> frequencies = rotary_frequencies(6, {.base = 100, .fraction = 0.75});
  CHECK(frequencies == std::vector<double>{1, std::pow(100, -2.0 / 4)});
  const RotaryEmbedding rotate(9, frequencies, pairs, DType::float64), whole(9, frequencies, pairs, DType::float64);
  Random random(4);
  const Tensor x = uniform({2, 5, 6}, random), y = rotate(x, 3);
  CHECK(same_bits(slice(y, -1, 4, 6), slice(x, -1, 4, 6)));
  CHECK(distance(slice(y, -1, 0, 4), whole(slice(x, -1, 0, 4), 3)) < 1e-15);
  CHECK(distance(slice(y, -1, 0, 4), slice(x, -1, 0, 4)) > 0.1);
}

TEST_CASE("Linear scaling divides all frequencies; llama3 divides low ones and interpolates to high ones") {
  const std::vector<double> plain = rotary_frequencies(16, {.base = 1000});
  const std::vector<double> linear =
      rotary_frequencies(16, {.base = 1000, .scaling = RotaryScaling::linear, .factor = 4});
  const RotaryConfig config{.base = 1000, .scaling = RotaryScaling::llama3, .factor = 4, .original_length = 64};
  const std::vector<double> llama3 = rotary_frequencies(16, config);
  int divided = 0, between = 0, kept = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CHECK(linear[i] == plain[i] / 4);
    const double turns = 64 * plain[i] / (2 * std::numbers::pi);
    if (turns < 1) {
      CHECK(llama3[i] == plain[i] / 4);
      ++divided;
    } else if (turns > 4) {
      CHECK(llama3[i] == plain[i]);
      ++kept;
    } else {
      const double share = (turns - 1) / 3;
      CHECK(llama3[i] == Approx(plain[i] * (share + (1 - share) / 4)));
      ++between;
    }
  }
  CHECK((divided > 0 && between > 0 && kept > 0));
  CHECK(message([] { rotary_frequencies(4, {.scaling = static_cast<RotaryScaling>(9)}); }) ==
        "rotary_frequencies: 9 is not a scaling");
}

TEST_CASE("Divisors divide each frequency, and an amplitude multiplies the rotated features") {
  const RotaryConfig config{.base = 100, .scaling = RotaryScaling::linear, .factor = 2, .divisors = {1, 4}};
  const std::vector<double> frequencies = rotary_frequencies(4, config);
  CHECK(frequencies == std::vector<double>{0.5, 0.1 / 2 / 4});
  const RotaryEmbedding plain(9, frequencies, RotaryPairs::halves, DType::float64);
  const RotaryEmbedding larger(9, frequencies, RotaryPairs::halves, DType::float64, 1.5);
  Random random(6);
  const Tensor x = uniform({3, 6}, random), y = larger(x, 2);
  CHECK(distance(slice(y, -1, 0, 4), slice(plain(x, 2), -1, 0, 4) * 1.5) < 1e-15);
  CHECK(same_bits(slice(y, -1, 4, 6), slice(x, -1, 4, 6)));  // the other features are unchanged
  CHECK(message([] { rotary_frequencies(4, {.divisors = {1}}); }) ==
        "rotary_frequencies: expected 2 divisors above 0, one per pair, got 1");
  CHECK(message([] {
          rotary_frequencies(4, {.divisors = {1, -2}});
        }) == "rotary_frequencies: expected 2 divisors above 0, one per pair, got 1, -2");
}

TEST_CASE("RotaryEmbedding gives the same bits whatever texts it rotated before") {
  const std::vector<double> frequencies = rotary_frequencies(4);
  const RotaryEmbedding grown(1000, frequencies), fresh(1000, frequencies);
  Random random(7);
  const Tensor x = uniform({900, 4}, random, DType::float32);
  for (const std::int64_t end : {1, 64, 65, 300, 900}) grown(slice(x, 0, 0, end));
  CHECK(same_bits(grown(slice(x, 0, 0, 50), 700), fresh(slice(x, 0, 0, 50), 700)));
}

TEST_CASE("The linear form of RotaryEmbedding at a position equals the rotation there") {
  const RotaryEmbedding rotate(9, rotary_frequencies(6, {.fraction = 0.7}), RotaryPairs::interleaved, DType::float64);
  Random random(5);
  const Tensor parts = uniform({4, 6}, random);
  const Linearised form = rotate.linearised(7);
  CHECK_FALSE(form.constant.defined());
  CHECK(distance(sum(form.linear(parts), {0}, true), rotate(sum(parts, {0}, true), 7)) < 1e-14);
}

TEST_CASE("RotaryEmbedding and rotary_frequencies reject invalid sizes and constants") {
  const auto refused = [](int d, const std::string& base, const std::string& factor, const std::string& fraction) {
    return fmt::format(
        "rotary_frequencies: expected an even d, a base and a factor above 0 and a fraction up to 1, got {}, {}, {}, "
        "{}",
        d, base, factor, fraction);
  };
  check_messages({{"RotaryEmbedding: expected a max_length from 1 up and frequencies, got 0 and 1 frequencies",
                   [] { RotaryEmbedding(0, {1}); }},
                  {"RotaryEmbedding: expected a max_length from 1 up and frequencies, got 4 and 0 frequencies",
                   [] { RotaryEmbedding(4, {}); }},
                  {refused(5, "100", "1", "1"), [] { rotary_frequencies(5, {.base = 100}); }},
                  {refused(4, "nan", "1", "1"), [] { rotary_frequencies(4, {.base = std::nan("")}); }},
                  {refused(4, "10000", "0", "1"), [] { rotary_frequencies(4, {.factor = 0}); }},
                  {refused(4, "10000", "1", "0.25"), [] { rotary_frequencies(4, {.fraction = 0.25}); }},
                  {refused(4, "10000", "1", "1.5"), [] { rotary_frequencies(4, {.fraction = 1.5}); }}});
}
