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
      const auto composed = [&](auto&... x) { return attention_composed(x..., mask); };
      const auto fused = [&](auto&... x) { return attention(x..., mask); };
      const auto both = [&](auto&... x) { return attention(x..., mask, Weights::yes); };
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

TEST_CASE("attention accepts heads sliced from one projection, and keys broadcast with stride 0") {
  Random random(32);
  const Tensor projected = uniform({2, 7, 3, 4}, random);  // (B, T, H, d)
  const Tensor heads = permute(projected, {0, 2, 1, 3});
  const Tensor repeated = broadcast_to(uniform({1, 1, 7, 4}, random), {2, 3, 7, 4});
  const Tensor dO = uniform({2, 3, 7, 4}, random);
  const auto composed = [&](auto&... x) { return attention_composed(x..., Mask::causal()); };
  const auto fused = [&](auto&... x) { return attention(x..., Mask::causal()); };
  CHECK(difference(differentiate(heads, repeated, heads, dO, {}, fused),
                   differentiate(heads, repeated, heads, dO, {}, composed)) < 1e-12);
  const Tensor joined = permute(fused(heads, heads, heads).output, {0, 2, 1, 3});
  CHECK(joined.is_contiguous());  // joining the heads again copies nothing
}

TEST_CASE("Attention weights are a distribution over visible keys, and undefined unless requested") {
  Random random(33);
  const Tensor x = uniform({1, 2, 6, 4}, random);
  const Mask mask = Mask::causal() & Mask::padding(std::vector{4}, 6);
  CHECK_FALSE(attention(x, x, x, mask).weights.defined());
  const Tensor weights = attention(x, x, x, mask, Weights::yes).weights;
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
        return composed ? attention_composed(x..., mask) : attention(x..., mask, Weights::yes);
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
  const auto growth = [&](Weights weights) {
    reset_peak_memory();
    const std::int64_t before = memory_use().bytes_in_use;
    const Recording recording;
    const AttentionResult y = attention(x, x, x, {}, weights);
    backward(sum(y.output));
    return memory_use().peak_bytes - before;
  };
  CHECK(growth(Weights::no) < T * T * 4 / 8);
  CHECK(growth(Weights::yes) >= T * T * 4);  // the measurement detects T x T memory
}

TEST_CASE("Fused attention with options equals the composition and the formulas") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const double allowed = dtype == DType::float32 ? 3e-5 : 1e-12;
  Random random(36);
  constexpr double hide = -std::numeric_limits<double>::infinity();
  for (const auto& [T_q, T_k] : {std::pair<std::int64_t, std::int64_t>{5, 9}, {1, 300}, {140, 700}, {9, 5}, {33, 20}}) {
    for (const std::int64_t kv_heads : {4, 2, 1}) {
      const Tensor Q = variable(uniform({2, 4, T_q, 3}, random, dtype)),
                   K = variable(uniform({2, kv_heads, T_k, 3}, random, dtype));
      const Tensor V = variable(uniform({2, kv_heads, T_k, 5}, random, dtype));
      const Tensor bias = variable(uniform({4, kv_heads == 2 ? T_q : 1, T_k}, random, dtype)),
                   dO = uniform({2, 4, T_q, 5}, random, dtype);
      std::vector<std::uint8_t> visible;
      for (std::int64_t i = 0; i < 8 * T_k; ++i) visible.push_back(random.below(3) != 0);
      for (const Mask& mask :
           {Mask(), Mask::causal(), Mask::causal(Mask::Align::start), Mask::window(3, 2), Mask::window(6, 6),
            Mask::window(290, 0), Mask(Booleans({2, 4, 1, T_k}, visible)) & Mask::window(7, 0)}) {
        for (const AttentionOptions& chosen :
             {AttentionOptions{.mask = mask, .scale = 0.3}, AttentionOptions{.mask = mask, .soft_cap = 0.5},
              AttentionOptions{.mask = mask, .bias = bias},
              AttentionOptions{.mask = mask, .scale = 2, .soft_cap = 3, .bias = bias}}) {
          CAPTURE(T_q, T_k, kv_heads, chosen.scale, chosen.soft_cap, chosen.bias.defined(), heed::to_string(dtype));
          const Recording recording;
          const Tensor fused = attention(Q, K, V, chosen).output, composed = attention_composed(Q, K, V, chosen).output;
          CHECK(distance(fused, composed) < allowed);
          const Gradients g = backward(fused, dO), expected = backward(composed, dO);
          for (const Tensor* x : {&Q, &K, &V}) CHECK(distance(g[*x], expected[*x]) < allowed);
          if (chosen.bias.defined()) CHECK(distance(g[bias], expected[bias]) < allowed);
        }
      }
    }
  }
  // The composition by its formula, of one head read by two.
  const Tensor Q = uniform({2, 3, 4}, random, dtype), K = uniform({1, 5, 4}, random, dtype),
               V = uniform({1, 5, 2}, random, dtype);
  Tensor bias = uniform({3, 5}, random, dtype);
  bias = masked_fill(bias, Booleans({1, 5}, {0, 0, 1, 0, 0}), hide);
  const AttentionParts y =
      attention(Q, K, V, {.scale = 0.5, .soft_cap = 2, .bias = bias, .weights = Weights::yes, .scores = true});
  const Tensor scores = matmul(Q, transpose(K)) * 0.5, weights = softmax(tanh(scores / 2) * 2 + bias);
  CHECK(distance(y.scores, scores) < allowed);
  CHECK(distance(y.weights, weights) < allowed);
  CHECK(distance(y.output, matmul(weights, V)) < allowed);
  CHECK(distance(attention(Q, K, V, {.scale = 0.5, .soft_cap = 2, .bias = bias}).output, y.output) < allowed);
  CHECK(slice(y.weights, -1, 2, 3).to_vector() == std::vector<double>(6, 0));
  const AttentionParts alone = attention(Q, K, V, {.scale = 0.5, .soft_cap = 2, .bias = bias, .scores = true});
  CHECK(same_bits(alone.scores, y.scores));
  CHECK_FALSE(alone.weights.defined());
}

