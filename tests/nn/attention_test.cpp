#include "tests/golden.h"
#include "tests/message.h"

#include <heed/nn/attention.h>

using namespace heed;

namespace {

// As in make_golden.py: scale sin(i^2 mod 10007 + phase), rounded to float32.
Tensor waves(const Shape& shape, double phase, double scale, DType dtype) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    values.push_back(static_cast<float>(scale * std::sin(static_cast<double>(i * i % 10007) + phase)));
  }
  return tensor(shape, values, dtype);
}

struct Case {
  std::string name;
  AttentionConfig config;
  Mask mask;
};

}  // namespace

TEST_CASE("MultiHeadAttention and its gradients match PyTorch") {
  const Golden golden("attention");
  const AttentionConfig sizes{.d_model = 10, .heads = 3, .d_k = 4, .d_v = 2, .bias = true};
  const Mask padding = Mask::padding(std::vector{5, 2}, 5), other_padding = Mask::padding(std::vector{3, 5}, 5);
  const Case chosen = GENERATE_REF(values<Case>({
      {"one_head", {.d_model = 6, .bias = true}, {}},
      {"without_bias", {.d_model = 8, .heads = 4, .output_bias = false}, {}},
      {"sizes", sizes, {}},
      {"padding", sizes, padding},
      {"causal", sizes, Mask::causal()},
      {"both", sizes, Mask::causal() & other_padding},
      {"boolean", sizes, Mask(golden.booleans("boolean.visible"))},
  }));
  const auto& name = chosen.name;
  const auto& mask = chosen.mask;
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(name, to_string(dtype));
  Parameters parameters;
  const MultiHeadAttention layer(Scope(parameters, 1, dtype), chosen.config);
  golden.load(name, parameters);
  const Tensor x = variable(golden(name + ".x", dtype));

  check_case(golden, name, joined({{"x", x}}, parameters), [&] { return layer(x, mask).output; });
  check_case(golden, name, joined({{"x", x}}, parameters), [&] {
    const AttentionResult attended = layer(x, mask, {.weights = true});
    CHECK(error(attended.weights, golden(name + ".weights")) <= tolerance(dtype));
    return attended.output;
  });
}

TEST_CASE("MultiHeadAttention with separate queries equals those rows of self-attention") {
  Parameters parameters;
  const MultiHeadAttention layer(Scope(parameters, 1, DType::float64), {.d_model = 8, .heads = 2});
  const Mask mask = Mask::padding(std::vector{5, 3}, 5);
  const Tensor x = waves({2, 5, 8}, 0, 1, DType::float64);
  const AttentionResult all = layer(x, mask, {.weights = true}),
                        some = layer(slice(x, 1, 1, 3), x, mask, {.weights = true});
  CHECK(some.output.shape() == Shape{2, 2, 8});
  CHECK(error(some.output, slice(all.output, 1, 1, 3)) <= 1e-14);
  CHECK(error(some.weights, slice(all.weights, 2, 1, 3)) <= 1e-14);
  CHECK(message([&] {
          layer(ones({2, 2, 7}), x, mask, {});
        }) == "MultiHeadAttention: expected x (B, T, 8), got (2, 2, 7)");
}

TEST_CASE("MultiHeadAttention with 4 heads on (5, 7, 32) matches PyTorch") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(to_string(dtype));
  Parameters parameters;
  const MultiHeadAttention layer(Scope(parameters, 1, dtype), {.d_model = 32, .heads = 4});
  NamedTensors weights{{"W_O.bias", waves({32}, 5, 1, dtype)}};
  for (int k = 0; const char* name : {"W_Q", "W_K", "W_V", "W_O"}) {
    weights.emplace_back(std::string(name) + ".weight", waves({32, 32}, ++k, 0.2, dtype));
  }
  parameters.load(weights, "waves");  // strict: no other bias exists

  const Golden golden("attention");
  const Tensor x = variable(waves({5, 7, 32}, 0, 1, dtype));
  const Recording recording;
  const auto [output, attention, scores] = layer(x, {}, {.weights = true});
  CHECK(error(output, golden("four_heads.output")) <= tolerance(dtype));
  CHECK(error(attention, golden("four_heads.weights")) <= tolerance(dtype));
  const Gradients gradients = backward(output, waves({5, 7, 32}, 6, 0.25, dtype));
  CHECK(error(gradients[x], golden("four_heads.gradient.x")) <= tolerance(dtype));
}

