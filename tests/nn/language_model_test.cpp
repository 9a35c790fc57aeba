#include "tests/golden.h"
#include "tests/message.h"

#include <heed/nn/language_model.h>
#include <heed/optim/optimizer.h>

using namespace heed;

namespace {

const LanguageModelConfig small_model{
    .vocabulary = 7, .max_length = 6, .layers = 2, .mlp = 16, .attention = {.d_model = 8, .heads = 2}};

}  // namespace

TEST_CASE("A language model's logits at a token do not depend on those after it") {
  Parameters parameters;
  const LanguageModel model(Scope(parameters, 1, DType::float64), small_model);
  const Tensor a = model(Ids({1, 5}, {1, 2, 3, 4, 5})), b = model(Ids({1, 5}, {1, 2, 3, 0, 6}));
  CHECK(a.shape() == Shape{1, 5, 7});
  CHECK(error(slice(a, 1, 0, 3), slice(b, 1, 0, 3)) <= 1e-14);
  CHECK(error(slice(a, 1, 3, 5), slice(b, 1, 3, 5)) > 1e-3);
}

TEST_CASE("A language model learns which word follows which, and the one before it") {
  Parameters parameters;
  const LanguageModel model(Scope(parameters, 1), small_model);
  Optimizer adam(parameters, {});
  const Ids tokens({2, 5}, {1, 2, 3, 2, 4, 1, 2, 3, 2, 4}), next({10}, {2, 3, 2, 4, 1, 2, 3, 2, 4, 1});
  double loss = 0;
  for (int step = 0; step < 150; ++step) {
    const Recording recording;
    const Tensor value = cross_entropy(reshape(model(tokens), {10, 7}), next);
    adam.step(backward(value), 0.01);
    loss = value.item();
  }
  CHECK(loss < 0.05);  // 2 is followed by 3, but after 3 by 4: no single word tells
}

TEST_CASE("A language model shows its values to hooks, and refuses what it cannot read") {
  Parameters parameters;
  const LanguageModel model(Scope(parameters, 1) / "gpt", small_model);
  std::vector<std::string> seen;
  {
    const Hook hook([&](const std::string& name, Tensor&) { seen.push_back(name); });
    model(Ids({1, 3}, {1, 2, 3}));
  }
  CHECK(std::count(seen.begin(), seen.end(), "gpt.embedded") == 1);
  CHECK(seen.back() == "gpt.logits");
  CHECK(message([&] { model(Ids({3}, {1, 2, 3})); }) == "LanguageModel: expected tokens (B, T), got (3)");
  CHECK(message([&] {
          model(Ids({1, 7}, {1, 2, 3, 4, 5, 6, 0}));
        }) == "positions: a text has 7 tokens, but max_length is 6");
}
