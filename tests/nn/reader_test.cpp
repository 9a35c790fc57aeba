#include "tests/golden.h"
#include "tests/message.h"

#include <heed/autograd/machine.h>
#include <heed/nn/reader.h>
#include <heed/optim/clip.h>
#include <heed/optim/optimizer.h>

#include <array>
#include <thread>

using namespace heed;

namespace {

const ReaderConfig small_reader{.vocabulary = 9, .max_length = 6, .layers = 2, .attention = {.d_model = 8, .heads = 2}};

std::vector<std::string> names(const Parameters& parameters) {
  std::vector<std::string> result;
  for (const auto& [name, value] : parameters) result.push_back(name);
  return result;
}

}  // namespace

TEST_CASE("A Reader's parameters follow its shape") {
  ReaderConfig config = small_reader;
  config.layers = 0;
  config.sentences = 3;
  Parameters all, few;
  const Reader with_all(Scope(all, 1), config);
  CHECK(names(all) == std::vector<std::string>{"words.weight", "positions.weight", "sentences.weight",
                                               "encoder.norm.gain", "encoder.norm.bias", "output_bias"});
  config.sentences = 0;
  config.positions = Positions::sinusoidal;
  const Reader with_few(Scope(few, 1), config);
  CHECK(names(few) ==
        std::vector<std::string>{"words.weight", "encoder.norm.gain", "encoder.norm.bias", "output_bias"});
}

TEST_CASE("Padding and neighbours leave a text's logits and weights as they are") {
  Parameters parameters;
  const Reader reader(Scope(parameters, 1, DType::float64), small_reader);
  const auto alone = reader({Ids({1, 3}, {1, 2, 3}), {3}, Ids({1}, {2}), {}}, Weights::yes);
  const auto padded = reader({Ids({2, 5}, {1, 2, 3, 8, 7, 5, 4, 3, 2, 1}), {3, 5}, Ids({2}, {2, 0}), {}}, Weights::yes);
  CHECK(alone.logits.shape() == Shape{1, 9});
  CHECK(error(slice(padded.logits, 0, 0, 1), alone.logits) <= 1e-14);
  REQUIRE(padded.weights.size() == 2);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const Tensor first = slice(padded.weights[layer], 0, 0, 1);  // (1, heads, 5, 5)
    CHECK(error(slice(slice(first, 2, 0, 3), 3, 0, 3), alone.weights[layer]) <= 1e-14);
  }
}

TEST_CASE("A Reader computed at the query alone gives the same logits") {
  ReaderConfig config = small_reader;
  config.layers = GENERATE(0, 1, 2);
  config.mlp = GENERATE(0, 12);
  CAPTURE(config.layers, config.mlp);
  Parameters parameters;
  const Reader reader(Scope(parameters, 1, DType::float64), config);
  const ReaderInput input{Ids({2, 5}, {1, 2, 3, 8, 7, 5, 4, 3, 2, 1}), {3, 5}, Ids({2}, {2, 0}), {}};
  const Reader::Output output = reader.at_query(input, Weights::yes);
  CHECK(error(output.logits, reader(input).logits) <= 1e-14);
  REQUIRE(output.weights.size() == static_cast<std::size_t>(config.layers));
  for (const Tensor& weights : output.weights) CHECK(weights.shape() == Shape{2, 2, 5});
}

TEST_CASE("Word order matters to a Reader with positions, and only to it") {
  const Positions positions = GENERATE(Positions::none, Positions::learned, Positions::sinusoidal);
  ReaderConfig config = small_reader;
  config.positions = positions;
  Parameters parameters;
  const Reader reader(Scope(parameters, 1, DType::float64), config);
  const Tensor logits = reader({Ids({2, 4}, {1, 2, 3, 4, 3, 1, 2, 4}), {4, 4}, Ids({2}, {3, 3}), {}}).logits;
  const double difference = error(slice(logits, 0, 0, 1), slice(logits, 0, 1, 2));
  CHECK((difference > 1e-3) == (positions != Positions::none));
}

