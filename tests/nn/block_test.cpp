#include "tests/golden.h"
#include "tests/message.h"

#include <heed/autograd/ops.h>
#include <heed/nn/block.h>

using namespace heed;

namespace {
const AttentionConfig attention_config{.d_model = 8, .heads = 2, .bias = true};
const Mask block_mask = Mask::padding(std::vector{5, 3}, 5);
}  // namespace

TEST_CASE("TransformerBlock and its gradients match PyTorch, with and without an MLP") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const int mlp = GENERATE(0, 12);
  CAPTURE(to_string(dtype), mlp);
  const std::string name = mlp ? "block_with_mlp" : "block";
  const Golden golden("encoder");
  Parameters parameters;
  const TransformerBlock block(Scope(parameters, 1, dtype), {.attention = attention_config, .mlp = {.width = mlp}});
  golden.load(name, parameters);
  const Tensor x = variable(golden(name + ".x", dtype));
  check_case(golden, name, joined({{"x", x}}, parameters), [&] {
    const AttentionResult attended = block(x, block_mask, {.weights = true});
    CHECK(error(attended.weights, golden(name + ".weights")) <= tolerance(dtype));
    return attended.output;
  });
}

namespace {

// The block's output from its layers, with norms by their formulas.
Tensor composed_block(const TransformerBlock& block, const Tensor& x, const Mask& mask) {
  const BlockConfig& config = block.config;
  const auto normed = [&](const std::optional<Norm>& norm, const Tensor& y) {
    if (!norm) return y;
    if (config.norm.kind == NormKind::rms) {
      return y / sqrt(mean(square(y), {-1}, true) + config.norm.epsilon) * norm->gain;
    }
    const Tensor centred = y - mean(y, {-1}, true);
    return centred / sqrt(mean(square(centred), {-1}, true) + config.norm.epsilon) * norm->gain + norm->bias;
  };
  const double s = config.residual_scale;
  const auto mlp = [&](const Tensor& y) { return block.mlp->out(relu(block.mlp->in(y))); };
  const auto attention = [&](const Tensor& y) { return block.attention(y, mask).output; };
  const Tensor residual = block.residual ? x : zeros(x.shape(), x.dtype());
  const auto &norms = block.attention_norms, &mlp_norms = *block.mlp_norms;
  if (config.parallel) {
    return residual + attention(normed(norms.input, x)) * s + mlp(normed(mlp_norms.input, x)) * s;
  }
  Tensor y;
  switch (config.placement) {
    case NormPlacement::before:
      y = residual + attention(normed(norms.input, x)) * s;
      return y + mlp(normed(mlp_norms.input, y)) * s;
    case NormPlacement::after:
      y = normed(norms.sum, residual + attention(x) * s);
      return normed(mlp_norms.sum, y + mlp(y) * s);
    case NormPlacement::output:
      y = residual + normed(norms.output, attention(x)) * s;
      return y + normed(mlp_norms.output, mlp(y)) * s;
    case NormPlacement::both:
      y = residual + normed(norms.output, attention(normed(norms.input, x))) * s;
      return y + normed(mlp_norms.output, mlp(normed(mlp_norms.input, y))) * s;
  }
  return y;
}

void draw_block(const Parameters& parameters, Random& random) {
  for (const auto& [name, parameter] : parameters) {  // gains and biases that are not 1 and 0
    Tensor(parameter).copy_from(random_normal(parameter.shape(), random, 0, 1, DType::float64));
  }
}

}  // namespace

