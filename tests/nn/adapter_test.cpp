#include "tests/golden.h"
#include "tests/message.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/nn/adapter.h>
#include <heed/nn/attention.h>
#include <heed/nn/mlp.h>
#include <heed/optim/optimizer.h>
#include <heed/optim/weight_average.h>

using namespace heed;

namespace {

std::vector<std::string> trained_names(const Parameters& parameters) {
  std::vector<std::string> names;
  for (const auto& [name, value] : parameters) {
    if (!value.is_frozen()) names.push_back(name);
  }
  return names;
}

}  // namespace

TEST_CASE("A parameter keeps its adapter in another store") {
  Parameters parameters, other;
  const Linear layer(Scope(parameters, 1) / "in", 3, 2);
  for (const auto& [name, value] : parameters) other.add(name, value);
  adapt(Scope(other, 1), {"in"}, {.rank = 1});
  CHECK(trained_names(other) == std::vector<std::string>{"in.lora_A", "in.lora_B"});
  assign(other["in.lora_B"], 1);
  const Tensor before = layer(ones({1, 3}));
  merge(other);
  CHECK(error(layer(ones({1, 3})), before) < 1e-6);
  CHECK(error(matmul(ones({1, 3}), parameters["in.weight"]), before) < 1e-6);
}

TEST_CASE("adapt adds x A B alpha / rank to the product of a Linear, and merge adds A B to its matrix") {
  Parameters parameters;
  const Scope scope(parameters, 1, DType::float64);
  const Linear layer(scope / "net" / "in", 5, 4), other(scope / "out", 4, 2);
  Random random(3);
  const Tensor x = random_normal({3, 5}, random, 0, 1, DType::float64), before = layer(x);
  const std::int64_t numel = parameters.numel();

  adapt(scope, {"in"}, {.rank = 2, .alpha = 6});
  CHECK(error(layer(x), before) == 0);  // B is 0
  CHECK(trained_names(parameters) == std::vector<std::string>{"net.in.lora_A", "net.in.lora_B"});
  CHECK(parameters.numel() == numel + 2 * (5 + 4));
  const Tensor A = parameters["net.in.lora_A"], B = parameters["net.in.lora_B"];
  CHECK(A.shape() == Shape{5, 2});
  CHECK(max(abs(A)).item() <= 1 / std::sqrt(5));
  CHECK(max(abs(A)).item() > 0.5 / std::sqrt(5));
  assign(B, Init::normal(1), random);
  const Tensor expected = before + 3 * matmul(matmul(x, A), B);
  CHECK(error(layer(x), expected) < 1e-14);
  const Linearised map = layer.linearised();
  CHECK(error(map.linear(x) + map.constant, expected) < 1e-14);

  {
    const Recording recording;
    const Gradients gradients = backward(sum(square(layer(x))));
    CHECK(gradients.size() == 2);
    const Tensor dy = 2 * expected.detach();
    CHECK(error(gradients[B], 3 * matmul(transpose(matmul(x, A.detach())), dy)) < 1e-13);
    CHECK(error(gradients[A], 3 * matmul(transpose(x), matmul(dy, transpose(B.detach())))) < 1e-13);
  }
  CHECK(message([&] { adapt(scope, {"in"}); }) == "adapt: net.in has an adapter; merge() it first");

  merge(parameters);
  CHECK(error(layer(x), expected) < 1e-14);
  CHECK(parameters.size() == 4);
  CHECK(parameters.numel() == numel);
  adapt(scope, {"net.in", "out"});
  CHECK(trained_names(parameters).size() == 4);
  CHECK(error(layer(x), expected) < 1e-14);
}

