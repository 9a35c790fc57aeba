#include "tests/catch.h"
#include "tests/message.h"
#include "tests/models/random_models.h"

#include <heed/explain/intervention.h>
#include <heed/models/generate.h>

#include <array>

using namespace heed;

namespace {

// A language model of 14 letters.
Model gpt(int layers = 2) {
  TransformerConfig shape = small_config();
  shape.layers = layers;
  Model model;
  model.tokenizer = Tokenizer::of_text(Split::characters);
  for (const char letter : std::string("abcdefghijklmn")) model.vocabulary.add(std::string(1, letter));
  make_network(model, decoder_of(shape));
  shake_all(model.parameters);
  return model;
}

Batch texts_of(std::uint64_t seed) {
  Batch batch = random_batch(14, Random(seed));
  batch.segments = {}, batch.candidates = {};
  return batch;
}

double largest(const Tensor& difference) { return max(abs(difference)).item(); }

}  // namespace

TEST_CASE("mean_of averages over texts and tokens, without padding") {
  const Model model = in_float64(gpt());
  const std::array<Batch, 2> texts{texts_of(1), texts_of(2)};  // lengths 6 and 4
  const std::array<Trace, 2> seen{trace(model, texts[0]), trace(model, texts[1])};
  const auto by_hand = [&](const auto& value_of, std::vector<int> tokens) {
    Tensor sum = zeros({value_of(seen[0]).size(-1)}, DType::float64);
    double count = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::int64_t b = 0; b < 2; ++b) {
        for (const int t : tokens) {
          if (t >= texts[i].lengths[static_cast<std::size_t>(b)]) continue;
          sum = sum + value_of(seen[i])[b][t], count += 1;
        }
      }
    }
    return sum / count;
  };
  const auto mlp = [](const Trace& one) { return one.layers[1].mlp_output; };
  CHECK(largest(mean_of(Place::mlp_output(1), model, texts) - by_hand(mlp, {0, 1, 2, 3, 4, 5})) < 1e-12);
  CHECK(largest(mean_of(Place::mlp_output(1).at({1, 5}), model, texts) - by_hand(mlp, {1, 5})) < 1e-12);
  const auto head_1 = [](const Trace& one) { return squeeze(slice(one.layers[0].head_output, 1, 1, 2), 1); };
  const Tensor of_head = mean_of(Place::head_output(0, 1), model, texts),
               of_all = mean_of(Place::head_output(0), model, texts);
  CHECK(of_all.shape() == Shape{2, 1, 5});
  CHECK(largest(of_head - by_hand(head_1, {0, 1, 2, 3, 4, 5})) < 1e-12);
  CHECK(largest(of_all[1][0] - of_head) == 0);
  // A mean of head outputs can be put in their place.
  const Trace ablated = trace(model, texts[0], {ablate(Place::head_output(0), of_all)});
  CHECK(largest(ablated.layers[0].head_output - broadcast_to(of_all, {2, 2, 6, 5})) == 0);

  std::array<Batch, 2> whole = texts;
  for (Batch& batch : whole) batch.lengths = {};
  const Tensor weights = mean_of(Place::weights(1, 1), model, whole);
  REQUIRE(weights.shape() == Shape{6, 6});
  double sum = 0;
  for (const Batch& batch : whole) {
    const Trace one = trace(model, batch);
    for (const int b : {0, 1}) sum += one.layers[1].weights.at({b, 1, 4, 2});
  }
  CHECK(weights.at({4, 2}) == Approx(sum / 4));
  CHECK(message([&] { (void)mean_of(Place::weights(1), model, texts); }) ==
        "mean_of: expected texts of one length for weights, got shorter ones padded to 6 tokens");
  CHECK(message([&] { (void)mean_of(Place::mlp_output(-1), model, texts); }) ==
        "mean_of: expected one layer, got -1; layers have means of their own");
  CHECK(message([&] { (void)mean_of(Place::mlp_output(1).at(std::vector<int>{}), model, texts); }) ==
        "mean_of: expected at least one token, got none");
}