TEST_CASE("Single-head attention from 512 to 64 dimensions matches PyTorch") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const bool masked = GENERATE(false, true);
  CAPTURE(to_string(dtype), masked);
  std::vector<std::uint8_t> visible;
  for (int i = 0; i < 100; ++i) visible.push_back((i / 10 + i % 10) % 2 == 0);
  const Mask mask = masked ? Mask(Booleans({10, 10}, visible)) : Mask();
  const std::string name = masked ? "wide_masked" : "wide";

  const Golden golden("attention");
  const Tensor x = waves({2, 10, 512}, 0, 1, dtype);
  const Tensor W_Q = variable(waves({512, 64}, 1, 0.06, dtype));
  const Recording recording;
  const Tensor Q = linear(x, W_Q, waves({64}, 4, 1, dtype));
  const Tensor K = linear(x, waves({512, 64}, 2, 0.06, dtype), waves({64}, 5, 1, dtype));
  const Tensor V = linear(x, waves({512, 64}, 3, 0.06, dtype), waves({64}, 6, 1, dtype));
  const auto [output, weights, scores] = attention(Q, K, V, {.mask = mask, .weights = true});
  CHECK(error(output, golden(name + ".output")) <= tolerance(dtype));
  CHECK(error(weights, golden(name + ".weights")) <= tolerance(dtype));
  const Gradients gradients = backward(output, waves({2, 10, 64}, 7, 0.25, dtype));
  CHECK(error(slice(gradients[W_Q], 0, 0, 512, 64), golden(name + ".gradient.W_Q")) <= tolerance(dtype));
}

TEST_CASE("The packed heads equal separate heads that are concatenated") {
  Parameters parameters;
  const MultiHeadAttention layer(Scope(parameters, 1, DType::float64), {.d_model = 12, .heads = 3, .d_k = 5, .d_v = 2});
  const Tensor x = waves({2, 4, 12}, 0, 1, DType::float64);
  std::vector<Tensor> heads;
  for (int h = 0; h < 3; ++h) {
    const auto project = [&](const Linear& W, int d) { return matmul(x, slice(W.weight, 1, h * d, (h + 1) * d)); };
    heads.push_back(attention_composed(project(layer.W_Q, 5), project(layer.W_K, 5), project(layer.W_V, 2)).output);
  }
  CHECK(error(layer.W_O(concat(heads, -1)), layer(x).output) <= 1e-12);
}

TEST_CASE("Tied matrices are one parameter, whose gradient is the sum of both gradients") {
  const auto tie = GENERATE(Tie::K_is_V, Tie::Q_is_K);
  const auto [shared, copy] = tie == Tie::K_is_V ? std::pair("W_K", "W_V") : std::pair("W_Q", "W_K");
  CAPTURE(shared, copy);
  Parameters tied_parameters, free_parameters;
  AttentionConfig config{.d_model = 6, .heads = 2, .bias = true};
  const MultiHeadAttention free(Scope(free_parameters, 2, DType::float64), config);
  config.tie = tie;
  const MultiHeadAttention tied(Scope(tied_parameters, 1, DType::float64), config);
  CHECK(tied_parameters.size() == free_parameters.size() - 2);
  CHECK(!tied_parameters.contains(std::string(copy) + ".weight"));

  NamedTensors values(tied_parameters.begin(), tied_parameters.end());
  for (const char* kind : {".weight", ".bias"})
    values.emplace_back(std::string(copy) + kind, tied_parameters[std::string(shared) + kind]);
  free_parameters.load(values, "tied");

  const Tensor x = waves({2, 4, 6}, 0, 1, DType::float64), cotangent = waves({2, 4, 6}, 1, 1, DType::float64);
  const Recording recording;
  const Tensor output = tied(x).output, expected = free(x).output;
  CHECK(error(output, expected) <= 1e-12);
  const Gradients gradients = backward(output, cotangent), separate = backward(expected, cotangent);
  for (const std::string kind : {".weight", ".bias"}) {
    const Tensor sum = separate[free_parameters[shared + kind]] + separate[free_parameters[copy + kind]];
    CHECK(error(gradients[tied_parameters[shared + kind]], sum) <= 1e-12);
  }
}

