#include "tests/autograd/helpers.h"

#include <heed/nn/attention.h>

using namespace heed;

TEST_CASE("Attention with a key-value cache, chunk by chunk, equals attention over the whole text") {
  Parameters parameters;
  const MultiHeadAttention layer(Scope(parameters, 1, DType::float64),
                                 {.d_model = 8,
                                  .heads = 4,
                                  .kv_heads = 2,
                                  .d_k = 6,
                                  .d_v = 3,
                                  .query_key_norm = GENERATE(QueryKeyNorm::heads, QueryKeyNorm::all),
                                  .scale = 0.3,
                                  .soft_cap = 2},
                                 RotaryEmbedding(200, rotary_frequencies(6), RotaryPairs::halves, DType::float64));
  const Mask mask = GENERATE(Mask::causal(), Mask::window(2, 0));
  Random random(2);
  const Tensor x = uniform({2, 150, 8}, random);
  const Tensor at_once = layer(x, mask).output;
  KeyValueCache cache;
  std::vector<Tensor> pieces;
  for (std::int64_t begin = 0, end = 7; begin < 150; begin = end++) {
    pieces.push_back(layer.append(slice(x, 1, begin, end), cache, mask));
  }
  CHECK(cache.length() == 150);
  CHECK(distance(concat(pieces, 1), at_once) < 1e-12);
  Tensor later = x.clone();
  later.mutable_data<double>()[100 * 8] += 1;
  CHECK(same_bits(slice(layer(later, mask).output, 1, 0, 100), slice(at_once, 1, 0, 100)));
}

TEST_CASE("Two continuations of a copied cache do not disturb each other") {
  const Tensor one = tensor({1, 1, 1, 2}, {1, 2}), two = tensor({1, 1, 1, 2}, {3, 4});
  KeyValueCache first;
  first.append(one, one);
  KeyValueCache second = first, assigned;
  assigned = first;
  first.append(one, one);
  second.append(two, two), assigned.append(two, two);
  CHECK(first.append(one, one).second.to_vector() == std::vector<double>{1, 2, 1, 2, 1, 2});
  CHECK(second.append(one, one).second.to_vector() == std::vector<double>{1, 2, 3, 4, 1, 2});
  second.truncate(1);
  CHECK(second.length() == 1);
  CHECK(second.append(two, two).first.to_vector() == std::vector<double>{1, 2, 3, 4});
  CHECK(message([&] { second.truncate(-1); }) == "KeyValueCache::truncate: expected a length of at least 0, got -1");
  const KeyValueCache taken = std::move(second);
  CHECK((taken.length() == 2 && second.length() == 0));
  second.append(one, one);
  CHECK(KeyValueCache(second).length() == 1);
}

TEST_CASE("KeyValueCache::append throws for wrong shapes and for recorded tensors") {
  check_messages(
      {{"KeyValueCache: float32 (2, 1, 1, 3) does not follow what is held, float32 (2, 1, T, 2)",
        [] {
          KeyValueCache cache;
          cache.append(zeros({2, 1, 1, 2}), zeros({2, 1, 1, 2}));
          cache.append(zeros({2, 1, 1, 3}), zeros({2, 1, 1, 3}));
        }},
       {"KeyValueCache: expected (B, kv_heads, T, d), got (2, 1, 1)",
        [] {
          KeyValueCache().append(zeros({2, 1, 1}), zeros({2, 1, 1}));
        }},
       {"KeyValueCache: it holds constants, and these keys and values are recorded; append within a NoRecording, or "
        "pass whole texts without a cache",
        [] {
          const Recording recording;
          const Tensor K = variable(zeros({1, 1, 1, 2})) * 2;
          KeyValueCache().append(K, K);
        }}});
}

TEST_CASE("A cache serves the layer that filled it, and any other when it is empty") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  const MultiHeadAttention one(scope / "one", {.d_model = 4}), other(scope / "other", {.d_model = 4});
  KeyValueCache cache;
  const Tensor y = one.append(ones({1, 2, 4}), cache);
  KeyValueCache copy = cache;
  const MultiHeadAttention same = one;  // shares the weights
  CHECK(same_bits(one.append(ones({1, 1, 4}), cache), same.append(ones({1, 1, 4}), copy)));
  CHECK(message([&] {
          other.append(ones({1, 1, 4}), copy);
        }) ==
        "other: KeyValueCache: it holds keys and values of another layer or model; give each its own, or truncate(0) "
        "this one");
  CHECK(copy.length() == 3);
  copy.truncate(0);
  CHECK(same_bits(one.append(ones({1, 2, 4}), copy), y));
  copy.truncate(0);
  other.append(ones({3, 2, 4}), copy);
  CHECK(copy.length() == 2);
}
