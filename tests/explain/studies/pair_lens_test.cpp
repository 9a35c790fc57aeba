#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"
#include "tests/models/random_models.h"
#include "views/pair_lens_view.h"

#include <heed/explain/answer_lens.h>
#include <heed/explain/trace.h>

#include <cmath>

using namespace heed;

TEST_CASE("pair_lens is the mean log odds of the head on the stream after each layer, for random configurations") {
  RandomConfig draw(31);
  for (int i = 0; i < 30; ++i) {
    Model model = small_model(draw(14));
    shake_all(model.parameters);
    const bool chooses = model.head().chooses_candidates();
    const auto pair_of = [&](const char* first, const char* second) {
      const auto text = [&](const std::string& word) {
        return question(
            model,
            chooses ? "the [" + word + "] was tired . was it [the street] ?" : "the " + word + " was tired . was it ?",
            model.head().classifies() ? "" : "it");
      };
      return TextPair{text(first), text(second), {0}, {1}};
    };
    const std::vector<TextPair> pairs{pair_of("dog", "animal"), pair_of("street", "dog")};
    const PairLens lens = pair_lens(model, pairs);
    REQUIRE(lens.layers.size() == static_cast<std::size_t>(model.layers()) + 1);
    for (std::size_t l = 0; l < lens.layers.size(); ++l) {
      double clean = 0, corrupted = 0, right = 0;
      for (const TextPair& pair : pairs) {
        for (const Example* text : {&pair.clean, &pair.corrupted}) {
          const Batch asked = batch_of(model, *text);
          const Trace seen = trace(model, asked);
          const Tensor x = select_rows(l == 0 ? seen.embedded : seen.layers[l - 1].residual_out, asked.query);
          const auto& norm = model.transformer().final_norm;
          const Tensor logits = model.head().answer_logits(
              {.output = norm ? (*norm)(x) : x, .weights = {}, .last_input = seen.layers.back().residual_in},
              asked.candidates);
          const double odds = logits.at({0, 0}) - logits.at({0, 1});
          (text == &pair.clean ? clean : corrupted) += odds / 2;
          if (text == &pair.clean && odds > 0) right += 0.5;
        }
      }
      CAPTURE(i, l);
      CHECK(lens.layers[l].clean.share == Approx(clean).epsilon(1e-4).margin(1e-5));
      CHECK(lens.layers[l].corrupted.share == Approx(corrupted).epsilon(1e-4).margin(1e-5));
      CHECK(lens.layers[l].difference.share == Approx(clean - corrupted).epsilon(1e-4).margin(1e-5));
      CHECK(lens.layers[l].right.share == right);
    }
    // The last layer has the model's own answers.
    double own = 0;
    for (const TextPair& pair : pairs) {
      const Tensor logits = model.run(batch_of(model, pair.clean)).logits;
      own += (logits.at({0, 0}) - logits.at({0, 1})) / 2;
    }
    CHECK(lens.layers.back().clean.share == Approx(own).epsilon(1e-4).margin(1e-5));
  }
}

TEST_CASE("pair_lens_view has a line per layer, and fits a narrow terminal") {
  PairLens lens{.pairs = 12, .observations = 12};
  lens.layers.push_back({.layer = 0, .clean = {0.1, -0.2, 0.4}, .difference = {0, -1, 1}, .right = {0.5, 0.25, 0.75}});
  lens.layers.push_back({.layer = 1, .clean = {10.3, 10, 10.6}, .difference = {20.6, 20, 21.2}, .right = {1, 0.75, 1}});
  View view;
  view.terminal.width = 80;
  const std::string wide = pair_lens_view(lens, view);
  CHECK(wide.find("layer 1    +10.3 (10.0 to 10.6)   +20.6 (20.0 to 21.2)   100.0 %") != std::string::npos);
  view.terminal.width = 40;
  std::istringstream lines(pair_lens_view(lens, view));
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 40);
  CHECK(pair_lens_json(lens)["layers"][1]["right"]["mean"] == 1);
  const Model model = small_model();
  CHECK(message([&] { (void)pair_lens(model, {}); }) == "why: expected at least 2 different pairs of texts, got 0");
}