TEST_CASE("Grouped-query attention and its gradients equal attention with repeated keys and values") {
  Parameters few, many;
  const AttentionConfig config{.d_model = 8, .heads = 4, .kv_heads = 2, .bias = true};
  const MultiHeadAttention sharing(Scope(few, 1, DType::float64), config);
  AttentionConfig each = config;
  each.kv_heads = 0;
  const MultiHeadAttention apart(Scope(many, 2, DType::float64), each);
  NamedTensors values;
  const auto repeated = [](const Tensor& x) {  // (n, 4) -> (n, 8), each head of 2 columns twice
    const int axis = x.rank() - 1;
    const Tensor first = slice(x, axis, 0, 2), second = slice(x, axis, 2, 4);
    return concat({first, first, second, second}, axis);
  };
  for (const auto& [name, value] : few) {
    const bool is_shared = name.starts_with("W_K") || name.starts_with("W_V");
    values.emplace_back(name, is_shared ? repeated(value.detach()) : value.detach());
  }
  many.load(values, "few");
  const Tensor x = waves({2, 5, 8}, 0, 1, DType::float64), dy = waves({2, 5, 8}, 1, 1, DType::float64);
  const Recording recording;
  const AttentionResult a = sharing(x, Mask::causal(), {.weights = true}),
                        b = apart(x, Mask::causal(), {.weights = true});
  CHECK(error(a.output, b.output) <= 1e-13);
  CHECK(a.weights.shape() == Shape{2, 4, 5, 5});
  CHECK(error(a.weights, b.weights) <= 1e-13);
  const Gradients g = backward(a.output, dy), h = backward(b.output, dy);
  const Tensor each_W_K = h[many["W_K.weight"]];  // (8, 8)
  const auto head = [&](int i) { return slice(each_W_K, 1, 2 * i, 2 * i + 2); };
  CHECK(error(g[few["W_K.weight"]], concat({head(0) + head(1), head(2) + head(3)}, 1)) <= 1e-12);
}

TEST_CASE("Attention under a hook gives the output and gradients of fused attention, with all options") {
  Parameters parameters;
  const MultiHeadAttention layer(
      Scope(parameters, 1, DType::float64) / "a",
      {.d_model = 8, .heads = 4, .kv_heads = 2, .query_key_norm = QueryKeyNorm::heads, .scale = 0.7, .soft_cap = 1.5},
      RotaryEmbedding(6, rotary_frequencies(2), RotaryPairs::halves, DType::float64));
  const Tensor x = variable(waves({1, 5, 8}, 0, 1, DType::float64)), dy = waves({1, 5, 8}, 1, 1, DType::float64);
  const Recording recording;
  const Tensor fused = layer(x, Mask::causal()).output;
  Tensor shown;
  std::vector<std::string> names;
  {
    const Hook hook([&](const std::string& name, Tensor&) { names.push_back(name); });
    shown = layer(x, Mask::causal()).output;
  }
  for (const char* name : {"a.Q", "a.K", "a.scores", "a.weights", "a.heads", "a.output", "a.q_norm.output"}) {
    CHECK(std::count(names.begin(), names.end(), name) == 1);
  }
  CHECK(error(shown, fused) <= 1e-13);
  const Gradients g = backward(fused, dy), h = backward(shown, dy);
  CHECK(error(g[x], h[x]) <= 1e-12);
  for (const auto& [name, parameter] : parameters) CHECK(error(g[parameter], h[parameter]) <= 1e-12);
}

TEST_CASE("With a rotary embedding, scores depend only on the distance between two tokens") {
  Parameters parameters;
  const MultiHeadAttention layer(Scope(parameters, 1, DType::float64), {.d_model = 8, .heads = 2},
                                 RotaryEmbedding(9, rotary_frequencies(4), RotaryPairs::halves, DType::float64));
  const Tensor token = waves({1, 1, 8}, 0, 1, DType::float64), other = waves({1, 1, 8}, 3, 1, DType::float64);
  const Tensor weights = layer(concat({token, other, token, other, token}, 1), {}, {.weights = true}).weights;
  const auto score = [&](int i, int j) { return std::log(weights.at({0, 0, i, j}) / weights.at({0, 0, i, i})); };
  CHECK(score(2, 1) == Approx(score(4, 3)));
  CHECK(std::abs(score(2, 1) - score(2, 3)) > 1e-3);
  CHECK(message([&] {
          layer(slice(token, 1, 0, 1), concat({token, other}, 1), {}, {});
        }) == "MultiHeadAttention: rotary embeddings need a position for each query, got 1 queries for 2 tokens");
}

