#include "tests/golden.h"
#include "tests/message.h"
#include "tests/models/sample.h"

#include <heed/nn/hook.h>
#include <heed/optim/optimizer.h>

#include <algorithm>

using namespace heed;

namespace {

const TransformerConfig writing_shape{.vocabulary = 7,
                                      .max_length = 6,
                                      .layers = 2,
                                      .block = {.attention = {.d_model = 8, .heads = 2}, .mlp = {.width = 16}}};

}  // namespace

TEST_CASE("The logits at a token do not depend on later tokens") {
  Parameters parameters;
  const Model model(Scope(parameters, 1, DType::float64), decoder_of(writing_shape));
  const Tensor a = model.logits({.tokens = Ids({1, 5}, {1, 2, 3, 4, 5})}),
               b = model.logits({.tokens = Ids({1, 5}, {1, 2, 3, 0, 6})});
  CHECK(a.shape() == Shape{1, 5, 7});
  CHECK(error(slice(a, 1, 0, 3), slice(b, 1, 0, 3)) <= 1e-14);
  CHECK(error(slice(a, 1, 3, 5), slice(b, 1, 3, 5)) > 1e-3);
}

TEST_CASE("Model::run at one token equals the logits of the whole text there") {
  Parameters parameters;
  const Model model(Scope(parameters, 1, DType::float64), decoder_of(writing_shape));
  const Batch input{.tokens = Ids({2, 4}, {1, 2, 3, 4, 5, 6, 0, 1}), .lengths = {4, 3}, .query = Ids({2}, {1, 2})};
  const Tensor all = model.logits({.tokens = input.tokens});
  const ModelOutput output = model.run(input, {.weights = true}),
                    alone = model.run(input, {.compute = Compute::query, .weights = true});
  for (const Tensor& logits : {output.logits, alone.logits}) {
    CHECK(error(slice(logits, 0, 0, 1), reshape(slice(slice(all, 0, 0, 1), 1, 1, 2), {1, 7})) <= 1e-14);
    CHECK(error(slice(logits, 0, 1, 2), reshape(slice(slice(all, 0, 1, 2), 1, 2, 3), {1, 7})) <= 1e-14);
  }
  REQUIRE(alone.weights.size() == 2);
  CHECK(alone.weights[0].shape() == Shape{2, 2, 4});
  CHECK(alone.weights[1].at({0, 1, 1}) == Approx(output.weights[1].at({0, 1, 1, 1})));
  CHECK(alone.weights[1].at({0, 0, 2}) == 0);  // query 1 does not see later tokens
}

TEST_CASE("Untied logits have their own matrix") {
  Parameters parameters;
  const Model model(Scope(parameters, 1), decoder_of(writing_shape, {.tied = false}));
  CHECK(parameters["unembedding"].shape() == Shape{7, 8});
  CHECK_FALSE(parameters.contains("output_bias"));
  const Tensor before = model.logits({.tokens = Ids({1, 2}, {1, 2})});
  Tensor(parameters["unembedding"]).copy_from(full({7, 8}, 0.0));
  CHECK(error(model.logits({.tokens = Ids({1, 2}, {1, 2})}), before) > 1e-4);
  CHECK(max(square(model.logits({.tokens = Ids({1, 2}, {1, 2})}))).item() == 0);
}

TEST_CASE("A language model learns a sequence in which the last two tokens determine the next") {
  Parameters parameters;
  const Model model(Scope(parameters, 1), decoder_of(writing_shape));
  Optimizer adam(parameters, {});
  const Ids tokens({2, 5}, {1, 2, 3, 2, 4, 1, 2, 3, 2, 4}), next({10}, {2, 3, 2, 4, 1, 2, 3, 2, 4, 1});
  const Batch batch{.tokens = tokens, .targets = next};
  CHECK(model.loss(batch).item() == cross_entropy(reshape(model.logits({.tokens = tokens}), {10, 7}), next).item());
  CHECK(model.loss({.tokens = tokens, .targets = reshape(next, {2, 5})}).item() == model.loss(batch).item());
  double loss = 0;
  for (int step = 0; step < 150; ++step) {
    const Recording recording;
    const Tensor value = model.loss(batch);
    adam.step(backward(value), 0.01);
    loss = value.item();
  }
  CHECK(loss < 0.05);  // 3 follows 1 2, and 4 follows 3 2: the last token alone does not determine the next
}

