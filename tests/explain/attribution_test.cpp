#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/models/random_models.h"

#include <heed/explain/attribution.h>

#include <cmath>

using namespace heed;

namespace {

// Changes all parameters, since biases start at 0 and gains at 1.
Model moved(Model model) {
  shake_all(model.parameters);
  return model;
}

}  // namespace

TEST_CASE("attribute sums to the logit of a decoder with RMSNorm and grouped-query attention") {
  const Model model = moved(small_model(decoder_of(modern_config())));
  const Attribution one = attribute(model, question(model, "The dog didn't cross the street because it was too tired"));
  std::vector<std::string> rest;
  for (const auto& part : one.rest) rest.push_back(part.what);
  CHECK(rest == std::vector<std::string>{"earlier layers", "MLP"});
  CHECK(one.sum() == Approx(one.logit).epsilon(1e-5));
  CHECK(one.query == 10);
}

TEST_CASE("attribute splits a logit into contributions of heads per token, the MLP and biases") {
  const auto tie = GENERATE(Tie::none, Tie::K_is_V);
  const Model model = moved(small_model(Positions::learned, tie, true));
  const Example example = question(model, "The dog didn't cross the street because it was too tired");
  const Attribution one = attribute(model, example);
  REQUIRE(one.terms.size() == 22);
  std::vector<std::string> rest;
  for (const auto& part : one.rest) rest.push_back(part.what);
  CHECK(rest == std::vector<std::string>{"W_O bias", "MLP", "biases behind the last layer"});
  for (const auto& part : one.rest) CHECK(std::abs(part.logit) > 1e-4);
  CHECK(one.sum() == Approx(one.logit).epsilon(1e-5));
  const SentenceAttention read = attend(model, example);
  CHECK(one.answer == read.predicted);
  CHECK((one.query == 7 && one.layer == 1));
}
