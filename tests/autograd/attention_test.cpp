#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

#include <algorithm>

using namespace heed;

namespace {

struct Case {
  Shape batch;
  std::int64_t T_q, T_k, d_k, d_v;

  Shape with(std::int64_t rows, std::int64_t columns) const {
    Shape shape = batch;
    shape.append(rows);
    shape.append(columns);
    return shape;
  }
};

std::string to_string(const Case& c) {
  return fmt::format("batch {}, T_q {}, T_k {}, d_k {}, d_v {}", heed::to_string(c.batch), c.T_q, c.T_k, c.d_k, c.d_v);
}

Mask random_mask(const Shape& shape, Random& random) {
  std::vector<std::uint8_t> visible;
  for (std::int64_t i = 0; i < shape.numel(); ++i) visible.push_back(random.below(3) == 0);
  return Mask(Booleans(shape, visible));
}

// Hides the first `hidden` of T_k keys; with many keys these are whole tiles.
Mask last_keys(std::int64_t T_k, std::int64_t hidden) {
  std::vector<std::uint8_t> visible(static_cast<std::size_t>(T_k), 1);
  std::fill_n(visible.begin(), hidden, std::uint8_t{0});
  return Mask(Booleans({1, T_k}, visible));
}

std::vector<std::pair<std::string, Mask>> masks(const Case& c, Random& random) {
  const Mask boolean = random_mask({c.T_q, c.T_k}, random);
  std::vector<std::pair<std::string, Mask>> result{{"none", {}},
                                                   {"causal", Mask::causal()},
                                                   {"boolean", boolean},
                                                   {"boolean and causal", boolean & Mask::causal()},
                                                   {"of the whole shape", random_mask(c.with(c.T_q, c.T_k), random)},
                                                   {"of keys", random_mask({1, c.T_k}, random)},
                                                   {"of the last keys", last_keys(c.T_k, c.T_k * 5 / 6)},
                                                   {"of queries", random_mask({c.T_q, 1}, random)}};
  if (c.batch.rank() == 2) {
    std::vector<int> lengths(static_cast<std::size_t>(c.batch[0]));
    for (int& length : lengths) length = static_cast<int>(random.below(c.T_k + 1));
    const Mask padding = Mask::padding(lengths, static_cast<int>(c.T_k));
    result.emplace_back("padding", padding);
    result.emplace_back("padding and causal", padding & Mask::causal());
  }
  return result;
}

struct Outcome {
  Tensor output, weights, dQ, dK, dV;
};

// One form of attention and the gradients of its output and weights under fixed cotangents.
template <class F>
Outcome differentiate(const Tensor& Q_, const Tensor& K_, const Tensor& V_, const Tensor& d_output,
                      const Tensor& d_weights, F form) {
  const Tensor Q = variable(Q_), K = variable(K_), V = variable(V_);
  const Recording recording;
  const AttentionResult y = form(Q, K, V);
  Tensor loss = sum(y.output * d_output);
  if (d_weights.defined()) loss = loss + sum(y.weights * d_weights);
  const Gradients g = backward(loss);
  return {y.output.detach(), y.weights.detach(), g[Q], g[K], g[V]};
}

double difference(const Outcome& a, const Outcome& b) {
  double largest = 0;
  for (const auto part : {&Outcome::output, &Outcome::weights, &Outcome::dQ, &Outcome::dK, &Outcome::dV}) {
    if ((a.*part).defined()) largest = std::max(largest, distance(a.*part, b.*part));
  }
  return largest;
}

Tensor row(const Tensor& x, std::int64_t i) { return slice(x, -2, i, i + 1); }
Tensor without(const Tensor& x, std::int64_t i) {  // x without row i
  return concat({slice(x, -2, 0, i), slice(x, -2, i + 1, x.size(-2))}, -2);
}
bool is_zero(const Tensor& x) {
  const std::vector<double> values = x.to_vector();
  return std::all_of(values.begin(), values.end(), [](double v) { return v == 0; });
}

}  // namespace