TEST_CASE("loss() rejects data of another kind of model") {
  Parameters parameters;
  const Model decoder(Scope(parameters, 1), decoder_of(writing_shape));
  const Batch examples{.tokens = Ids({1, 2}, {1, 2}), .lengths = {2}, .query = Ids({1}, {0}), .answer = Ids({1}, {2})};
  CHECK(message([&] { decoder.loss(examples); }) ==
        "loss: a language_model learns from windows of a text, got examples with questions");
  CHECK(message([&] { decoder.loss({.tokens = examples.tokens}); }) ==
        "loss: a language_model learns from windows of a text, got a batch without targets");
  Parameters others;
  const Model answerer(Scope(others, 1), word_answerer(writing_shape));
  CHECK(message([&] {
          answerer.loss({.tokens = examples.tokens, .targets = Ids({2}, {2, 1})});
        }) == "loss: a word_answerer learns from examples with questions, got windows of a text");
}

TEST_CASE("A language model shows its values to hooks, and rejects invalid inputs and shapes") {
  Parameters parameters;
  const Model model(Scope(parameters, 1) / "gpt", decoder_of(writing_shape));
  std::vector<std::string> seen;
  {
    const Hook hook([&](const std::string& name, Tensor&) { seen.push_back(name); });
    model.logits({.tokens = Ids({1, 3}, {1, 2, 3})});
  }
  CHECK(std::count(seen.begin(), seen.end(), "gpt.embedded") == 1);
  CHECK(seen.back() == "gpt.logits");
  CHECK(message([&] {
          model.logits({.tokens = Ids({3}, {1, 2, 3})});
        }) == "gpt: Transformer: expected tokens (B, T) and B lengths, got (3) and 0 lengths");
  CHECK(message([&] {
          model.logits({.tokens = Ids({1, 7}, {1, 2, 3, 4, 5, 6, 0})});
        }) == "gpt.positions: LearnedPositions: the text has 7 tokens, but max_length is 6");
  CHECK(message([&] {
          (*model.head().unembedding)(ones({2, 5}));
        }) == "gpt: linear: inner dimensions must match: (2, 5) x (8, 7): 5 != 8");
  CHECK(message([&] { Model(Scope(parameters, 1) / "reader", language_model(writing_shape)); }) ==
        "LanguageModel: expected a causal transformer");
  TransformerConfig of_vectors = writing_shape;
  of_vectors.vocabulary = 0;
  CHECK(message([&] { Model(Scope(parameters, 1) / "vectors", decoder_of(of_vectors)); }) ==
        "Unembedding: expected a transformer with a vocabulary");
}

TEST_CASE("Model::append, a few tokens at a time, gives the logits of the whole text") {
  TransformerConfig config = writing_shape;
  BlockConfig& block = config.block;
  config.positions = GENERATE(Positions::learned, Positions::sinusoidal, Positions::none, Positions::rotary);
  const bool tied = GENERATE(true, false);
  SECTION("as GPT-2's") { block.mlp.activation = Activation::gelu_tanh; }
  SECTION("as LLaMA's") {
    block.norm = rms_config;
    block.mlp = {.width = 16, .activation = Activation::silu, .gated = true, .bias = false};
    block.attention.kv_heads = 1;
    block.attention.output_bias = false;
  }
  SECTION("with norms of queries and keys") {
    block.mlp.activation = Activation::relu;
    block.attention.query_key_norm = QueryKeyNorm::heads;
  }
  SECTION("as Gemma's, with windows") {
    block.placement = NormPlacement::both;
    block.norm = {.kind = NormKind::rms, .gain_offset = true};
    block.mlp.activation = Activation::gelu_tanh;
    block.mlp.gated = true;
    block.attention.window = 3;
    block.attention.soft_cap = 1.5;
    config.full_attention_every = 2;
    config.window_rotary_base = 100;
    config.embedding_scale = 3;
    config.embedding_norm = true;
  }
  SECTION("as GPT-NeoX's") { block.parallel = true; }
  Parameters parameters;
  const Model model(Scope(parameters, 1), decoder_of(config, {.tied = tied, .soft_cap = tied ? 2.0 : 0.0}));
  const Ids tokens({2, 6}, {1, 2, 3, 4, 5, 6, 0, 6, 5, 4, 3, 2});
  const Tensor whole = model.logits({.tokens = tokens});  // (2, 6, 7)
  const auto columns = [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int32_t> ids;
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t t = begin; t < end; ++t) ids.push_back(tokens[b * 6 + t]);
    }
    return Ids({2, end - begin}, ids);
  };
  for (const std::vector<std::int64_t>& ends : {std::vector<std::int64_t>{1, 2, 3, 4, 5, 6},
                                                std::vector<std::int64_t>{3, 4, 6}, std::vector<std::int64_t>{6}}) {
    Cache cache;
    std::int64_t begin = 0;
    for (const std::int64_t end : ends) {
      const Tensor logits = model.append(columns(begin, end), cache);
      CHECK(error(logits, reshape(slice(whole, 1, end - 1, end), {2, 7})) <= 1e-5);
      begin = end;
    }
    CHECK(cache[1].length() == 6);
    // the first four tokens of the second text behind padding of two
    const Ids padded({2, 6}, {1, 2, 3, 4, 5, 6, 3, 3, 0, 6, 5, 4});
    Cache behind;
    begin = 0;
    for (const std::int64_t end : ends) {
      const Tensor logits = model.append(slice(padded, 1, begin, end), behind, std::vector{0, 2});
      CHECK(error(logits[0], whole[0][end - 1]) <= 1e-5);
      if (end > 2) CHECK(error(logits[1], whole[1][end - 3]) <= 1e-5);
      begin = end;
    }
    select(behind, Ids({1}, {1}));
    CHECK(behind[0].length() == 6);
    truncate(behind, 5);
    CHECK(error(model.append(Ids({1, 1}, {4}), behind, std::vector{2})[0], whole[1][3]) <= 1e-5);
    truncate(behind, 5);
    CHECK(message([&] {
            model.append(Ids({1, 1}, {1}), behind, std::vector{0, 0});
          }) == "Transformer::append: expected the padding of 1 texts, got 2");
    CHECK(message([&] { model.append(columns(0, 1), cache); }) ==
          "Transformer::append: expected at most max_length 6 tokens, got 1 after 6");
    truncate(cache, 5);
    CHECK(message([&] {
            model.append(columns(0, 1), cache, std::vector{0, 7});
          }) == "Transformer::append: padding 7 does not lie in 0 to max_length 6");
  }
}