TEST_CASE("A Reader tells sentences apart when it has an embedding for them") {
  ReaderConfig config = small_reader;
  config.sentences = 2;
  Parameters parameters;
  const Reader reader(Scope(parameters, 1, DType::float64), config);
  const Ids tokens({2, 3}, {1, 2, 3, 1, 2, 3}), query({2}, {2, 2});
  const Tensor logits = reader({tokens, {3, 3}, query, Ids({2, 3}, {1, 1, 0, 1, 0, 0})}).logits;
  CHECK(error(slice(logits, 0, 0, 1), slice(logits, 0, 1, 2)) > 1e-3);
}

TEST_CASE("Logits of an untrained Reader have a variance of about 1") {
  ReaderConfig config{.vocabulary = 400, .max_length = 8, .layers = 2, .attention = {.d_model = 64, .heads = 4}};
  Parameters parameters;
  const Reader reader(Scope(parameters, 1), config);
  const Tensor logits = reader({Ids({1, 8}, {1, 2, 3, 4, 5, 6, 7, 8}), {8}, Ids({1}, {4}), {}}).logits;
  CHECK(mean(square(logits)).item() == Approx(1).margin(0.4));
}

TEST_CASE("A Reader learns to answer") {
  Parameters parameters;
  const Reader reader(Scope(parameters, 1), small_reader);
  Optimizer optimizer(parameters, {});
  // The answer is the first word or the second, as the third says.
  const ReaderInput input{
      Ids({4, 4}, {1, 2, 5, 7, 1, 2, 6, 7, 2, 1, 5, 7, 2, 1, 6, 7}), {4, 4, 4, 4}, Ids({4}, {3, 3, 3, 3}), {}};
  const Ids answers({4}, {1, 2, 2, 1});
  double loss = 0;
  for (int step = 0; step < 150; ++step) {
    const Recording recording;
    const Tensor mean_loss = cross_entropy(reader(input).logits, answers);
    optimizer.step(backward(mean_loss), 0.01);
    loss = mean_loss.item();
  }
  CHECK(loss < 0.02);
}

namespace {

// What a Reader's parameters are after ten steps, with dropout, on texts of its own.
std::vector<Tensor> trained_reader(std::uint64_t seed) {
  ReaderConfig config = small_reader;
  config.mlp = 64;
  config.attention.d_model = 32;
  Parameters parameters;
  const Reader reader(Scope(parameters, seed), config);
  Optimizer optimizer(parameters, {});
  Random random(seed);
  for (int step = 0; step < 10; ++step) {
    std::vector<std::int32_t> tokens(64 * 6);
    for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random.below(9));
    const ReaderInput input{
        Ids({64, 6}, tokens), std::vector<int>(64, 6), Ids({64}, std::vector<std::int32_t>(64, 2)), {}};
    const Recording recording;
    const Tensor logits = reader(input, Weights::no, {0.1, &random}).logits;
    Gradients gradients = backward(cross_entropy(logits, Ids({64}, std::vector<std::int32_t>(64, 3))));
    clip_by_global_norm(gradients, 1);
    optimizer.step(gradients, 0.01);
  }
  std::vector<Tensor> values;
  for (const auto& [name, value] : parameters) values.push_back(value.detach());
  return values;
}

}  // namespace

TEST_CASE("Readers that are trained at once, each on a thread of its own, become what each becomes alone") {
  const int before = threads();
  set_threads(2);
  std::array<std::vector<Tensor>, 3> together;
  std::vector<std::thread> crowd;
  for (std::size_t i = 0; i < together.size(); ++i) {
    crowd.emplace_back([&together, i] { together[i] = trained_reader(i + 1); });
  }
  for (std::thread& one : crowd) one.join();
  set_threads(before);
  for (std::size_t i = 0; i < together.size(); ++i) {
    const std::vector<Tensor> alone = trained_reader(i + 1);
    REQUIRE(together[i].size() == alone.size());
    for (std::size_t k = 0; k < alone.size(); ++k) CHECK(together[i][k].to_vector() == alone[k].to_vector());
  }
}