TEST_CASE("Interventions hold for generation, losses and gradients while a hook is open") {
  const Model model = gpt();
  const Generation wanted{.prompt = "ab", .tokens = 6, .sampling = {.temperature = 0}};
  const auto text = [&] {
    std::string result;
    (void)generate(model, wanted, [&](std::string_view piece) { return result += piece, true; });
    return result;
  };
  const std::string before = text();
  Random random(4);
  const Tensor unembedding = model.parameters["words.weight"];
  {
    // Steering the last stream towards one word makes the model repeat it.
    const auto k = static_cast<std::int64_t>(model.vocabulary["k"]);
    const Hook hook = intervene(model, {steer(Place::residual(2), unembedding[k], 1000)});
    CHECK(text() == "abkkkkkk");
    CHECK(text() != before);
  }
  CHECK(text() == before);

  Batch batch{.tokens = Ids({1, 3}, {1, 2, 3}), .targets = Ids({1, 3}, {2, 3, 4})};
  const Tensor kept = model.parameters["encoder.1.mlp.out.weight"];
  const auto gradient = [&](double scale) {
    const Recording recording;
    const Hook hook = intervene(model, {replace(Place::mlp_output(1), [&](const Tensor& x) { return x * scale; })});
    const Gradients gradients = backward(model.loss(batch));
    return largest(gradients[kept]);
  };
  CHECK(gradient(1) > 0);
  CHECK(gradient(0) == 0);
  // The gradient by a direction is that of the stream.
  const Recording recording;
  const Tensor direction = variable(zeros({8}));
  const Hook hook = intervene(model, {steer(Place::residual(1), direction)});
  CHECK(largest(backward(model.loss(batch))[direction]) > 0);
}

TEST_CASE("A place that a model or a text does not have has one clear message") {
  const Model model = gpt();
  const Batch texts = texts_of(1);
  const auto told = [&](const Intervention& one) { return message([&] { logits_under({one}, model, texts); }); };
  CHECK(told(ablate(Place::residual(3))) ==
        "Intervention: no layer 3 in a model of 2 layers; expected 0 to 2 for the residual stream, or -1 for all");
  CHECK(told(ablate(Place::mlp_output(2))) ==
        "Intervention: no layer 2 in a model of 2 layers; expected 0 to 1 for the MLP output, or -1 for all");
  CHECK(told(ablate(Place::values(0, 2))) ==
        "Intervention: no layer 0 head 2 in a model of 2 layers with 2 heads (from 0)");
  CHECK(told(ablate(Place::neurons(0, {16}))) == "Intervention: no neuron 16 among 16 (from 0)");
  CHECK(told(ablate(Place::residual(1).at(6))) == "encoder.0: Intervention: no token 6 in a text of 6 tokens (from 0)");
  CHECK(told(ablate(Place::weights(1, 0).to({7}))) == "encoder.1.attention: Intervention: no key 7 among 6 (from 0)");
  CHECK(told(ablate(Place::residual(1).at_each({{0}, {1}, {2}}))) ==
        "encoder.0: Intervention: expected a list of tokens for each of 2 texts, or one for all, got 3");
  CHECK(told(steer(Place::residual(1), zeros({7}))) ==
        "encoder.0: steer: expected a direction that broadcasts to (2, 6, 8), got (7)");
  CHECK(told(ablate(Place::head_output(1), zeros({2, 8}))) ==
        "encoder.1.attention: ablate: expected a mean that broadcasts to (2, 2, 6, 5), got (2, 8)");
  CHECK(told(replace(Place::residual(1), [](const Tensor& x) { return sum(x); })) ==
        "encoder.0: replace: expected values float32 (2, 6, 8), got float32 ()");
  CHECK(message([&] { (void)Place::residual(0).to({1}); }) ==
        "Place::to: expected scores or weights, which have keys; got residual stream");

  const Trace deeper = trace(gpt(3), texts), seen = trace(model, texts);
  Batch longer = texts;
  longer.tokens = slice(longer.tokens, 1, 0, 4), longer.lengths = {4, 4}, longer.query = Ids({2}, {1, 2});
  CHECK(told(patch(Place::residual(1), trace(model, longer))) ==
        "encoder.0: patch: expected a trace with residual stream (2, 6, 8), got (2, 4, 8)");
  CHECK(told(patch(Place::residual(1), seen, {2, 0})) == "encoder.0: patch: no text 2 among 2");
  CHECK(message([&] { (void)patch(Place::mlp_output(2), seen); }) ==
        "patch: expected a trace of 3 layers or more, got one of 2");
  CHECK(told(patch(Place::mlp_output(-1), trace(gpt(1), texts))) ==
        "encoder.1.mlp.out: patch: the trace has no MLP output of layer 1");
  CHECK(told(patch(Place::mlp_output(2), deeper)).starts_with("Intervention: no layer 2"));

  const LayerInput from{1, seen.layers[1].residual_in};
  CHECK(message([&] { logits_under({ablate(Place::mlp_output(0))}, model, texts, from); }) ==
        "Intervention: the model begins with layer 1, so the MLP output of layer 0 cannot change");

  TransformerConfig shape = modern_config();
  shape.block.mlp.width = 0;
  const Model grouped = small_model(decoder_of(shape));
  CHECK(message([&] { logits_under({ablate(Place::keys(0, 1))}, grouped, texts); }) ==
        "Intervention: no key head 1 in a model of 1 key head, which 2 query heads share (from 0)");
  CHECK(message([&] { logits_under({ablate(Place::neurons(0))}, grouped, texts); }) ==
        "Intervention: the model has no MLPs, and so no neurons");
}