namespace {

// Computes queries, keys and values (2, heads, 5, d) of a layer from its parameters.
struct Projections {
  Tensor Q, K, V;
  Projections(const AttentionConfig& config, const Parameters& parameters, const Tensor& x) {
    const auto split = [](const Tensor& y, int heads) {
      return transpose(reshape(y, {2, 5, heads, y.size(2) / heads}), 1, 2);
    };
    const auto normalised = [&](const Tensor& y, const char* gain) {
      return y / sqrt(mean(square(y), {-1}, true) + config.query_key.epsilon) * parameters[gain];
    };
    const auto made = [&](const char* W, const char* gain, int heads) {
      Tensor y = matmul(x, parameters[std::string(W) + ".weight"]);
      if (config.query_key_norm == QueryKeyNorm::all) y = normalised(y, gain);
      y = split(y, heads);
      return config.query_key_norm == QueryKeyNorm::heads ? normalised(y, gain) : y;
    };
    Q = made("W_Q", "q_norm.gain", config.heads);
    K = made("W_K", "k_norm.gain", config.keys());
    V = split(matmul(x, parameters["W_V.weight"]), config.keys());
  }
};

// Gives gains and biases values that are not 1 and 0.
void shake_attention(const Parameters& parameters) {
  for (double phase = 10; const auto& [name, parameter] : parameters) {
    Tensor(parameter).copy_from(parameter + waves(parameter.shape(), ++phase, 0.3, DType::float64));
  }
}

}  // namespace

TEST_CASE("Score scale, soft cap and query-key norms equal a composition by hand") {
  AttentionConfig config{.d_model = 8, .heads = 4, .kv_heads = 2, .output_bias = false};
  config.query_key_norm = GENERATE(QueryKeyNorm::none, QueryKeyNorm::heads, QueryKeyNorm::all);
  config.scale = GENERATE(0.0, 0.9);
  config.soft_cap = GENERATE(0.0, 0.5);
  config.query_key.epsilon = GENERATE(1e-6, 0.1);
  CAPTURE(name_of(config.query_key_norm), config.scale, config.soft_cap, config.query_key.epsilon);
  Parameters parameters;
  const MultiHeadAttention layer(Scope(parameters, 1, DType::float64), config);
  if (config.query_key_norm != QueryKeyNorm::none) {
    const bool over_all = config.query_key_norm == QueryKeyNorm::all;
    CHECK(parameters["q_norm.gain"].shape() == Shape{over_all ? 8 : 2});
    CHECK(parameters["k_norm.gain"].shape() == Shape{over_all ? 4 : 2});
  }
  shake_attention(parameters);
  const Tensor x = waves({2, 5, 8}, 0, 1, DType::float64);
  const Projections projected(config, parameters, x);
  const auto repeated = [](const Tensor& y) {  // (2, 2, 5, d) -> (2, 4, 5, d)
    const Tensor first = slice(y, 1, 0, 1), second = slice(y, 1, 1, 2);
    return concat({first, first, second, second}, 1);
  };
  const double scale = config.scale > 0 ? config.scale : 1 / std::sqrt(2.0);
  CHECK(layer.score_scale() == Approx(scale));
  Tensor scores = matmul(projected.Q, transpose(repeated(projected.K))) * scale;
  if (config.soft_cap > 0) scores = tanh(scores / config.soft_cap) * config.soft_cap;
  const Tensor weights = softmax(scores);
  const Tensor heads = reshape(transpose(matmul(weights, repeated(projected.V)), 1, 2), {2, 5, 8});
  const AttentionResult given = layer(x, {}, {.weights = true});
  CHECK(error(given.weights, weights) <= 1e-13);
  CHECK(error(given.output, matmul(heads, parameters["W_O.weight"])) <= 1e-13);
}

