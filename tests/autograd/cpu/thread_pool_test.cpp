#include "tests/autograd/helpers.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

using namespace heed;

namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensors&)>;

// The output and the gradients, with `count` threads.
Tensors results(int count, const Function& function, const Tensors& inputs, const Tensor& cotangent) {
  const Threads threads(count);
  Tensors variables;
  for (const Tensor& input : inputs) variables.push_back(variable(input));
  const Recording recording;
  const Tensor y = function(variables);
  const Gradients gradients = backward(y, cotangent);
  Tensors all{y.detach()};
  for (const Tensor& v : variables) all.push_back(gradients[v]);
  return all;
}

void check_same(const Function& function, const Tensors& inputs) {
  Random random(77);
  const Tensor y = function(inputs);
  const Tensor cotangent = uniform(y.shape(), random, y.dtype());
  const Tensors one = results(1, function, inputs, cotangent);
  for (const int count : {2, 3, 8}) {
    const Tensors many = results(count, function, inputs, cotangent);
    for (std::size_t i = 0; i < one.size(); ++i) {
      INFO(count << " threads, " << (i == 0 ? "output" : fmt::format("gradient of input {}", i - 1)));
      CHECK(same_bits(many[i], one[i]));
    }
  }
}

const Mask padding = Mask::padding(std::vector{130, 7, 0, 64}, 130);

Ids spread(const Shape& shape, std::int64_t below) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < shape.numel(); ++i) ids.push_back(static_cast<std::int32_t>(i * i % below));
  return {shape, ids};
}

struct LargeCase {
  std::string name;
  std::vector<Shape> shapes;
  Function function;
};

const std::vector<LargeCase> large{
    {"matmul", {{513, 257}, {257, 1025}}, [](auto& x) { return matmul(x[0], x[1]); }},
    {"matmul over a long axis", {{64, 5000}, {5000, 64}}, [](auto& x) { return matmul(x[0], x[1]); }},
    {"matmul in batches", {{6, 1, 40, 30}, {5, 30, 20}}, [](auto& x) { return matmul(x[0], x[1]); }},
    {"linear", {{4, 333, 64}, {64, 130}, {130}}, [](auto& x) { return linear(x[0], x[1], x[2]); }},
    {"sum", {{1000003}}, [](auto& x) { return sum(x[0]); }},
    {"sum over rows", {{3000, 333}}, [](auto& x) { return sum(x[0], {0}); }},
    {"sum over columns", {{333, 3000}}, [](auto& x) { return sum(x[0], {1}); }},
    {"sum of a transposed",
     {{40, 50, 500}},
     [](auto& x) {
       return sum(permute(x[0], {2, 0, 1}), {1});
     }},
    {"max", {{700, 900}}, [](auto& x) { return max(x[0], {0}); }},
    {"multiply", {{1000003}, {1000003}}, [](auto& x) { return x[0] * x[1]; }},
    {"add, broadcast", {{1000, 1, 100}, {10, 1}}, [](auto& x) { return x[0] + x[1]; }},
    {"gelu", {{300001}}, [](auto& x) { return gelu(x[0]); }},
    {"tanh of a transposed", {{501, 603}}, [](auto& x) { return tanh(transpose(x[0])); }},
    {"softmax", {{3000, 100}}, [](auto& x) { return softmax(x[0]); }},
    {"log_softmax", {{300, 1000}}, [](auto& x) { return log_softmax(x[0]); }},
    {"cross_entropy", {{3000, 100}}, [](auto& x) { return cross_entropy(x[0], spread({3000}, 100)); }},
    {"layer_norm", {{3000, 100}, {100}, {100}}, [](auto& x) { return layer_norm(x[0], x[1], x[2]); }},
    {"embedding",
     {{50, 200}},
     [](auto& x) {
       return embedding(x[0], spread({30, 100}, 50));
     }},
    {"dropout",
     {{300001}},
     [](auto& x) {
       Random random(1);
       return dropout(x[0], 0.3, random);
     }},
    {"attention",
     {{4, 4, 130, 16}, {4, 4, 130, 16}, {4, 4, 130, 24}},
     [](auto& x) { return attention(x[0], x[1], x[2], {.mask = padding & Mask::causal()}).output; }},
    {"attention and its weights",
     {{4, 4, 130, 16}, {4, 4, 130, 16}, {4, 4, 130, 24}},
     [](auto& x) {
       const AttentionResult y = attention(x[0], x[1], x[2], {.mask = padding, .weights = true});
       return concat({y.output, y.weights}, -1);
     }},
    {"attention composed", {{2, 4, 130, 16}, {2, 4, 130, 16}, {2, 4, 130, 16}}, [](auto& x) {
       return attention_composed(x[0], x[1], x[2], {.mask = Mask::causal()}).output;
     }}};

}  // namespace