TEST_CASE("TransformerBlock equals its formula for every norm placement, also through at() and append()") {
  BlockConfig config{.attention = {.d_model = 8, .heads = 2}, .mlp = {.width = 12, .activation = Activation::relu}};
  config.norm = GENERATE(NormConfig{.epsilon = 0.1}, NormConfig{.kind = NormKind::rms, .epsilon = 0.2},
                         NormConfig{.kind = NormKind::none});
  config.placement = GENERATE(NormPlacement::before, NormPlacement::after, NormPlacement::output, NormPlacement::both);
  const bool residual = GENERATE(true, false);
  config.parallel = config.placement == NormPlacement::before && GENERATE(false, true);
  config.shared_norm = config.parallel && GENERATE(false, true);
  config.attention_norm = config.placement != NormPlacement::before || config.shared_norm || GENERATE(true, false);
  config.residual_scale = GENERATE(1.0, 0.5);
  CAPTURE(name_of(config.norm.kind), name_of(config.placement), config.parallel, config.shared_norm, residual);
  CAPTURE(config.attention_norm, config.residual_scale);
  Parameters parameters;
  const TransformerBlock block(Scope(parameters, 1, DType::float64), config, {.residual = residual});
  const std::size_t norms = config.placement == NormPlacement::both ? 4
                            : config.shared_norm                    ? 1
                                                                    : 1 + config.attention_norm;
  const std::size_t vectors = config.norm.kind == NormKind::layer ? 2 : config.norm.kind == NormKind::rms ? 1 : 0;
  CHECK(parameters.size() == 4 + 1 + 4 + norms * vectors);
  Random random(4);
  draw_block(parameters, random);
  const Tensor x = variable(random_normal({2, 5, 8}, random, 0, 1, DType::float64));
  const Recording recording;
  const Tensor expected = composed_block(block, x, block_mask), given = block(x, block_mask).output;
  CHECK(error(given, expected) <= 1e-12);
  const Gradients g = backward(sum(given * x)), h = backward(sum(expected * x));
  for (const auto& [name, parameter] : joined({{"x", x}}, parameters)) {
    CAPTURE(name);
    CHECK(error(g[parameter], h[parameter]) <= 1e-11);
  }
  const Ids query({2}, {3, 0});
  CHECK(error(block.at(query, x, block_mask).output, select_rows(given, query)) <= 1e-12);
  const Tensor causal = block(x, Mask::causal()).output;
  KeyValueCache cache;
  const NoRecording unrecorded;
  for (std::int64_t t = 0; t < 5; ++t) {
    CHECK(error(block.append(slice(x, 1, t, t + 1), cache), slice(causal, 1, t, t + 1)) <= 1e-12);
  }
}

TEST_CASE("The names of a block's norms state their part and their placement") {
  const auto names = [](NormPlacement placement) {
    Parameters parameters;
    const TransformerBlock block(Scope(parameters, 1),
                                 {.attention = {.d_model = 4}, .mlp = {.width = 4}, .placement = placement});
    std::vector<std::string> result;
    for (const auto& [name, value] : parameters) {
      if (name.ends_with(".gain")) result.push_back(name);
    }
    return result;
  };
  for (const NormPlacement placement : {NormPlacement::before, NormPlacement::after, NormPlacement::output}) {
    CHECK(names(placement) == std::vector<std::string>{"attention_norm.gain", "mlp.norm.gain"});
  }
  CHECK(names(NormPlacement::both) == std::vector<std::string>{"attention_norm.gain", "output_attention_norm.gain",
                                                               "mlp.norm.gain", "mlp.output_norm.gain"});
}

TEST_CASE("An attention window hides the tokens before it") {
  Parameters parameters;
  BlockConfig config{.attention = {.d_model = 8, .heads = 2}, .mlp = {.width = 4}};
  const TransformerBlock all(Scope(parameters, 1, DType::float64), config);
  config.attention.window = 2;
  Parameters same;
  const TransformerBlock narrow(Scope(same, 1, DType::float64), config);
  Random random(5);
  const Tensor x = random_normal({1, 6, 8}, random, 0, 1, DType::float64);
  const AttentionResult seen = narrow(x, Mask::causal(), {.weights = true});
  for (int query = 0; query < 6; ++query) {
    for (int key = 0; key < 6; ++key) {
      CHECK((seen.weights.at({0, 0, query, key}) > 0) == (key <= query && key > query - 2));
    }
  }
  std::vector<std::uint8_t> visible;
  for (int i = 0; i < 36; ++i) visible.push_back(i % 6 <= i / 6 && i % 6 > i / 6 - 2);
  CHECK(error(seen.output, all(x, Mask(Booleans({6, 6}, visible))).output) <= 1e-14);
  KeyValueCache cache;
  for (std::int64_t t = 0; t < 6; ++t) {
    CHECK(error(narrow.append(slice(x, 1, t, t + 1), cache), slice(seen.output, 1, t, t + 1)) <= 1e-13);
  }
  CHECK(message([&] { narrow.at(Ids({1}, {3}), x, {}); }) ==
        "TransformerBlock::at: a causal mask differs from token to token");
}

