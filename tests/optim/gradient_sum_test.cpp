#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/ops.h>
#include <heed/nn/parameters.h>
#include <heed/optim/gradient_reducer.h>

#include <thread>
#include <vector>

using namespace heed;

namespace {

// A parameter w of 3 numbers. The gradient of each number in micro-batch `part` is terms[part]; mean_gradients() divides it
// by the number of micro-batches.
struct Sum {
  std::vector<float> terms{};
  Parameters parameters{};
  Tensor w = Scope(parameters, 1).parameter("w", {3}, Init::ones());

  MeanGradients gradients() const {
    return mean_gradients(parameters, std::vector<double>(terms.size(), 1), [&](int part) {
      return sum(w) * static_cast<double>(terms[static_cast<std::size_t>(part)]);
    });
  }
};

}  // namespace

TEST_CASE("mean_gradients adds the gradients of micro-batches along a binary tree") {
  Sum of;
  const auto term = [&](std::size_t i) {
    return static_cast<float>(of.terms[i] * static_cast<float>(1.0 / static_cast<double>(of.terms.size())));
  };
  of.terms = {1, 1e8F, -1e8F, 1, 1};
  const float tree = ((term(0) + term(1)) + (term(2) + term(3))) + term(4);
  float chain = 0;
  for (std::size_t i = 0; i < 5; ++i) chain += term(i);
  REQUIRE(tree != chain);  // so that the sum depends on the order
  const MeanGradients mean = of.gradients();
  CHECK(mean.gradients[of.w].to_vector() == std::vector<double>(3, tree));
  REQUIRE(mean.losses.size() == 5);
  CHECK(mean.losses[2] == -3e8);
}

TEST_CASE("mean_gradients sums parameters separately if their gradients are the same tensor") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  const Tensor a = scope.parameter("a", {2}, Init::ones()), b = scope.parameter("b", {2}, Init::ones());
  // Both receive the same tensor, the gradient of a + b.
  const auto mean =
      mean_gradients(parameters, {1, 1, 1, 1}, [&](int part) { return sum((a + b) * static_cast<double>(part)); });
  CHECK(mean.gradients[a].to_vector() == std::vector<double>(2, 1.5));
  CHECK(mean.gradients[b].to_vector() == std::vector<double>(2, 1.5));
}

TEST_CASE("mean_gradients names a parameter on which the loss of a micro-batch does not depend") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  const Tensor a = scope.parameter("a", {2}, Init::ones()), b = scope.parameter("b", {2}, Init::ones());
  const auto loss = [&](int part) { return part == 1 ? sum(a) : sum(a * b); };
  CHECK(message([&] {
          mean_gradients(parameters, {1, 1}, loss);
        }) == "gradients: none for parameter 'b' of shape (2): the loss does not depend on it");
  parameters.freeze("b");
  CHECK(mean_gradients(parameters, {1, 1}, loss).gradients.size() == 1);
  CHECK(message([&] { mean_gradients(parameters, {}, loss); }) ==
        "mean_gradients: expected at least 1 micro-batch, got 0");
  CHECK(message([&] {
          mean_gradients(parameters, {1, -2}, loss);
        }) == "mean_gradients: the number of predictions of each micro-batch must be finite and at least 0, got -2");
}

TEST_CASE(
    "mean_gradients gives the gradient of a batch however it is cut, with ignored labels and weights of classes") {
  Parameters parameters;
  const Tensor w = Scope(parameters, 1).parameter("w", {4, 3}, Init::normal(1));
  Random random(2);
  const Tensor x = random_normal({12, 4}, random);
  const std::vector<std::int32_t> labels{-1, -1, -1, 2, -1, 1, -1, -1, 0, 2, 1, 0};
  const Tensor class_weights = tensor({3}, {0.5, 4, 1});
  for (const Tensor& weights : {Tensor(), class_weights}) {
    const auto loss_of = [&](int first, int end) {
      const Ids rows({end - first}, std::vector(labels.begin() + first, labels.begin() + end));
      return cross_entropy(matmul(slice(x, 0, first, end), w), rows, {.class_weights = weights});
    };
    const auto weight = [&](int first, int end) {
      double sum = 0;
      for (int i = first; i < end; ++i) {
        const std::int32_t label = labels[static_cast<std::size_t>(i)];
        if (label >= 0) sum += weights.defined() ? weights.at({label}) : 1;
      }
      return sum;
    };
    const Recording recording;
    const Tensor whole = loss_of(0, 12);
    const std::vector<double> expected = backward(whole)[w].to_vector();
    for (const std::vector<int>& ends :
         {std::vector{12}, {3, 12}, {4, 8, 12}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}) {
      CAPTURE(ends.size(), weights.defined());
      std::vector<double> counts;
      for (std::size_t i = 0; i < ends.size(); ++i) counts.push_back(weight(i > 0 ? ends[i - 1] : 0, ends[i]));
      MeanGradients cut;
      std::thread([&] {  // with a recording of its own
        cut = mean_gradients(parameters, counts, [&](int part) {
          const auto i = static_cast<std::size_t>(part);
          CHECK(counts[i] > 0);  // a part that predicts nothing is not asked
          return loss_of(i > 0 ? ends[i - 1] : 0, ends[i]);
        });
      })
          .join();
      CHECK(mean_over_parts(cut.losses, counts) == Approx(whole.item()).epsilon(1e-6));
      const std::vector<double> got = cut.gradients[w].to_vector();
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).margin(1e-6));
    }
  }
  const MeanGradients nothing = mean_gradients(parameters, {0, 0}, [](int) -> Tensor { fail("asked"); });
  CHECK(nothing.gradients[w].to_vector() == std::vector<double>(12, 0));
  CHECK(mean_over_parts(nothing.losses, {0, 0}) == 0);
}