TEST_CASE("Linear forms of queries, keys and values, summed over input parts, give the exact values") {
  AttentionConfig config{.d_model = 8, .heads = 4, .kv_heads = 2, .d_v = 3, .bias = GENERATE(false, true)};
  config.query_key_norm = GENERATE(QueryKeyNorm::none, QueryKeyNorm::heads, QueryKeyNorm::all);
  config.query_key.kind = GENERATE(NormKind::rms, NormKind::layer);
  const bool rotated = GENERATE(false, true);
  CAPTURE(config.bias, name_of(config.query_key_norm), name_of(config.query_key.kind), rotated);
  Parameters parameters;
  std::optional<RotaryEmbedding> rotary;
  if (rotated) rotary.emplace(9, rotary_frequencies(2), RotaryPairs::halves, DType::float64);
  const MultiHeadAttention layer(Scope(parameters, 1, DType::float64), config, rotary);
  shake_attention(parameters);
  const Tensor parts = waves({3, 5, 8}, 0, 1, DType::float64), x = sum(parts, {0}, true);  // (1, 5, 8)
  const Tensor Q = layer.queries_of(x), K = layer.keys_of(x);
  const auto at = [](const Tensor& y, int t) { return reshape(slice(y, 1, t, t + 1), {y.size(0), y.size(2)}); };
  const auto total = [](const Linearised& form, const Tensor& rows) {
    const Tensor all = sum(form.linear(rows), {0});
    return form.constant.defined() ? all + form.constant : all;
  };
  const auto of_head = [](const Tensor& y, int head, int t) {
    return reshape(slice(slice(y, 1, head, head + 1), 2, t, t + 1), {y.size(3)});
  };
  const Tensor weights = layer(x, Mask::causal(), {.weights = true}).weights;
  for (int t = 0; t < 5; ++t) {
    Tensor added = layer.W_O.bias;
    const Tensor input = reshape(at(x, t), {8});
    for (int head = 0; head < 4; ++head) {
      CHECK(error(total(layer.query_linearised(head, input, t), at(parts, t)), of_head(Q, head, t)) <= 1e-13);
      CHECK(error(total(layer.key_linearised(head, input, t), at(parts, t)), of_head(K, head / 2, t)) <= 1e-13);
      for (int from = 0; from <= t; ++from) {
        added = added + total(layer.value_linearised(head), at(parts, from)) * weights.at({0, head, t, from});
      }
    }
    CHECK(error(added, reshape(at(layer(x, Mask::causal()).output, t), {8})) <= 1e-13);
  }
}

TEST_CASE("MultiHeadAttention rejects impossible shapes and constants") {
  Parameters parameters;
  const auto make = [&](AttentionConfig config) {
    return message([&] { MultiHeadAttention(Scope(parameters, 1), config); });
  };
  CHECK(make({.d_model = 30, .heads = 4}) ==
        "MultiHeadAttention: d_model 30 is not divisible by 4 heads; give d_k (and d_v) or another d_model");
  CHECK(make({.d_model = 6, .heads = 2, .d_k = 4, .tie = Tie::K_is_V}) ==
        "MultiHeadAttention: W_K can serve as W_V only when d_k == d_v, got 4 and 3");
  CHECK(make({.d_model = 6, .heads = 0}) ==
        "MultiHeadAttention: d_model and heads must be positive, d_k and d_v not negative, got 6, 0, 0, 0");
  CHECK(make({.d_model = 8, .heads = 4, .kv_heads = 3}) == "MultiHeadAttention: 3 kv_heads do not divide 4 heads");
  CHECK(make({.d_model = 8, .heads = 4, .kv_heads = 2, .tie = Tie::Q_is_K}) ==
        "MultiHeadAttention: W_Q can serve as W_K only when kv_heads == heads, got 2 and 4");
  const std::string constants = "MultiHeadAttention: scale, soft_cap and window must be finite and at least 0, got ";
  CHECK(make({.d_model = 8, .scale = -1}) == constants + "-1, 0, 0");
  CHECK(make({.d_model = 8, .soft_cap = std::numeric_limits<double>::infinity()}) == constants + "0, inf, 0");
  CHECK(make({.d_model = 8, .window = -2}) == constants + "0, 0, -2");
  CHECK(parameters.size() == 0);

  const MultiHeadAttention layer(Scope(parameters, 1), {.d_model = 30, .heads = 4, .d_k = 7, .d_v = 3});
  CHECK(parameters["W_O.weight"].shape() == Shape{12, 30});
  CHECK(message([&] { layer(zeros({7, 30})); }) == "MultiHeadAttention: expected x (B, T, 30), got (7, 30)");
}

TEST_CASE("MultiHeadAttention hides what its window hides") {
  Parameters parameters;
  const Scope scope(parameters, 1, DType::float64);
  const MultiHeadAttention layer(scope / "attention", {.d_model = 4, .window = 2});
  const AttentionResult y = layer(waves({1, 5, 4}, 1, 1, DType::float64), Mask::causal(), {.weights = true});
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) CHECK((y.weights.at({0, 0, i, j}) > 0) == (j <= i && i - j < 2));
  }
}
