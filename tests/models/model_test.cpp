#include "tests/golden.h"
#include "tests/message.h"
#include "tests/models/sample.h"

#include <heed/autograd/ops.h>
#include <heed/models/model.h>
#include <heed/optim/optimizer.h>

using namespace heed;

namespace {

const TransformerConfig seven_words{.vocabulary = 7,
                                    .max_length = 6,
                                    .layers = 2,
                                    .block = {.attention = {.d_model = 8, .heads = 2}, .mlp = {.width = 16}}};

void set_adapters(const Parameters& parameters) {
  Random random(3);
  for (const auto& [name, value] : parameters) {
    if (is_of_adapter(name)) assign(value, Init::normal(0.5), random);
  }
}

}  // namespace

TEST_CASE("Targets behind the length of a text do not count") {
  Parameters parameters;
  const Ids tokens({2, 4}, {1, 2, 3, 4, 5, 6, 0, 0}), all({2, 4}, {2, 3, 4, 5, 6, 0, 0, 0});
  const Ids inside({2, 4}, {2, 3, 4, 5, 6, -1, -1, -1});
  const bool masked = GENERATE(false, true);
  const Model model(Scope(parameters, 1, DType::float64),
                    masked ? masked_language_model(seven_words) : decoder_of(seven_words));
  const Batch padded{.tokens = tokens, .lengths = {4, 1}, .targets = all},
      ignored{.tokens = tokens, .lengths = {4, 1}, .targets = inside};
  CHECK(model.loss(padded).item() == model.loss(ignored).item());
  CHECK(model.loss(padded).item() != model.loss({.tokens = tokens, .targets = all}).item());
  CHECK(model.loss({.tokens = tokens, .lengths = {4, 1}, .targets = reshape(all, {8})}).item() ==
        model.loss(ignored).item());
  CHECK(model.predictions(padded) == 5);
  CHECK(model.labels(padded).to_vector() == inside.to_vector());
  CHECK(message([&] { model.labels({.tokens = tokens, .lengths = {4}, .targets = all}); }) ==
        "Batch: expected 2 lengths and 8 targets, got 1 and 8");
}

TEST_CASE("merge keeps the store of a model, with additions of others and frozen parameters") {
  Model model(decoder_of(seven_words));
  Parameters parameters = model.parameters;
  adapt(model, {"W_Q", "out"}, {.rank = 2});
  const Linear own(Scope(parameters, 2) / "classifier", 8, 3);
  set_adapters(parameters);
  const Batch batch{.tokens = Ids({1, 4}, {1, 2, 3, 4})};
  const Tensor before = model.logits(batch), W = parameters["encoder.0.attention.W_Q.weight"];

  const Model copy = merged(model);
  CHECK(error(copy.logits(batch), before) < 1e-5);
  CHECK_FALSE(copy.parameters.contains("classifier.weight"));
  CHECK_FALSE(copy.parameters["encoder.0.attention.W_Q.weight"].is_frozen());
  CHECK(error(model.logits(batch), before) == 0);

  merge(model);
  CHECK(error(model.logits(batch), before) < 1e-5);
  CHECK(model.config().adapter.layers.empty());
  CHECK(model.parameters["encoder.0.attention.W_Q.weight"].shares_storage(W));
  CHECK(model.parameters["classifier.weight"].shares_storage(own.weight));
  CHECK(parameters.size() == model.parameters.size());
  for (const auto& [name, value] : parameters) CHECK(value.is_frozen() != is_within(name, "classifier"));
  adapt(model, {"W_V"}, {.rank = 2});
  set_adapters(parameters);
  CHECK(error(model.logits(batch), before) > 1e-3);
}

TEST_CASE("merge widens matrices of 16 bits and keeps the rest of the store") {
  const Model source(decoder_of(seven_words));
  const auto stored = [&](const std::string& name, const Shape&) {
    const Tensor value = source.parameters[name].clone();
    return name.ends_with(".attention.W_Q.weight") || name.ends_with(".W_V.weight") ? value.to(DType::bfloat16) : value;
  };
  Parameters parameters;
  Model model(Scope(parameters, DType::float32, stored), decoder_of(seven_words));
  adapt(model, {"W_Q"}, {.rank = 2});
  const Linear own(Scope(parameters, 2) / "classifier", 8, 3);
  parameters.unfreeze("encoder.0.attention_norm");
  set_adapters(parameters);
  const Model other = model;
  const Batch batch{.tokens = Ids({1, 4}, {1, 2, 3, 4})};
  const Tensor before = model.logits(batch);
  merge(model);
  CHECK(error(model.logits(batch), before) < 1e-5);
  CHECK(error(other.logits(batch), before) == 0);  // its layers hold the old matrices and the adapters
  CHECK(parameters["encoder.0.attention.W_Q.weight"].dtype() == DType::float32);
  CHECK(parameters["encoder.0.attention.W_V.weight"].dtype() == DType::bfloat16);
  CHECK(parameters["classifier.weight"].shares_storage(own.weight));
  for (const auto& [name, value] : parameters)
    CHECK(value.is_frozen() != (is_within(name, "classifier") || is_within(name, "encoder.0.attention_norm")));
  assign(parameters["encoder.0.attention.W_Q.weight"], 0);
  CHECK(error(model.logits(batch), before) > 1e-4);
  adapt(model, {"W_Q"}, {.rank = 2});
  const Tensor again = model.logits(batch);
  set_adapters(parameters);
  CHECK(error(model.logits(batch), again) > 1e-4);
}
