#include "tests/golden.h"

#include <functional>
#include <map>

using namespace heed;

namespace {

using Inputs = std::vector<Tensor>;

const Booleans condition({4}, {1, 0, 0, 1});
const Ids labels({5}, {3, -1, 0, 2, 2});
const Mask padding = Mask::padding(std::vector{5, 2}, 5);
const Mask some(Booleans({3, 5}, {1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}));

const std::map<std::string, std::function<Tensor(const Inputs&)>> operation_cases{
    {"add", [](const Inputs& x) { return x[0] + x[1]; }},
    {"subtract", [](const Inputs& x) { return x[0] - x[1]; }},
    {"multiply", [](const Inputs& x) { return x[0] * x[1]; }},
    {"divide", [](const Inputs& x) { return x[0] / x[1]; }},
    {"scalars", [](const Inputs& x) { return (2 - 3 / x[0]) * 0.5 + 1 - x[0] / 4; }},
    {"negate", [](const Inputs& x) { return -x[0]; }},
    {"exp", [](const Inputs& x) { return exp(x[0]); }},
    {"log", [](const Inputs& x) { return log(x[0]); }},
    {"sqrt", [](const Inputs& x) { return sqrt(x[0]); }},
    {"square", [](const Inputs& x) { return square(x[0]); }},
    {"tanh", [](const Inputs& x) { return tanh(x[0]); }},
    {"sigmoid", [](const Inputs& x) { return sigmoid(x[0]); }},
    {"relu", [](const Inputs& x) { return relu(x[0]); }},
    {"gelu", [](const Inputs& x) { return gelu(x[0]); }},
    {"gelu_tanh", [](const Inputs& x) { return gelu_tanh(x[0]); }},
    {"where", [](const Inputs& x) { return where(condition, x[0], x[1]); }},
    {"masked_fill", [](const Inputs& x) { return masked_fill(x[0], condition, -7); }},
    {"sum",
     [](const Inputs& x) {
       return sum(x[0], {0, 2});
     }},
    {"mean", [](const Inputs& x) { return mean(x[0], {1}, true); }},
    {"max", [](const Inputs& x) { return max(x[0], {-1}); }},
    {"permute",
     [](const Inputs& x) {
       return reshape(permute(x[0], {2, 0, 1}), {4, 6});
     }},
    {"slice", [](const Inputs& x) { return slice(x[0], 1, 1, 5, 2); }},
    {"concat", [](const Inputs& x) { return concat(x, 1); }},
    {"matmul", [](const Inputs& x) { return matmul(x[0], x[1]); }},
    {"matmul_transposed", [](const Inputs& x) { return matmul(transpose(x[0]), transpose(x[1])); }},
    {"linear", [](const Inputs& x) { return linear(x[0], x[1], x[2]); }},
    {"softmax", [](const Inputs& x) { return softmax(x[0]); }},
    {"log_softmax", [](const Inputs& x) { return log_softmax(x[0]); }},
    {"layer_norm", [](const Inputs& x) { return layer_norm(x[0], x[1], x[2]); }},
    {"cross_entropy", [](const Inputs& x) { return cross_entropy(x[0], labels); }},
    {"cross_entropy_smooth", [](const Inputs& x) { return cross_entropy(x[0], labels, {.label_smoothing = 0.1}); }},
    {"embedding",
     [](const Inputs& x) {
       return embedding(x[0], Ids({2, 3}, {1, 4, 1, 0, 3, 4}));
     }},
    {"select_rows",
     [](const Inputs& x) {
       return select_rows(x[0], Ids({2}, {2, 0}));
     }},
};

const std::map<std::string, Mask> attention_cases{{"attention", {}},
                                                  {"attention_causal", Mask::causal()},
                                                  {"attention_padding", padding},
                                                  {"attention_boolean", some}};

NamedTensors variables(const Golden& golden, const std::string& name, DType dtype, std::size_t count) {
  NamedTensors result;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key = std::to_string(i);
    result.emplace_back(key, variable(golden(name + "." + key, dtype)));
  }
  return result;
}

Inputs tensors(const NamedTensors& named) {
  Inputs result;
  for (const auto& [name, tensor] : named) result.push_back(tensor);
  return result;
}

}  // namespace

TEST_CASE("Operations and their gradients match PyTorch") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(to_string(dtype));
  const Golden golden("operations");
  for (const auto& [name, function] : operation_cases) {
    const NamedTensors inputs = variables(golden, name, dtype, golden.inputs(name));
    check_case(golden, name, inputs, [&, &operation = function] { return operation(tensors(inputs)); });
  }
}

TEST_CASE("Fused and composed attention and their gradients match PyTorch") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(to_string(dtype));
  const Golden golden("operations");
  for (const auto& [key, visible] : attention_cases) {
    const std::string& name = key;
    const Mask& mask = visible;
    const NamedTensors inputs = variables(golden, name, dtype, 3);
    const Tensor &Q = inputs[0].second, &K = inputs[1].second, &V = inputs[2].second;
    const auto check = [&](const AttentionResult& attended) {
      CHECK(error(attended.weights, golden(name + ".weights")) <= tolerance(dtype));
      return attended.output;
    };
    check_case(golden, name, inputs, [&] { return check(attention_composed(Q, K, V, {.mask = mask})); });
    check_case(golden, name, inputs, [&] { return check(attention(Q, K, V, {.mask = mask, .weights = true})); });
    check_case(golden, name, inputs, [&] { return attention(Q, K, V, {.mask = mask}).output; });
  }
}