TEST_CASE("Fused attention and its gradients equal the composition") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const double allowed = dtype == DType::float32 ? 2e-5 : 1e-12;
  Random random(31);
  for (const Case& c :
       {Case{{}, 1, 1, 1, 1}, Case{{}, 5, 5, 4, 4}, Case{{2, 3}, 9, 9, 4, 6}, Case{{2}, 65, 130, 8, 24},
        Case{{2, 2}, 130, 70, 5, 3}, Case{{1, 2}, 200, 200, 32, 16}, Case{{}, 3, 200, 7, 5}, Case{{}, 70, 1100, 8, 8},
        Case{{2}, 6, 17, 4, 3}, Case{{2, 2}, 64, 64, 8, 16}, Case{{3}, 33, 64, 5, 9}, Case{{}, 520, 300, 6, 4},
        Case{{2, 2}, 0, 3, 2, 2}, Case{{0, 2}, 3, 3, 2, 2}}) {
    for (const auto& [name, visible] : masks(c, random)) {
      const Mask& mask = visible;
      INFO(to_string(c) << ", mask " << name << ", " << to_string(dtype));
      const Tensor Q = uniform(c.with(c.T_q, c.d_k), random, dtype);
      const Tensor K = uniform(c.with(c.T_k, c.d_k), random, dtype);
      const Tensor V = uniform(c.with(c.T_k, c.d_v), random, dtype);
      const Tensor dO = uniform(c.with(c.T_q, c.d_v), random, dtype);
      const Tensor dP = uniform(c.with(c.T_q, c.T_k), random, dtype);
      const auto composed = [&](auto&... x) { return attention_composed(x..., {.mask = mask}); };
      const auto fused = [&](auto&... x) { return attention(x..., {.mask = mask}); };
      const auto both = [&](auto&... x) { return attention(x..., {.mask = mask, .weights = true}); };
      const Outcome expected = differentiate(Q, K, V, dO, {}, composed);
      CHECK(difference(differentiate(Q, K, V, dO, {}, fused), expected) < allowed);
      CHECK(difference(differentiate(Q, K, V, dO, dP, both), differentiate(Q, K, V, dO, dP, composed)) < allowed);
      CHECK(difference(differentiate(scattered(Q, random), scattered(K, random), scattered(V, random),
                                     scattered(dO, random), {}, fused),
                       expected) < allowed);
      CHECK(same_bits(fused(Q, K, V).output, both(Q, K, V).output));
    }
  }
}

TEST_CASE("A mask (B, 1, T_q, T_k) serves weights (B, T_q, T_k), and its attention equals that of each text") {
  Random random(35);
  const Tensor x = uniform({2, 3, 4}, random);
  const Mask mask = Mask::padding(std::vector{3, 1}, 3) & random_mask({2, 1, 3, 3}, random) & Mask::causal();
  const AttentionResult result = attention(x, x, x, {.mask = mask, .weights = true, .scores = true});
  const AttentionResult composed = attention_composed(x, x, x, {.mask = mask});
  CHECK(result.weights.shape() == Shape{2, 3, 3});
  for (int text = 0; text < 2; ++text) {
    const Mask own(slice(mask.visible(), 0, text, text + 1));
    const Tensor y = x[text], expected = attention(y, y, y, {.mask = own & Mask::causal()}).output;
    CHECK(distance(result.output[text], expected) < 1e-14);
    CHECK(distance(composed.output[text], expected) < 1e-14);
  }
  // The first axis of grouped-query attention has heads, so that a mask per text does not fit there.
  const Tensor one = slice(x, 0, 0, 1);
  CHECK(message([&] {
          attention(x, one, one, {.mask = Mask::padding(std::vector{3, 1}, 3)});
        }) == "attention: a mask of shape (2, 1, 1, 3) does not broadcast to the weights' (2, 3, 3)");
}

TEST_CASE("attention accepts heads sliced from one projection, and keys broadcast with stride 0") {
  Random random(32);
  const Tensor projected = uniform({2, 7, 3, 4}, random);  // (B, T, H, d)
  const Tensor heads = permute(projected, {0, 2, 1, 3});
  const Tensor repeated = broadcast_to(uniform({1, 1, 7, 4}, random), {2, 3, 7, 4});
  const Tensor dO = uniform({2, 3, 7, 4}, random);
  const auto composed = [&](auto&... x) { return attention_composed(x..., {.mask = Mask::causal()}); };
  const auto fused = [&](auto&... x) { return attention(x..., {.mask = Mask::causal()}); };
  CHECK(difference(differentiate(heads, repeated, heads, dO, {}, fused),
                   differentiate(heads, repeated, heads, dO, {}, composed)) < 1e-12);
  const Tensor joined = permute(fused(heads, heads, heads).output, {0, 2, 1, 3});
  CHECK(joined.is_contiguous());  // joining the heads again copies nothing
}