TEST_CASE("Texts that do not fit a Reader are errors") {
  Parameters parameters;
  const Reader reader(Scope(parameters, 1), small_reader);
  CHECK(message([&] {
          reader({Ids({1, 7}, {1, 1, 1, 1, 1, 1, 1}), {7}, Ids({1}, {0}), {}});
        }) == "positions: LearnedPositions: a text has 7 tokens, but max_length is 6");
  CHECK(message([&] {
          reader({Ids({2, 1}, {1, 1}), {1}, Ids({2}, {0, 0}), {}});
        }) == "Reader: expected tokens (B, T) and B lengths, got (2, 1) and 1 lengths");
}

namespace {

const ReaderConfig small_writer{.vocabulary = 7,
                                .max_length = 6,
                                .layers = 2,
                                .mlp = 16,
                                .predicts = Predicts::next,
                                .attention = {.d_model = 8, .heads = 2}};

}  // namespace

TEST_CASE("What comes next after a token does not depend on what does") {
  Parameters parameters;
  const Reader model(Scope(parameters, 1, DType::float64), small_writer);
  const Tensor a = model.next(Ids({1, 5}, {1, 2, 3, 4, 5})), b = model.next(Ids({1, 5}, {1, 2, 3, 0, 6}));
  CHECK(a.shape() == Shape{1, 5, 7});
  CHECK(error(slice(a, 1, 0, 3), slice(b, 1, 0, 3)) <= 1e-14);
  CHECK(error(slice(a, 1, 3, 5), slice(b, 1, 3, 5)) > 1e-3);
}

TEST_CASE("A language model asked at one token says there what it says of all") {
  Parameters parameters;
  const Reader model(Scope(parameters, 1, DType::float64), small_writer);
  const ReaderInput input{Ids({2, 4}, {1, 2, 3, 4, 5, 6, 0, 1}), {4, 3}, Ids({2}, {1, 2}), {}};
  const Tensor all = model.next(input.tokens);
  const Reader::Output output = model(input, Weights::yes), alone = model.at_query(input, Weights::yes);
  for (const Tensor& logits : {output.logits, alone.logits}) {
    CHECK(error(slice(logits, 0, 0, 1), reshape(slice(slice(all, 0, 0, 1), 1, 1, 2), {1, 7})) <= 1e-14);
    CHECK(error(slice(logits, 0, 1, 2), reshape(slice(slice(all, 0, 1, 2), 1, 2, 3), {1, 7})) <= 1e-14);
  }
  REQUIRE(alone.weights.size() == 2);
  CHECK(alone.weights[0].shape() == Shape{2, 2, 4});
  CHECK(alone.weights[1].at({0, 1, 1}) == Approx(output.weights[1].at({0, 1, 1, 1})));
  CHECK(alone.weights[1].at({0, 0, 2}) == 0);  // of query 1: it does not see what comes after it
}

TEST_CASE("Untied logits have a matrix of their own") {
  ReaderConfig config = small_writer;
  config.logits = Logits::untied;
  Parameters parameters;
  const Reader model(Scope(parameters, 1), config);
  CHECK(parameters["unembedding"].shape() == Shape{7, 8});
  CHECK_FALSE(parameters.contains("output_bias"));
  const Tensor before = model.next(Ids({1, 2}, {1, 2}));
  Tensor(parameters["unembedding"]).copy_from(full({7, 8}, 0.0));
  CHECK(error(model.next(Ids({1, 2}, {1, 2})), before) > 1e-4);
  CHECK(max(square(model.next(Ids({1, 2}, {1, 2})))).item() == 0);
}

TEST_CASE("A language model learns which word follows which, and the one before it") {
  Parameters parameters;
  const Reader model(Scope(parameters, 1), small_writer);
  Optimizer adam(parameters, {});
  const Ids tokens({2, 5}, {1, 2, 3, 2, 4, 1, 2, 3, 2, 4}), next({10}, {2, 3, 2, 4, 1, 2, 3, 2, 4, 1});
  double loss = 0;
  for (int step = 0; step < 150; ++step) {
    const Recording recording;
    const Tensor value = cross_entropy(reshape(model.next(tokens), {10, 7}), next);
    adam.step(backward(value), 0.01);
    loss = value.item();
  }
  CHECK(loss < 0.05);  // 2 is followed by 3, but after 3 by 4: no single word tells
}

