#include "tests/autograd/helpers.h"

#include <heed/nn/attention.h>
#include <heed/nn/grouped_attention.h>

#include <set>

using namespace heed;

TEST_CASE("With as many K/V heads as Q heads, grouped attention is MultiHeadAttention under a causal mask") {
  Parameters parameters, others;
  const GroupedAttention grouped(Scope(parameters, 1, DType::float64) / "a", {.d_model = 8, .heads = 2});
  const MultiHeadAttention plain(Scope(others, 1, DType::float64) / "a",
                                 {.d_model = 8, .heads = 2, .output_bias = Bias::no});
  Random random(1);
  const Tensor x = uniform({2, 5, 8}, random);
  CHECK(same_bits(grouped(x), plain(x, Mask::causal()).output));
}

TEST_CASE("A text read token by token with a cache gives what it gives at once, with all options") {
  Parameters parameters;
  const GroupedAttention layer(Scope(parameters, 1, DType::float64), {.d_model = 8,
                                                                      .heads = 4,
                                                                      .kv_heads = 2,
                                                                      .d_k = 6,
                                                                      .window = GENERATE(0, 3),
                                                                      .normalised = NormalisedHeads::yes});
  const RotaryPositions turn(200, rotary_frequencies(6), RotaryPairs::halves, DType::float64);
  Random random(2);
  const Tensor x = uniform({2, 150, 8}, random);
  const Tensor at_once = layer(x, &turn);
  KeyValueCache cache;
  std::vector<Tensor> pieces;
  for (std::int64_t begin = 0, end = 7; begin < 150; begin = end++) {
    pieces.push_back(layer(slice(x, 1, begin, end), &turn, &cache));
  }
  CHECK(cache.length() == 150);
  CHECK(distance(concat(pieces, 1), at_once) < 1e-12);
  Tensor later = x.clone();
  later.mutable_data<double>()[100 * 8] += 1;
  CHECK(same_bits(slice(layer(later, &turn), 1, 0, 100), slice(at_once, 1, 0, 100)));
}

TEST_CASE("A hook sees and changes what grouped attention computes, and gradients agree with the fused form") {
  Parameters parameters;
  const GroupedAttention layer(Scope(parameters, 1, DType::float64) / "a",
                               {.d_model = 8, .heads = 4, .kv_heads = 2, .normalised = NormalisedHeads::yes});
  Random random(3);
  const Tensor x = variable(uniform({1, 5, 8}, random)), dy = uniform({1, 5, 8}, random);
  const Recording recording;
  const Tensor fused = layer(x);
  Tensor shown;
  std::set<std::string> names;
  {
    const Hook hook([&](const std::string& name, Tensor&) { names.insert(name); });
    shown = layer(x);
  }
  for (const char* name : {"a.Q", "a.K", "a.scores", "a.weights", "a.heads", "a.output", "a.q_norm.output"}) {
    CHECK(names.contains(name));
  }
  CHECK(distance(shown, fused) < 1e-13);
  const Gradients g = backward(fused, dy), h = backward(shown, dy);
  CHECK(distance(g[x], h[x]) < 1e-13);
  for (const auto& [name, parameter] : parameters) CHECK(distance(g[parameter], h[parameter]) < 1e-12);
}

TEST_CASE("Sizes of grouped attention that do not fit are an error") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  const auto make = [&](const GroupedAttentionConfig& config) { return [=] { GroupedAttention(scope, config); }; };
  check_messages(
      {{"GroupedAttention: 3 kv_heads do not divide 4 heads", make({.d_model = 8, .heads = 4, .kv_heads = 3})},
       {"GroupedAttention: d_model 8 is not divisible by 3 heads; give d_k or another d_model",
        make({.d_model = 8, .heads = 3})},
       {"KeyValueCache: (2, 1, 1, 3) does not follow what is held, (2, 1, 65, 2)", [] {
          KeyValueCache cache;
          cache.append(zeros({2, 1, 1, 2}), zeros({2, 1, 1, 2}));
          cache.append(zeros({2, 1, 1, 3}), zeros({2, 1, 1, 3}));
        }}});
}
