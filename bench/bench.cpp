#include "heed.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>

// Prints "NAME MILLISECONDS", the median of `rounds` timings of each piece of work; bench.py puts its twin beside it.
namespace {

using namespace heed;

void measure(const char* name, int rounds, const std::function<void()>& work) {
  std::vector<double> times;
  for (int round = -2; round < rounds; ++round) {  // two to warm up
    const auto begin = std::chrono::steady_clock::now();
    work();
    if (round >= 0) {
      times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  fmt::print("{} {:.4f}\n", name, times[static_cast<std::size_t>(rounds / 2)]);
}

Tensor normal(const Shape& shape, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  for (double& value : values) value = random.normal();
  return tensor(shape, values);
}

Ids numbers(const Shape& shape, int below) {
  std::vector<std::int32_t> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) values.push_back(static_cast<std::int32_t>(i * 7 % below));
  return Ids(shape, values);
}

}  // namespace

int main() {
  const Tensor a = normal({1024, 1024}, 1), b = normal({1024, 1024}, 2);
  measure("matmul", 15, [&] { matmul(a, b); });

  const Tensor x = normal({64, 128, 512}, 3);
  measure("softmax", 15, [&] { softmax(x); });

  const Shape heads{8, 8, 256, 64};
  const Tensor Q = variable(normal(heads, 4)), K = variable(normal(heads, 5)), V = variable(normal(heads, 6));
  const Tensor dO = normal(heads, 7);
  measure("attention", 15, [&] {
    const Recording recording;
    backward(attention(Q, K, V).output, dO);
  });

  // The step of toy.yaml: B 64, T 14, d_model 64, 2 layers, 2 heads of 16.
  Parameters parameters;
  const Encoder encoder(Scope(parameters, 1), 2, {.d_model = 64, .heads = 2, .d_k = 16, .d_v = 16}, 0);
  const Embedding words(Scope(parameters, 1) / "words", 73, 64);
  Optimizer adam(parameters, {});
  const Ids tokens = numbers({64, 14}, 73), query = numbers({64}, 14), answer = numbers({64}, 73);
  measure("step", 50, [&] {
    const Recording recording;
    const Tensor at_query = select_rows(encoder(words(tokens)).output, query);
    const Tensor loss = cross_entropy(matmul(at_query, transpose(words.weight)), answer);
    Gradients gradients = backward(loss);
    clip_by_global_norm(gradients, 1);
    adam.step(gradients, 1e-3);
  });
}