// Attention's formula, number by number: output, weights, and scores before cap, bias and mask.
struct ByNumber {
  Naive output, weights, scores;

  ByNumber(const Tensor& Q, const Tensor& K, const Tensor& V, const AttentionOptions& o)
      : output(Shape{Q.size(0), Q.size(1), Q.size(2), V.size(3)}),
        weights(Shape{Q.size(0), Q.size(1), Q.size(2), K.size(2)}),
        scores(weights.shape) {
    const std::int64_t T_q = Q.size(2), T_k = K.size(2), group = Q.size(1) / std::max<std::int64_t>(1, K.size(1));
    const double scale = o.scale == 0 ? 1 / std::sqrt(static_cast<double>(Q.size(3))) : o.scale;
    Naive bias(o.bias.defined() ? o.bias : zeros({}, DType::float64));
    Naive visible(o.mask.has_visible() ? where(o.mask.visible(), ones({}), zeros({})) : ones({}));
    for_each_index({Q.size(0), Q.size(1), T_q}, [&](const Shape& i) {
      const std::int64_t b = i[0], h = i[1], q = i[2];
      const std::int64_t key = o.mask.band().align == Mask::Align::end ? q + T_k - T_q : q;
      double total = 0;
      for (std::int64_t k = 0; k < T_k; ++k) {
        double s = 0;
        for (std::int64_t c = 0; c < Q.size(3); ++c) s += Q.at({b, h, q, c}) * K.at({b, h / group, k, c});
        scores[{b, h, q, k}] = s * scale;
        s = o.soft_cap > 0 ? o.soft_cap * std::tanh(s * scale / o.soft_cap) : s * scale;
        const bool sees =
            visible[{b, h, q, k}] != 0 && key - k <= o.mask.band().before && k - key <= o.mask.band().after;
        total += weights[{b, h, q, k}] = sees ? std::exp(s + bias[{b, h, q, k}]) : 0;
      }
      for (std::int64_t k = 0; k < T_k && total > 0; ++k) {
        const double w = weights[{b, h, q, k}] /= total;
        for (std::int64_t c = 0; c < V.size(3); ++c) output[{b, h, q, c}] += w * V.at({b, h / group, k, c});
      }
    });
  }
};