TEST_CASE("Attention weights are a distribution over visible keys, and undefined unless requested") {
  Random random(33);
  const Tensor x = uniform({1, 2, 6, 4}, random);
  const Mask mask = Mask::causal() & Mask::padding(std::vector{4}, 6);
  CHECK_FALSE(attention(x, x, x, {.mask = mask}).weights.defined());
  const Tensor weights = attention(x, x, x, {.mask = mask, .weights = true}).weights;
  for_each_index(weights.shape(), [&](const Shape& i) {
    const double w = weights.at({i[0], i[1], i[2], i[3]});
    CHECK((i[3] > i[2] || i[3] >= 4 ? w == 0 : w > 0));
  });
  CHECK(distance(sum(weights, {-1}), ones({1, 2, 6}, DType::float64)) < 1e-14);
}

TEST_CASE("A fully masked row gives exactly 0 everywhere and does not change other rows") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const std::int64_t T = GENERATE(3, 17, 40, 130);
  const std::int64_t fraction = GENERATE(1, 2, 1000);
  const std::int64_t keys = T / fraction + 1;  // visible to other queries; query `blind` sees all or none
  const std::int64_t blind = T / 2;
  INFO("T " << T << ", " << keys << " keys, " << to_string(dtype));
  Random random(34);
  const Tensor Q = uniform({T, 8}, random, dtype), K = uniform({T, 8}, random, dtype),
               V = uniform({T, 5}, random, dtype);
  std::vector<std::uint8_t> visible;
  for (std::int64_t i = 0; i < T * T; ++i) visible.push_back(i / T == blind || (i % T < keys && i % 3 != 0));
  const Mask seeing(Booleans({T, T}, visible));
  std::fill_n(visible.begin() + blind * T, T, std::uint8_t{0});
  const Mask blinded(Booleans({T, T}, visible));
  // A fully masked query passes no gradient back, so all other gradients must agree.
  Tensor dO = uniform({T, 5}, random, dtype), dP = uniform({T, T}, random, dtype);
  dO = concat({slice(dO, 0, 0, blind), zeros({1, 5}, dtype), slice(dO, 0, blind + 1, T)}, 0);
  dP = concat({slice(dP, 0, 0, blind), zeros({1, T}, dtype), slice(dP, 0, blind + 1, T)}, 0);
  for (const bool composed : {false, true}) {
    INFO((composed ? "composed" : "fused"));
    const auto run = [&](const Mask& mask, const Tensor& d_output) {
      return differentiate(Q, K, V, d_output, dP, [&](auto&... x) {
        return composed ? attention_composed(x..., {.mask = mask}) : attention(x..., {.mask = mask, .weights = true});
      });
    };
    const Outcome a = run(blinded, dO), b = run(seeing, dO);
    CHECK(is_zero(row(a.output, blind)));
    CHECK(is_zero(row(a.weights, blind)));
    CHECK(is_zero(row(a.dQ, blind)));
    CHECK_FALSE(is_zero(row(b.output, blind)));
    CHECK(same_bits(without(a.output, blind), without(b.output, blind)));
    CHECK(same_bits(without(a.weights, blind), without(b.weights, blind)));
    CHECK(same_bits(without(a.dQ, blind), without(b.dQ, blind)));
    CHECK(same_bits(a.dK, b.dK));
    CHECK(same_bits(a.dV, b.dV));
    // Hidden keys and the fully masked query get gradients of exactly 0 for any cotangent.
    const Outcome loud = run(blinded, uniform({T, 5}, random, dtype));
    CHECK(is_zero(row(loud.dQ, blind)));
    const std::int64_t seen = std::min(keys, T);
    CHECK(is_zero(slice(loud.dK, 0, seen, T)));
    CHECK(is_zero(slice(loud.dV, 0, seen, T)));
  }
}

TEST_CASE("Fused attention does not allocate T x T memory") {
  constexpr std::int64_t T = 4096;
  Random random(35);
  const Tensor x = variable(uniform({T, 4}, random, DType::float32));
  const auto growth = [&](bool weights) {
    reset_peak_memory();
    const std::int64_t before = memory_use().bytes_in_use;
    const Recording recording;
    const AttentionResult y = attention(x, x, x, {.weights = weights});
    backward(sum(y.output));
    return memory_use().peak_bytes - before;
  };
  CHECK(growth(false) < T * T * 4 / 8);
  CHECK(growth(true) >= T * T * 4);  // the measurement detects T x T memory
}

TEST_CASE("Attention over a text in chunks with past keys equals attention over the whole text") {
  Random random(37);
  const Tensor x = uniform({1, 2, 12, 4}, random);
  const Tensor all = attention(x, x, x, {.mask = Mask::causal()}).output;
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 5}, {5, 6}, {6, 12}}) {
    const Tensor seen = slice(x, 2, 0, end);
    CHECK(distance(attention(slice(x, 2, begin, end), seen, seen, {.mask = Mask::causal()}).output,
                   slice(all, 2, begin, end)) < 1e-13);
  }
}