TEST_CASE("A language model shows its values to hooks, and refuses what it cannot read") {
  Parameters parameters;
  const Reader model(Scope(parameters, 1) / "gpt", small_writer), reader(Scope(parameters, 1) / "reader", small_reader);
  std::vector<std::string> seen;
  {
    const Hook hook([&](const std::string& name, Tensor&) { seen.push_back(name); });
    model.next(Ids({1, 3}, {1, 2, 3}));
  }
  CHECK(std::count(seen.begin(), seen.end(), "gpt.embedded") == 1);
  CHECK(seen.back() == "gpt.logits");
  CHECK(message([&] { model.next(Ids({3}, {1, 2, 3})); }) == "gpt: Reader::next: expected tokens (B, T), got (3)");
  CHECK(message([&] {
          model.next(Ids({1, 7}, {1, 2, 3, 4, 5, 6, 0}));
        }) == "gpt.positions: LearnedPositions: a text has 7 tokens, but max_length is 6");
  CHECK(message([&] {
          reader.next(Ids({1, 1}, {1}));
        }) == "reader: Reader::next: it predicts an answer, not the next token of each");
}

TEST_CASE("Read a few tokens at a time, a text has the logits that it has read at once") {
  ReaderConfig config = small_writer;
  config.positions = GENERATE(Positions::learned, Positions::sinusoidal, Positions::none, Positions::rotary);
  config.logits = GENERATE(Logits::tied, Logits::untied);
  SECTION("as GPT-2's") { config.parts.activation = Activation::gelu_tanh; }
  SECTION("as LLaMA's") {
    config.parts = {.norm = Norm::Kind::rms, .activation = Activation::swiglu};
    config.attention.kv_heads = 1;
    config.attention.output_bias = Bias::no;
  }
  SECTION("with normalised heads") {
    config.parts.activation = Activation::relu;
    config.attention.normalised = NormalisedHeads::yes;
  }
  Parameters parameters;
  const Reader model(Scope(parameters, 1), config);
  const Ids tokens({2, 6}, {1, 2, 3, 4, 5, 6, 0, 6, 5, 4, 3, 2});
  const Tensor whole = model.next(tokens);  // (2, 6, 7)
  const auto columns = [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int32_t> ids;
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t t = begin; t < end; ++t) ids.push_back(tokens[b * 6 + t]);
    }
    return Ids({2, end - begin}, ids);
  };
  for (const std::vector<std::int64_t>& ends : {std::vector<std::int64_t>{1, 2, 3, 4, 5, 6},
                                                std::vector<std::int64_t>{3, 4, 6}, std::vector<std::int64_t>{6}}) {
    Past past;
    std::int64_t begin = 0;
    for (const std::int64_t end : ends) {
      const Tensor logits = model.go_on(columns(begin, end), past);
      CHECK(error(logits, reshape(slice(whole, 1, end - 1, end), {2, 7})) <= 1e-5);
      begin = end;
    }
    CHECK(past[1].length() == 6);
    CHECK(message([&] { model.go_on(columns(0, 1), past); }) ==
          "Reader::go_on: 1 tokens after 6 are more than max_length, 6");
  }
}

TEST_CASE("What a block is made of decides its parameters and what it computes") {
  ReaderConfig config = small_writer;
  const auto made = [&](const BlockParts& parts, Bias bias) {
    config.parts = parts;
    config.attention.output_bias = bias;
    auto parameters = std::make_unique<Parameters>();
    const Reader model(Scope(*parameters, 1, DType::float64), config);
    return std::pair(names(*parameters), model.next(Ids({1, 3}, {1, 2, 3})));
  };
  const auto [plain, of_gelu] = made({}, Bias::yes);
  const auto [rms, of_swiglu] = made({.norm = Norm::Kind::rms, .activation = Activation::swiglu}, Bias::no);
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
  for (const Activation activation : {Activation::gelu_tanh, Activation::relu}) {
    CHECK(error(made({.activation = activation}, Bias::yes).second, of_gelu) > 1e-6);
  }
}