TEST_CASE("TransformerBlock::at throws for masks and positions that differ between tokens") {
  Parameters parameters;
  const TransformerBlock block(Scope(parameters, 1), {.attention = attention_config});
  const Tensor x = ones({2, 5, 8});
  const Ids query({2}, {3, 1});
  CHECK(message([&] { block.at(query, x, Mask::causal()); }) ==
        "TransformerBlock::at: a causal mask differs from token to token");
  CHECK(message([&] {
          block.at(query, x, Mask(Booleans({5, 5}, std::vector<std::uint8_t>(25, 1))));
        }) == "attention: attention: a mask of shape (5, 5) does not broadcast to the weights' (2, 2, 1, 5)");
  const TransformerBlock rotated(Scope(parameters, 1) / "rotated", {.attention = attention_config},
                                 {.rotary = RotaryEmbedding(8, rotary_frequencies(4))});
  CHECK(message([&] { rotated.at(query, x, block_mask); }) ==
        "rotated: TransformerBlock::at: rotary embeddings need all tokens of a text");
}

TEST_CASE("TransformerBlock rejects a negative MLP width and invalid parallel configurations") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  CHECK(message([&] { TransformerBlock(scope / "a", {.attention = {.d_model = 4}, .mlp = {.width = -8}}); }) ==
        "TransformerBlock: expected the width of an MLP, or 0 for no MLP, got -8");
  CHECK(message([&] {
          TransformerBlock(scope / "b",
                           {.attention = {.d_model = 4}, .placement = NormPlacement::both, .parallel = true});
        }) == "TransformerBlock: a parallel block needs norm placement 'before', got 'both'");
  CHECK(message([&] { TransformerBlock(scope / "c", {.attention = {.d_model = 4}, .shared_norm = true}); }) ==
        "TransformerBlock: shared_norm is for a parallel block");
  CHECK(message([&] {
          TransformerBlock(
              scope / "d",
              {.attention = {.d_model = 4}, .parallel = true, .shared_norm = true, .attention_norm = false});
        }) == "TransformerBlock: shared_norm needs attention_norm");
}

TEST_CASE("Dropout applies to the attention weights and to the output of each part") {
  Parameters parameters;
  const MultiHeadAttention layer(Scope(parameters, 1, DType::float64), {.d_model = 6, .heads = 1});
  Random random(5), a = random.stream("dropout"), b = a;
  const Tensor x = variable(random_normal({2, 4, 6}, random, 0, 1, DType::float64));
  const Recording recording;
  const Dropout drop{.random = &a, .attention = 0.4};
  const AttentionResult given = layer(x, Mask::causal(), {.weights = true, .drop = drop});
  const Tensor Q = layer.queries_of(x), K = layer.keys_of(x), V = reshape(layer.W_V(x), {2, 1, 4, 6});
  const Tensor dropped = dropout(attention(Q, K, V, {.mask = Mask::causal(), .weights = true}).weights, 0.4, b);
  const Tensor expected = layer.W_O(reshape(matmul(dropped, V), {2, 4, 6}));
  CHECK(error(given.output, expected) <= 1e-13);
  CHECK(error(given.weights, dropped.detach()) <= 1e-13);
  CHECK(min(dropped).item() == 0);
  CHECK(error(backward(sum(given.output))[x], backward(sum(expected))[x]) <= 1e-12);
  CHECK(message([&] { layer(x, {}, {.drop = {.random = &a, .attention = -1}}); }) ==
        "dropout: p must lie in [0, 1), got -1");

  const TransformerBlock block(Scope(parameters, 2, DType::float64) / "block",
                               {.attention = {.d_model = 6}, .mlp = {.width = 4}, .placement = NormPlacement::output});
  b = a;
  const Tensor attended = x + dropout((*block.attention_norms.output)(block.attention(x).output), 0.3, b);
  const Tensor y = attended + dropout((*block.mlp_norms->output)((*block.mlp)(attended)), 0.3, b);
  CHECK(error(block(x, {}, {.drop = {.p = 0.3, .random = &a}}).output, y) <= 1e-13);
}

TEST_CASE("Dropout throws for an invalid p and without random numbers") {
  Random random(1);
  const Tensor x = ones({3});
  for (const double p : {-0.1, 1.0, 2.0, std::nan("")}) {
    CHECK(message([&] { Dropout{p, &random}(x); }) == fmt::format("dropout: p must lie in [0, 1), got {}", p));
  }
  CHECK(message([&] { Dropout{0.5}(x); }) == "Dropout: p is 0.5, but no random numbers were given");
  CHECK(Dropout{0, &random}(x).to_vector() == x.to_vector());
}
