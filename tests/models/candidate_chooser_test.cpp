#include "tests/golden.h"
#include "tests/message.h"
#include "tests/models/sample.h"

#include <heed/nn/hook.h>

#include <map>

using namespace heed;

namespace {

const TransformerConfig choosing_shape{
    .vocabulary = 9, .max_length = 6, .layers = 2, .block = {.attention = {.d_model = 8, .heads = 2}}};

// Two texts; the first has three candidates, the second two.
Batch two_choices() {
  return {.tokens = Ids({2, 5}, {1, 2, 3, 8, 7, 5, 4, 3, 2, 1}),
          .lengths = {3, 5},
          .query = Ids({2}, {2, 0}),
          .candidates = Ids({2, 3, 2}, {0, 1, 1, 2, 0, 2, 1, 3, 4, 5, -1, -1})};
}

}  // namespace

TEST_CASE("A candidate chooser gives one logit per candidate, independent of the rest of the batch") {
  const bool or_none = GENERATE(false, true);
  Parameters parameters;
  const Model model(Scope(parameters, 1, DType::float64), chooser_of(choosing_shape, or_none));
  CHECK_FALSE(parameters.contains("output_bias"));
  CHECK(parameters.contains("candidates.none") == or_none);
  const Tensor logits = model.run(two_choices(), {.compute = Compute::query}).logits;
  CHECK(logits.shape() == Shape{2, or_none ? 4 : 3});
  CHECK(error(logits, model.logits(two_choices())) <= 1e-14);
  const Batch alone{.tokens = Ids({1, 5}, {5, 4, 3, 2, 1}),
                    .lengths = {5},
                    .query = Ids({1}, {0}),
                    .candidates = Ids({1, 2, 2}, {4, 5, 1, 3})};
  const Tensor reversed =
      model.run(alone, {.compute = Compute::query}).logits;  // the same candidates, in the other order
  CHECK(reversed.at({0, 0}) == Approx(logits.at({1, 1})));
  CHECK(reversed.at({0, 1}) == Approx(logits.at({1, 0})));
  if (or_none) CHECK(reversed.at({0, 2}) == Approx(logits.at({1, 3})));
  CHECK(softmax(logits).at({1, 2}) == 0);  // padding
}

TEST_CASE("A candidate's logit is q W_C c / sqrt(d_model), with c the mean of the last layer's normalised input") {
  Parameters parameters;
  const Model model(Scope(parameters, 1, DType::float64), chooser_of(choosing_shape));
  std::map<std::string, Tensor> seen;
  Tensor logits;
  {
    const Hook hook([&](const std::string& name, Tensor& value) { seen[name] = value; });
    logits = model.logits(two_choices());
  }
  CHECK(seen.at("logits").to_vector() == logits.to_vector());
  const Tensor states = layer_norm(seen.at("encoder.0.output"), {}, {});
  const Tensor mean_of_span = mean(slice(slice(states, 0, 1, 2), 1, 1, 3), {0, 1});  // tokens 1 and 2 of the second
  const Tensor asking = (*model.head().pointer)(slice(seen.at("at_query"), 0, 1, 2));
  CHECK(sum(asking * mean_of_span).item() / std::sqrt(8.0) == Approx(logits.at({1, 0})));
}

TEST_CASE("The loss of a candidate chooser is the cross-entropy of the correct candidates") {
  const bool or_none = GENERATE(false, true);
  Parameters parameters;
  const Model model(Scope(parameters, 1, DType::float64), chooser_of(choosing_shape, or_none));
  const Batch asked = two_choices();
  const Batch batch{.tokens = asked.tokens,
                    .lengths = asked.lengths,
                    .query = asked.query,
                    .candidates = asked.candidates,
                    .chosen = Ids({2}, {2, -1})};
  const Ids right({2}, {2, or_none ? 3 : -1});
  CHECK(model.labels(batch)[1] == right[1]);
  CHECK(model.loss(batch).item() == Approx(cross_entropy(model.logits(asked), right).item()));
}

TEST_CASE("A candidate chooser rejects missing candidates and spans outside the text") {
  Parameters parameters;
  const Model model(Scope(parameters, 1), chooser_of(choosing_shape));
  Batch input = two_choices();
  input.candidates = {};
  CHECK(message([&] { model.run(input); }) == "CandidateChooser: expected candidates (2, C, 2), got (0)");
  input.candidates = Ids({2, 1, 2}, {0, 1, 3, 6});
  CHECK(message([&] { model.run(input); }) ==
        "CandidateChooser: a candidate from token 3 to 6 does not lie in a text of 5 tokens");
  input.candidates = Ids({2, 1, 2}, {0, 1, 4, 3});
  CHECK(message([&] { model.run(input); }) ==
        "CandidateChooser: a candidate from token 4 to 3 does not lie in a text of 5 tokens");
  TransformerConfig flat = choosing_shape;
  flat.layers = 0;
  CHECK(message([&] { Model(Scope(parameters, 1) / "flat", chooser_of(flat)); }) ==
        "CandidateChooser: expected a transformer with layers, got none");
}