TEST_CASE("Attention with each option equals its formula, number by number") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const double allowed = dtype == DType::float32 ? 1e-5 : 1e-12;
  constexpr double hide = -std::numeric_limits<double>::infinity();
  Random random(38);
  const auto shapes = [](std::int64_t T_q, std::int64_t T_k) {  // some that broadcast to (2, 4, T_q, T_k)
    return std::vector<Shape>{
        {},          {T_k},          {T_q, T_k},   {T_q, 1},         {4, T_q, T_k},    {4, 1, T_k},
        {1, T_q, 1}, {2, 1, 1, T_k}, {1, 4, 1, 1}, {2, 4, T_q, T_k}, {2, 1, T_q, T_k}, {1, 1, T_q, T_k}};
  };
  for (const auto& [T_q, T_k] :
       {std::pair<std::int64_t, std::int64_t>{3, 5}, {5, 3}, {1, 70}, {4, 4}, {2, 0}, {0, 2}}) {
    for (const std::int64_t kv_heads : {4, 2, 1}) {
      const Tensor Q = uniform({2, 4, T_q, 3}, random, dtype), K = uniform({2, kv_heads, T_k, 3}, random, dtype),
                   V = uniform({2, kv_heads, T_k, 2}, random, dtype);
      std::vector<AttentionOptions> cases{{}, {.scale = -0.7}, {.scale = 3, .soft_cap = 0.5}};
      for (const Mask& mask :
           {Mask::causal(), Mask::causal(Mask::Align::start), Mask::window(1, 0),
            Mask::window(0, 2, Mask::Align::start),
            Mask::window(Mask::Band::unlimited, 1, Mask::Align::start),  // causal, after one past key
            Mask::padding(std::vector<int>{static_cast<int>(T_k) / 2, static_cast<int>(T_k)}, static_cast<int>(T_k)) &
                Mask::causal()}) {
        cases.push_back({.mask = mask});
      }
      for (const Shape& shape : shapes(T_q, T_k)) {
        std::vector<std::uint8_t> visible;
        for (std::int64_t i = 0; i < shape.numel(); ++i) visible.push_back(random.below(3) != 0);
        const Booleans seen(shape, visible);
        cases.push_back({.mask = Mask(seen)});
        cases.push_back({.bias = uniform(shape, random, dtype)});
        cases.push_back({.bias = masked_fill(uniform(shape, random, dtype), !seen, hide)});
        cases.push_back({.mask = Mask::causal() & Mask(seen), .soft_cap = 2, .bias = uniform(shape, random, dtype)});
      }
      for (const AttentionOptions& o : cases) {
        AttentionOptions all = o;
        all.weights = Weights::yes;
        CAPTURE(T_q, T_k, kv_heads, o.scale, o.soft_cap, heed::to_string(dtype), o.mask.has_band());
        CAPTURE(heed::to_string(o.mask.has_visible() ? o.mask.visible().shape() : o.bias.shape()));
        const ByNumber expected(Q, K, V, o);
        CHECK(distance(attention(Q, K, V, o).output, expected.output) < allowed);
        const AttentionParts weighted = attention(Q, K, V, all);
        CHECK(distance(weighted.output, expected.output) < allowed);
        CHECK(distance(weighted.weights, expected.weights) < allowed);
        all.scores = true;
        const AttentionParts parts = attention(Q, K, V, all);
        CHECK(distance(parts.output, expected.output) < allowed);
        CHECK(distance(parts.weights, expected.weights) < allowed);
        CHECK(distance(parts.scores, expected.scores) < allowed);
      }
    }
  }
}

TEST_CASE("Attention over a text in chunks with past keys equals attention over the whole text") {
  Random random(37);
  const Tensor x = uniform({1, 2, 12, 4}, random);
  const Tensor all = attention(x, x, x, Mask::causal()).output;
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 5}, {5, 6}, {6, 12}}) {
    const Tensor seen = slice(x, 2, 0, end);
    CHECK(distance(attention(slice(x, 2, begin, end), seen, seen, Mask::causal()).output, slice(all, 2, begin, end)) <
          1e-13);
  }
}

