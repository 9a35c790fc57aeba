#include "tests/models/random_models.h"

#include "formats/internal/config_json.h"
#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "views/view.h"

#include <heed/explain/attribution.h>
#include <heed/explain/score_parts.h>
#include <heed/explain/trace.h>

#include <cmath>

using namespace heed;

namespace {

struct RandomModel {
  Model model;
  Example example;  // of two sentences
  explicit RandomModel(RandomConfig& draw) : model(small_model(draw(14))) {
    shake_all(model.parameters);
    const bool chooses = model.head().chooses_candidates();
    example = chooses
                  ? question(model, "the [dog] was tired . was it [the street] ?", "it")
                  : question(model, "the dog was tired . was it the street ?", model.head().classifies() ? "" : "it");
  }
};

double margin_of(double value) { return 1e-6 * std::max(1.0, std::abs(value)); }

}  // namespace

TEST_CASE("attribute sums to the logit of the answer, for random configurations") {
  RandomConfig draw(5);
  for (int i = 0; i < 120; ++i) {
    const RandomModel made(draw);
    const ModelConfig config = made.model.config();
    CAPTURE(i, format_json(to_json(config)));
    const Attribution one = attribute(made.model, made.example);
    CHECK(std::abs(one.sum() - one.logit) <= margin_of(one.logit));
    CHECK(one.terms.size() == made.example.tokens.size() * static_cast<std::size_t>(made.model.heads()));
    const Model exact = in_float64(made.model);
    const Trace seen = trace(exact, batch_of(exact, made.example));
    const double largest = max(seen.logits).item(), cap = config.logits.soft_cap;
    CHECK((cap > 0 ? cap * std::tanh(one.logit / cap) : one.logit) == Approx(largest).epsilon(1e-9).margin(1e-9));
    CHECK(one.answer == attend(exact, made.example).predicted);
  }
}

TEST_CASE("score_parts sums to the score over parts of query and key, for random configurations") {
  RandomConfig draw(6);
  for (int i = 0; i < 100; ++i) {
    const RandomModel made(draw);
    CAPTURE(i, format_json(to_json(made.model.config())));
    const Model exact = in_float64(made.model);
    const Trace seen = trace(exact, batch_of(exact, made.example));
    for (int layer = 0; layer < made.model.layers(); ++layer) {
      const int head = made.model.heads() - 1, to = i % 5;
      const ScoreParts parts = score_parts(made.model, made.example, layer, head, {.to = to});
      const Tensor& scores = seen.layers[static_cast<std::size_t>(layer)].scores;
      CAPTURE(layer, head, to);
      CHECK(parts.score == Approx(scores.at({0, head, made.example.query, to})).epsilon(1e-9).margin(1e-9));
      double products = parts.others.score, ahead = parts.others.ahead;
      for (const ScoreParts::Product& product : parts.products) products += product.score, ahead += product.ahead;
      const double margin = margin_of(parts.score);
      CHECK(std::abs(products - parts.score) <= margin);
      CHECK(std::abs(ahead - (parts.score - parts.reference)) <= margin);
      for (const auto* side : {&parts.query, &parts.key}) {
        double score = 0;
        for (const ScoreParts::Part& part : *side) score += part.score;
        CHECK(std::abs(score - parts.score) <= margin);
      }
      CHECK(parts.cuts.size() == 2);
      for (const ScoreParts::Cut& cut : parts.cuts) CHECK((cut.weight >= 0 && cut.weight <= 1));
    }
  }
}

TEST_CASE("steps_view shows every layer of models of random configurations") {
  RandomConfig draw(7);
  for (int i = 0; i < 60; ++i) {
    const RandomModel made(draw);
    CAPTURE(i, format_json(to_json(made.model.config())));
    View view;
    for (int layer = 0; layer < made.model.layers(); ++layer) {
      view.layer = layer + 1;
      view.head = made.model.heads();
      CHECK(steps_view(made.model, made.example, view).find("\noutput = weights V") != std::string::npos);
    }
  }
}
