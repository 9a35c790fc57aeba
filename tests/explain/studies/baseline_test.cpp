#include "tests/explain/studies/helpers.h"

#include <heed/explain/studies/baseline.h>
#include <heed/nn/hook.h>

using namespace heed;

TEST_CASE("Baseline holds the mean outputs of heads and the weights between tokens with roles") {
  const Model model = small_model();
  const HeldOut held_out(model, sentences(), any_number);
  const Baseline baseline(held_out);
  std::vector<double> at_query(10, 0.0), elsewhere(10, 0.0);
  std::size_t others = 0;
  for (const Example& e : held_out.sentences()) {
    const Hook hook([&](const std::string& name, Tensor& value) {
      if (name != "encoder.1.attention.heads") return;
      for (int t = 0; t < std::ssize(e.tokens); ++t) {
        for (std::size_t d = 0; d < 10; ++d) {
          (t == 2 ? at_query : elsewhere)[d] += value.at({0, static_cast<int>(d / 5), t, static_cast<int>(d % 5)});
        }
        others += t != 2;
      }
    });
    model.run(batch_of(model, e));
  }
  for (std::size_t d = 0; d < 10; ++d) {
    CHECK(baseline.mean_output(1).at_query[d] == Approx(at_query[d] / 5).margin(1e-6));
    CHECK(baseline.mean_output(1).elsewhere[d] == Approx(elsewhere[d] / static_cast<double>(others)).margin(1e-6));
  }
  const SentenceAttention read = attend(model, sentences()[0]);
  CHECK(baseline.weight(0, {1, 0}, Role::query, {4, 5}) == Approx(read.layers[1].at({0, 2, 4})));
  CHECK(baseline.weight(0, {1, -1}, Role::cue, {0, 1}) ==
        Approx((read.layers[1].at({0, 4, 0}) + read.layers[1].at({1, 4, 0})) / 2));
}

TEST_CASE("span_of and Baseline treat a candidate of several words as a whole") {
  const Model model = small_model();
  std::vector<Example> examples = sentences();
  examples.resize(1);
  Example& e = examples[0];
  e.counterpart = -1;
  e.candidates = {{0, 2}, {3, 5}};
  e.chosen = 1;
  CHECK(span_of(e, Role::antecedent) == Span{3, 5});
  CHECK(span_of(e, Role::distractor) == Span{0, 2});
  CHECK(span_of(e, Role::query) == Span{e.query, e.query + 1});
  const HeldOut held_out(model, examples, any_number);
  const SentenceAttention read = attend(model, e);
  CHECK(Baseline(held_out).weight(0, {1, 0}, Role::query, {3, 5}) ==
        Approx(read.layers[1].at({0, 2, 3}) + read.layers[1].at({0, 2, 4})));
  e.chosen = -1;
  e.antecedent = -1;
  CHECK(span_of(e, Role::antecedent) == Span{});
}