TEST_CASE("The configuration of a block determines its parameters and its output") {
  const auto made = [&](const BlockConfig& block) {
    TransformerConfig config = writing_shape;
    config.block = block;
    auto parameters = std::make_unique<Parameters>();
    const Model model(Scope(*parameters, 1, DType::float64), decoder_of(config));
    std::vector<std::string> names;
    for (const auto& [name, value] : *parameters) names.push_back(name);
    return std::pair(names, model.logits({.tokens = Ids({1, 3}, {1, 2, 3})}));
  };
  BlockConfig llama_like = writing_shape.block;
  llama_like.norm = rms_config;
  llama_like.mlp = {.width = 16, .activation = Activation::silu, .gated = true, .bias = false};
  llama_like.attention.output_bias = false;
  const auto [plain, of_gelu] = made(writing_shape.block);
  const auto [rms, of_swiglu] = made(llama_like);
  const auto has = [](const std::vector<std::string>& all, const char* name) {
    return std::find(all.begin(), all.end(), name) != all.end();
  };
  for (const char* name : {"encoder.0.attention_norm.bias", "encoder.norm.bias", "encoder.1.mlp.in.bias",
                           "encoder.1.mlp.out.bias", "encoder.0.attention.W_O.bias"}) {
    CHECK(has(plain, name));
    CHECK_FALSE(has(rms, name));
  }
  CHECK(has(rms, "encoder.1.mlp.gate.weight"));
  CHECK_FALSE(has(plain, "encoder.1.mlp.gate.weight"));
  CHECK(rms.size() == plain.size() - 2 * 5 - 1 + 2);
  for (const Activation activation : {Activation::gelu_tanh, Activation::relu, Activation::silu}) {
    BlockConfig block = writing_shape.block;
    block.mlp.activation = activation;
    CHECK(error(made(block).second, of_gelu) > 1e-6);
  }
}

TEST_CASE("A language model applies dropout to the embeddings") {
  Parameters parameters;
  const Model model(
      Scope(parameters, 2) / "reader",
      decoder_of({.vocabulary = 7, .max_length = 4, .layers = 2, .block = {.attention = {.d_model = 6}}}));
  const Ids tokens({1, 3}, {1, 5, 2});
  Random a(5), b = a;
  const Tensor read = dropout(model.transformer().embed({.tokens = tokens}), 0.5, b);
  const Tensor logits =
      matmul(model.transformer()(read, Mask::causal()).output, transpose(model.head().unembedding->weight));
  CHECK(error(model.logits({.tokens = tokens}, {.random = &a, .embedding = 0.5}), logits.detach()) <= 1e-6);
  CHECK(error(model.logits({.tokens = tokens}), logits.detach()) > 1e-3);
}