TEST_CASE("Attention computes with adapters, composed, fused, cached and shared by tied matrices") {
  Parameters parameters;
  const Scope scope(parameters, 2, DType::float64);
  const Tie tie = GENERATE(Tie::none, Tie::K_is_V);
  const MultiHeadAttention layer(scope, {.d_model = 8, .heads = 2, .tie = tie});
  adapt(scope, {"W_K", "W_O"}, {.rank = 3});
  Random random(5);
  assign(parameters["W_K.lora_B"], Init::normal(1), random);
  assign(parameters["W_O.lora_B"], Init::normal(1), random);
  const Tensor x = random_normal({2, 4, 8}, random, 0, 1, DType::float64);
  const Tensor y = layer(x, Mask::causal()).output, head = layer.head_output(1, ones({1, 4}, DType::float64));
  KeyValueCache cache;
  CHECK(error(layer.append(x, cache), y) < 1e-13);
  const Hook hook([](const std::string&, Tensor&) {});
  CHECK(error(layer(x, Mask::causal()).output, y) < 1e-13);
  merge(parameters);
  CHECK(error(layer(x, Mask::causal()).output, y) < 1e-13);
  CHECK(error(layer.head_output(1, ones({1, 4}, DType::float64)), head) < 1e-13);
}

TEST_CASE("An optimiser changes adapters over frozen matrices of 16 bits alone") {
  Parameters parameters;
  Random random(7);
  const auto stored = [&](const std::string&, const Shape& shape) {
    return random_normal(shape, random).to(shape.rank() == 2 ? DType::bfloat16 : DType::float32);
  };
  const Scope scope(parameters, DType::float32, stored);
  const Linear layer(scope / "in", 6, 5);
  adapt(Scope(parameters, 1), {"in"}, {.rank = 2});
  Optimizer optimizer(parameters, {.method = OptimizerOptions::Method::adam});
  const Tensor x = random_normal({32, 6}, random), goal = random_normal({32, 5}, random),
               W = layer.weight.to(DType::float32);
  double first = 0, last = 0;
  for (int step = 0; step < 40; ++step) {
    const Recording recording;
    const Tensor loss = mse_loss(layer(x), goal);
    (step == 0 ? first : last) = loss.item();
    optimizer.step(backward(loss), 0.05);
  }
  CHECK(last < 0.8 * first);
  CHECK(error(layer.weight.to(DType::float32), W) == 0);
  CHECK(message([&] { merge(parameters); }) ==
        "merge: in.weight is bfloat16, which only holds weights; convert it to float32");
}

TEST_CASE("adapt refuses names without a Linear and wrong options") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  const Embedding words(scope / "words", 5, 4);
  const Mlp mlp(scope / "mlp", 4, {.width = 8});
  CHECK(message([&] {
          adapt(scope, {"out", "words"});
        }) == "adapt: no Linear has the name 'words'; expected one of in, out");
  CHECK(message([&] { adapt(scope, {"inn"}); }) == "adapt: no Linear has the name 'inn' (did you mean 'in'?)");
  CHECK(message([&] { adapt(scope, {"n"}); }).starts_with("adapt: no Linear has the name 'n'"));
  CHECK(message([&] { adapt(scope, {}); }) == "adapt: expected names of layers, such as W_Q, got none");
  CHECK(message([&] { adapt(scope, {"in"}, {.rank = 0}); }) == "adapt: expected a rank of at least 1, got 0");
  CHECK(message([&] { adapt(scope, {"in"}, {.alpha = INFINITY}); }) == "adapt: alpha must be finite, got inf");
  CHECK(trained_names(parameters).size() == parameters.size());
  adapt(scope / "mlp", {"in"});
  CHECK(trained_names(parameters) == std::vector<std::string>{"words.weight", "mlp.in.lora_A", "mlp.in.lora_B"});
}

TEST_CASE("merge refuses to change parameters while their average is shown, and an average notices it later") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  const Linear layer(scope / "in", 3, 2);
  adapt(scope, {"in"}, {.rank = 1});
  WeightAverage average(parameters);
  average.add();
  {
    const WeightAverage::Shown shown(average);
    CHECK(message([&] { merge(parameters); }).starts_with("merge: the parameters hold a WeightAverage"));
  }
  merge(parameters);
  CHECK(message([&] {
          average.add();
        }).starts_with("WeightAverage: expected as many parameters as at the first add(), 4, got 2"));
  const std::string gone =
      "WeightAverage: parameter 'in.lora_A' of the first add() is no longer in its place; restart() after merge()";
  CHECK(message([&] { const WeightAverage::Shown shown(average); }) == gone);
  const Linear more(scope / "more", 3, 2);
  CHECK(message([&] { average.add(); }) == gone);
}