TEST_CASE("Every operation gives the same bits with 1, 2, 3 and 8 threads") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  for (const Operation* operation : operations()) {
    const std::vector<GradientSample> samples = operation->samples().all();
    for (std::size_t i = 0; i < samples.size(); i += samples.size() < 60 ? 1 : 7) {
      INFO(operation->name() << " " << samples[i].name << " " << to_string(dtype));
      Random random(i);
      Tensors inputs;
      for (const Argument& argument : samples[i].arguments) inputs.push_back(draw(argument, random).to(dtype));
      check_same(samples[i].function, inputs);
    }
  }
}

TEST_CASE("User threads that compute concurrently get the same bits as one alone") {
  Random random(5);
  const Tensor a = uniform({300, 300}, random, DType::float32);
  const Tensor alone = matmul(a, a);
  std::array<bool, 3> same{};
  std::vector<std::thread> crowd;
  for (bool& all_same : same) {
    crowd.emplace_back([&] {
      all_same = true;
      for (int i = 0; i < 50; ++i) all_same = same_bits(matmul(a, a), alone) && all_same;
    });
  }
  for (std::thread& one : crowd) one.join();
  CHECK((same[0] && same[1] && same[2]));
}

TEST_CASE("Work large enough to be split gives the same bits with 1, 2, 3 and 8 threads") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  for (const LargeCase& c : large) {
    INFO(c.name << " " << to_string(dtype));
    Random random(3);
    Tensors inputs;
    for (const Shape& shape : c.shapes) inputs.push_back(uniform(shape, random, dtype));
    check_same(c.function, inputs);
  }
}

TEST_CASE("parallel_for runs every tile once, and each thread has its own index") {
  const Threads team(4);
  std::array<std::atomic<std::thread::id>, 4> owner;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::atomic<int>> runs(64);
    std::atomic<int> wrong = 0;
    cpu::parallel_for(64, 1, [&](std::int64_t begin, std::int64_t end) {
      const int index = cpu::current_thread();
      const std::thread::id self = std::this_thread::get_id();
      std::thread::id before;
      if (index < 0 || index >= 4 || end != begin + 1) {
        ++wrong;
      } else if (!owner[static_cast<std::size_t>(index)].compare_exchange_strong(before, self) && before != self) {
        ++wrong;
      }
      ++runs[static_cast<std::size_t>(begin)];
      const auto until =
          std::chrono::steady_clock::now() + std::chrono::microseconds(50);  // so that every thread runs some
      while (std::chrono::steady_clock::now() < until) continue;
    });
    for (const std::atomic<int>& count : runs) wrong += count != 1;
    REQUIRE(wrong == 0);
  }
  CHECK(owner[0].load() == std::this_thread::get_id());
}

TEST_CASE("A nested parallel_for runs on the thread of its tile") {
  const Threads team(4);
  std::atomic<int> elsewhere = 0, done = 0;
  cpu::parallel_for(8, 1, [&](std::int64_t, std::int64_t) {
    const std::thread::id self = std::this_thread::get_id();
    cpu::parallel_for(100, 1, [&](std::int64_t, std::int64_t) {
      elsewhere += std::this_thread::get_id() != self;
      ++done;
    });
  });
  CHECK(elsewhere == 0);
  CHECK(done == 800);
}

TEST_CASE("equal_grain gives 1, 2, 4 or a multiple of 8 ranges, none longer than requested") {
  for (const auto& [count, most, ranges] :
       {std::array{10, 10, 1}, {11, 10, 2}, {21, 10, 4}, {41, 10, 8}, {85, 10, 16}}) {
    CAPTURE(count);
    const std::int64_t grain = cpu::equal_grain(count, most);
    CHECK(grain <= most);
    CHECK((count + grain - 1) / grain <= ranges);
    CHECK(grain == (ranges == 1 ? most : (count + ranges - 1) / ranges));
  }
}
