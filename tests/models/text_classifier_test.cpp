#include "tests/golden.h"
#include "tests/message.h"
#include "tests/models/sample.h"
#include "tests/scratch.h"

#include <heed/models/generate.h>
#include <heed/models/reading.h>
#include <heed/optim/optimizer.h>

using namespace heed;

namespace {

const TransformerConfig classifier_shape{
    .vocabulary = 9, .max_length = 6, .layers = 2, .block = {.attention = {.d_model = 8, .heads = 2}}};
const std::vector<std::string> two{"bad", "good"};

Tensor row(const Tensor& states, std::int64_t b, std::int64_t t) {
  return reshape(slice(slice(states, 0, b, b + 1), 1, t, t + 1), {1, states.size(2)});
}

}  // namespace

TEST_CASE("A text classifier reads an encoder at its first token, and a causal transformer at its last") {
  const Batch texts{.tokens = Ids({{3, 1, 4, 1}, {5, 2, 0, 0}}), .lengths = {4, 2}};
  Parameters parameters, causal_parameters;
  const Model encoder(Scope(parameters, 1, DType::float64), text_classifier(classifier_shape, two));
  const Tensor states = encoder.transformer()(texts).output;
  const auto by_hand = [&](const Tensor& state) {
    return matmul(tanh(matmul(state, parameters["pooler.dense.weight"]) + parameters["pooler.dense.bias"]),
                  parameters["classifier.weight"]) +
           parameters["classifier.bias"];
  };
  CHECK(error(encoder.logits(texts), concat({by_hand(row(states, 0, 0)), by_hand(row(states, 1, 0))}, 0)) < 1e-12);

  TransformerConfig causal = classifier_shape;
  causal.causal = true;
  const Model decoder(Scope(causal_parameters, 1, DType::float64), text_classifier(causal, two));
  CHECK_FALSE(causal_parameters.contains("pooler.dense.weight"));
  const Tensor seen = decoder.transformer()(texts).output;
  const Tensor expected =
      matmul(concat({row(seen, 0, 3), row(seen, 1, 1)}, 0), causal_parameters["classifier.weight"]) +
      causal_parameters["classifier.bias"];
  CHECK(error(decoder.logits(texts), expected) < 1e-12);

  Batch asked = texts;
  asked.query = Ids({2, 1});
  CHECK(error(encoder.logits(asked), encoder.logits(texts)) ==
        0);  // the class is that of the text, wherever it is asked
  CHECK(error(encoder.run(texts, {.compute = Compute::query}).logits, encoder.logits(texts)) < 1e-12);
  const Batch alone{.tokens = Ids({{5, 2}})};
  CHECK(error(encoder.logits(alone), slice(encoder.logits(texts), 0, 1, 2)) < 1e-12);
}

TEST_CASE("A text classifier learns classes, and its loss needs them") {
  const Model model(text_classifier(classifier_shape, two), 3);
  Batch texts{.tokens = Ids({{3, 1, 4, 1}, {5, 2, 6, 5}}), .answer = Ids({1, 0})};
  CHECK(model.predictions(texts) == 2);
  const double before = model.loss(texts).item();
  CHECK(before == Approx(cross_entropy(model.logits(texts), texts.answer).item()));
  Optimizer optimizer(model.parameters, {.method = OptimizerOptions::Method::adam});
  for (int step = 0; step < 30; ++step) {
    const Recording recording;
    optimizer.step(backward(model.loss(texts)), 0.01);
  }
  CHECK(model.loss(texts).item() < 0.2 * before);
  texts.answer = {};
  CHECK(message([&] { model.loss(texts); }) ==
        "loss: a text_classifier learns from texts with their classes, got none");
}

TEST_CASE("A text classifier has at least two classes of different names") {
  const auto refused = [](std::vector<std::string> classes) {
    return message([&] { Model(text_classifier(classifier_shape, std::move(classes))); });
  };
  CHECK(refused({}) == "TextClassifier: expected at least two classes of different names, got none");
  CHECK(refused({"one"}) == "TextClassifier: expected at least two classes of different names, got one");
  CHECK(refused({"one", "one"}) == "TextClassifier: expected at least two classes of different names, got one, one");
}

TEST_CASE("A text for a classifier is read whole, and its answers are the classes") {
  const Model model = small_model(classifier_of(small_config()));
  Example example = question(model, "the dog was tired .");
  CHECK(example.query == 0);
  CHECK(question(model, token_ids(model, "the dog was tired")).query == 0);
  example.answer = "good";
  CHECK(right_answer(model, example) == 2);
  CHECK(answer_text(model, example, 1) == "fair");
  example.answer = "dog";
  CHECK(right_answer(model, example) == -1);
  CHECK(NumberedExamples({example}, model.vocabulary, model.config().classes).batch(0, 1).answer[0] == -1);
  CHECK(message([&] { question(model, "it was tired", "it"); }) ==
        "the model tells the class of the whole text, at its first token; it cannot be asked at 'it'");
  CHECK(message([&] { generate(model, Generation{.prompt = "it"}, [](std::string_view) { return true; }); }) ==
        "the model tells the class of a text; only one that predicts the next token, such as GPT-2, continues a text");
}

TEST_CASE("A saved text classifier is the same") {
  const Scratch scratch;
  const Model model = small_model(classifier_of(small_config()));
  save_model(scratch / "model.safetensors", model);
  const Model read = load_model(scratch / "model.safetensors");
  CHECK(read.config().classes == model.config().classes);
  const Batch texts = encode(model, {"the dog was tired", "it was too tired"});
  CHECK(error(read.logits(texts), model.logits(texts)) == 0);
}
