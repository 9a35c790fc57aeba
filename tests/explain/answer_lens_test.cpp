#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"
#include "tests/models/random_models.h"

#include <heed/autograd/ops.h>
#include <heed/explain/answer_lens.h>

#include <cmath>

using namespace heed;

namespace {

constexpr const char* tired = "The dog didn't cross the street because it was too tired";

Model shaken(Model model) {
  shake_all(model.parameters);
  return model;
}

}  // namespace

TEST_CASE("answer_lens ends with the model's own answers, and its parts sum to the logit") {
  for (const Model& model :
       {shaken(small_model(Positions::learned, Tie::none, true)), shaken(small_model(decoder_of(modern_config()))),
        shaken(small_model(chooser_of(small_config()))), shaken(small_model(classifier_of(small_config())))}) {
    const bool chooses = model.head().chooses_candidates();
    const Example example =
        question(model, chooses ? "The [dog] didn't cross [the street] because it was too tired" : tired);
    const Tensor logits = trace(in_float64(model), batch_of(model, example)).logits;
    const AnswerLens lens = answer_lens(model, example, 2);
    REQUIRE(lens.layers.size() == static_cast<std::size_t>(model.layers()) + 1);
    const AnswerLens::Layer& last = lens.layers.back();
    CHECK(last.rank == 1);
    CHECK(lens.answer == answer_text(model, example, argmax(logits)[0]));
    CHECK(lens.logit == Approx(max(logits).item()).epsilon(1e-9));
    CHECK(last.probability == Approx(max(softmax(logits)).item()).epsilon(1e-9));
    REQUIRE(last.answers.size() == 2);
    CHECK(last.answers[0].text == lens.answer);
    CHECK(last.answers[0].probability == last.probability);
    double sum = 0;
    for (std::size_t p = 0; p < lens.parts.size(); ++p) {
      sum += lens.parts[p].logit;
      if (p > 0) CHECK(std::abs(lens.parts[p].logit) <= std::abs(lens.parts[p - 1].logit));
    }
    CHECK(sum == Approx(lens.logit).epsilon(1e-8));
  }
}

TEST_CASE("answer_lens after a layer is the head on the stream behind it") {
  const Model model = shaken(small_model(decoder_of(modern_config()))), exact = in_float64(model);
  const Example example = question(model, tired);
  const Batch asked = batch_of(exact, example);
  const Trace seen = trace(exact, asked);
  const AnswerLens lens = answer_lens(model, example);
  for (std::size_t l = 0; l < seen.layers.size(); ++l) {
    const Tensor x = select_rows(seen.layers[l].residual_in, asked.query);
    const Tensor p = softmax(exact.head().token_logits((*exact.transformer().final_norm)(x)));
    CHECK(lens.layers[l].answers[0].probability == Approx(max(p).item()).epsilon(1e-9));
    const double own = p.at({0, argmax(seen.logits)[0]});
    CHECK(lens.layers[l].probability == Approx(own).epsilon(1e-9));
    CHECK(lens.layers[l].rank == 1 + count(p > own));
  }
}

TEST_CASE("answer_lens needs a head") {
  const Model model = small_model(bare_transformer(small_config()));
  CHECK(message([&] { answer_lens(model, question(model, tired, "it")); }) ==
        "the model has no head: it shows states and attention, but gives no answers");
}