namespace {

ReaderConfig choosing_reader(Answer answer) {
  ReaderConfig config = small_reader;
  config.answer = answer;
  return config;
}

// Two texts; the first has three candidates, the second two.
const ReaderInput two_choices{Ids({2, 5}, {1, 2, 3, 8, 7, 5, 4, 3, 2, 1}),
                              {3, 5},
                              Ids({2}, {2, 0}),
                              {},
                              Ids({2, 3, 2}, {0, 1, 1, 2, 0, 2, 1, 3, 4, 5, -1, -1})};

}  // namespace

TEST_CASE("A Reader that chooses gives a logit a candidate, whatever stands beside it in the batch") {
  const Answer answer = GENERATE(Answer::candidate, Answer::candidate_or_none);
  const bool none_too = answer == Answer::candidate_or_none;
  Parameters parameters;
  const Reader reader(Scope(parameters, 1, DType::float64), choosing_reader(answer));
  CHECK_FALSE(parameters.contains("output_bias"));
  const Tensor logits = reader.at_query(two_choices).logits;
  CHECK(logits.shape() == Shape{2, none_too ? 4 : 3});
  CHECK(error(logits, reader(two_choices).logits) <= 1e-14);
  const ReaderInput alone{Ids({1, 5}, {5, 4, 3, 2, 1}), {5}, Ids({1}, {0}), {}, Ids({1, 2, 2}, {4, 5, 1, 3})};
  const Tensor turned = reader.at_query(alone).logits;  // the same candidates, the other way round
  CHECK(turned.at({0, 0}) == Approx(logits.at({1, 1})));
  CHECK(turned.at({0, 1}) == Approx(logits.at({1, 0})));
  if (none_too) CHECK(turned.at({0, 2}) == Approx(logits.at({1, 3})));
  CHECK(softmax(logits).at({1, 2}) == 0);  // the candidate that it has not
}

TEST_CASE("A candidate's logit is the query's, through W_C, with the mean of what the last layer reads there") {
  Parameters parameters;
  const Reader reader(Scope(parameters, 1, DType::float64), choosing_reader(Answer::candidate));
  std::map<std::string, Tensor> seen;
  Tensor logits;
  {
    const Hook hook([&](const std::string& name, Tensor& value) { seen[name] = value; });
    logits = reader(two_choices).logits;
  }
  const Tensor states = layer_norm(seen.at("encoder.0.output"), {}, {});
  const Tensor mean_of_span = mean(slice(slice(states, 0, 1, 2), 1, 1, 3), {0, 1});  // tokens 1 and 2 of the second
  const Tensor asking = reader.pointer->pointer(slice(seen.at("at_query"), 0, 1, 2));
  CHECK(sum(asking * mean_of_span).item() / std::sqrt(8.0) == Approx(logits.at({1, 0})));
}

TEST_CASE("A Reader that chooses says what is wrong with the candidates") {
  Parameters parameters;
  const Reader reader(Scope(parameters, 1), choosing_reader(Answer::candidate));
  ReaderInput input = two_choices;
  input.candidates = {};
  CHECK(message([&] { reader(input); }) == "Reader: it chooses among candidates; expected them as (2, C, 2), got (0)");
  input.candidates = Ids({2, 1, 2}, {0, 1, 3, 6});
  CHECK(message([&] { reader(input); }) == "Reader: a candidate from token 3 to 6 is not one of 5 tokens");
  ReaderConfig of_text = choosing_reader(Answer::candidate);
  of_text.predicts = Predicts::next;
  Parameters others;
  CHECK(message([&] { Reader(Scope(others, 1), of_text); }) ==
        "Reader: a language model answers with words, not candidates");
  ReaderConfig normed_after = small_reader;
  normed_after.parts.placement = NormPlacement::after;
  CHECK(message([&] { Reader(Scope(others, 1) / "after", normed_after); }) ==
        "Reader: its norms come before the parts of a block");
}