TEST_CASE("Wrong use of attention throws an Error that states what was expected") {
  const Tensor x = zeros({2, 3});
  check_messages(
      {{"attention: expected Q (..., T_q, d_k), K (..., T_k, d_k), V (..., T_k, d_v) of one dtype, got (2, 3), "
        "(2, 4), (2, 3)",
        [&] {
          attention(x, zeros({2, 4}), x);
        }},
       {"attention: a bias of shape (1, 2, 2) does not broadcast to the weights' (2, 2)",
        [&] {
          attention(x, x, x, AttentionOptions{.bias = zeros({1, 2, 2})});
        }},
       {"attention: a mask of shape (2, 2, 2) does not broadcast to the weights' (2, 2)",
        [&] {
          attention(x, x, x, Mask(Booleans({2, 2, 2}, std::vector<std::uint8_t>(8, 1))));
        }},
       {"attention: Q is float32, the bias float64",
        [&] {
          attention(x, x, x, AttentionOptions{.bias = zeros({2, 2}, DType::float64)});
        }},
       {"attention: expected a finite soft_cap above 0, or 0 for none, got -1",
        [&] { attention(x, x, x, AttentionOptions{.soft_cap = -1}); }},
       {"attention: expected a finite soft_cap above 0, or 0 for none, got nan",
        [&] { attention(x, x, x, AttentionOptions{.soft_cap = std::nan("")}); }},
       {"attention: expected a finite scale, got nan",
        [&] { attention(x, x, x, AttentionOptions{.scale = std::nan("")}); }},
       {"attention_composed: expected a finite scale, got inf",
        [&] { attention_composed(x, x, x, AttentionOptions{.scale = std::numeric_limits<double>::infinity()}); }},
       {"attention: d_k must be at least 1, got Q (2, 0)",
        [] {
          attention(zeros({2, 0}), zeros({3, 0}), zeros({3, 4}));
        }},
       {"attention_composed: watch replaced scores by float32 (2); expected the same dtype and shape, float32 (2, 2)",
        [&] {
          attention_composed(x, x, x, Mask(), [](std::string_view name, Tensor& value) {
            if (name == "scores") value = zeros({2});
          });
        }},
       {"attention_composed: expected a finite soft_cap above 0, or 0 for none, got 1e+300",
        [&] { attention_composed(x, x, x, AttentionOptions{.soft_cap = 1e300}); }}});
}

TEST_CASE("Errors of grouped-query attention quote the caller's shapes") {
  const Tensor Q = zeros({4, 3, 4}), K = zeros({2, 5, 4}), V = zeros({2, 5, 6});
  const auto mask = [](const Shape& shape) {
    return Mask(Booleans(shape, std::vector<std::uint8_t>(static_cast<std::size_t>(shape.numel()), 1)));
  };
  CHECK(attention(Q, K, V, AttentionOptions{.mask = mask({4, 1, 5}), .bias = zeros({1, 3, 5})}).output.shape() ==
        Shape{4, 3, 6});
  check_messages(
      {{"attention: bias: shapes (2, 3, 5) and (4, 3, 5) do not broadcast: 2 != 4 at axis -3. Sizes must be equal, or "
        "one of them 1",
        [&] {
          attention(Q, K, V, AttentionOptions{.bias = zeros({2, 3, 5})});
        }},
       {"attention: mask: shapes (2, 3, 5) and (4, 3, 5) do not broadcast: 2 != 4 at axis -3. Sizes must be equal, or "
        "one of them 1",
        [&] {
          attention(Q, K, V, mask({2, 3, 5}));
        }},
       {"attention_composed: mask: shapes (2, 3) and (4, 3, 5) do not broadcast: 3 != 5 at axis -1. Sizes must be "
        "equal, "
        "or one of them 1",
        [&] {
          attention_composed(Q, K, V, mask({2, 3}));
        }},
       {"attention: expected Q (..., T_q, d_k), K (..., T_k, d_k), V (..., T_k, d_v) of one dtype, got (4, 3, 4), "
        "(2, 5, 4), (4, 5, 6)",
        [&] {
          attention(Q, K, zeros({4, 5, 6}));
        }},
       {"attention: expected Q (..., T_q, d_k), K (..., T_k, d_k), V (..., T_k, d_v) of one dtype, got (4, 3, 4), "
        "(3, 5, 4), (3, 5, 4)",
        [&] {
          attention(Q, zeros({3, 5, 4}), zeros({3, 5, 4}));
        }}});
}
