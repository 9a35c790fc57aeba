#include "tests/autograd/helpers.h"

#include <heed/autograd/checkpoint.h>
#include <heed/autograd/derivatives.h>

using namespace heed;

namespace {

// Layers of x + W2 gelu(W1 x), and a dropout.
struct Stack {
  std::vector<Tensor> W1, W2;
  explicit Stack(int layers, int d) {
    Random random(1);
    for (int i = 0; i < layers; ++i) {
      W1.push_back(variable(uniform({d, 4 * d}, random, DType::float32, -0.1, 0.1)));
      W2.push_back(variable(uniform({4 * d, d}, random, DType::float32, -0.1, 0.1)));
    }
  }
  Tensor layer(std::size_t i, const Tensor& x, Random& random) const {
    return x + dropout(matmul(gelu(matmul(x, W1[i])), W2[i]), 0.1, random);
  }
  Tensor operator()(Tensor x, Random& random, bool recomputes) const {
    for (std::size_t i = 0; i < W1.size(); ++i) {
      const auto f = [this, i](const Tensor& h, Random& r) { return layer(i, h, r); };
      x = recomputes ? checkpoint(f, x, random) : f(x, random);
    }
    return x;
  }
};

}  // namespace

TEST_CASE("checkpoint gives the same bits in less memory, with dropout, and to any order") {
  const Stack stack(6, 32);
  Random inputs(2);
  const Tensor x = variable(uniform({256, 32}, inputs, DType::float32));
  std::vector<Gradients> gradients;
  std::vector<std::int64_t> peaks, sizes;
  std::vector<std::uint32_t> drawn;
  for (const bool recomputes : {false, true}) {
    Random random(3);
    const std::int64_t before = memory_use().bytes_in_use;
    reset_peak_memory();
    const Recording recording;
    const Tensor loss = mean(square(stack(x, random, recomputes)));
    sizes.push_back(recording.size());
    gradients.push_back(backward(loss));
    peaks.push_back(memory_use().peak_bytes - before);
    drawn.push_back(random.bits());
    CHECK(same_bits(backward(loss)[x], gradients.back()[x]));  // again
  }
  CHECK(drawn[0] == drawn[1]);
  CHECK(sizes[1] < sizes[0]);
  CHECK(peaks[1] < peaks[0] / 2);
  REQUIRE(gradients[1].size() == gradients[0].size());
  for (const auto& [variable, gradient] : gradients[0]) CHECK(same_bits(gradient, gradients[1][variable]));

  std::vector<Tensor> second;
  for (const bool recomputes : {false, true}) {
    Random random(3);
    const Recording recording;
    const Gradients first = backward(mean(square(stack(x, random, recomputes))), {.record = true});
    second.push_back(backward(sum(square(first[x])))[stack.W1[2]]);
  }
  CHECK(distance(second[0], second[1]) < 1e-6);
}

TEST_CASE("A tensor that several functions of checkpoint read gets its gradient up to rounding") {
  Random random(4);
  const Tensor W = variable(uniform({4, 4}, random, DType::float32)),
               V = variable(uniform({4, 4}, random, DType::float32));
  const Tensor x = uniform({8, 4}, random, DType::float32);
  const auto f = [&](const Tensor& h) { return tanh(matmul(tanh(matmul(h, W)), W)); };
  const auto g = [&](const Tensor& h) { return tanh(matmul(tanh(matmul(h, V)), V)); };
  const Recording recording;
  const Gradients expected = backward(sum(f(f(g(x))))),
                  found = backward(sum(checkpoint(f, checkpoint(f, checkpoint(g, x)))));
  CHECK(same_bits(found[V], expected[V]));  // of one function alone
  CHECK(max(abs(found[W] - expected[W])).item() < 1e-6);
}

TEST_CASE("Recorded tensors and variables that the function of checkpoint reads get their gradients") {
  const Tensor a = variable(tensor({2}, {1, 2})), b = variable(tensor({2}, {3, 4})), frozen = variable(ones({2}));
  frozen.set_frozen(true);
  const Recording recording;
  const Tensor h = a * b;
  const auto f = [=](const Tensor& x, const Tensor& same) { return x * same * h * b * frozen; };
  const Tensor y = checkpoint(f, a, a);
  const Gradients expected = backward(sum(f(a, a) + a)), found = backward(sum(y + a));
  CHECK(found.size() == 2);
  CHECK(same_bits(found[a], expected[a]));
  CHECK(same_bits(found[b], expected[b]));
  CHECK(checkpoint([](const Tensor& x) { return x; }, a).tape_node() == a.tape_node());
  CHECK(checkpoint(square, frozen).tape_node().recording == 0);
  const NoRecording constants;
  CHECK(checkpoint(square, a).to_vector() == std::vector<double>{1, 4});
}

TEST_CASE("A function that gives another output the second time is an error") {
  const Tensor x = variable(ones({64}));
  Random random(1);
  const Recording recording;
  const Tensor y = checkpoint([&](const Tensor& v) { return dropout(v, 0.5, random); }, x);
  CHECK(message([&] { backward(sum(y)); }) ==
        "backward of checkpoint: the function gave another output of shape (64) than before; pass a Random that it "
        "draws from as an argument: checkpoint(f, x, random)");
  for (const DType dtype : {DType::float32, DType::float64}) {  // the same numbers in other places, or with other signs
    const Tensor each = variable(tensor({1, -1, 2, -2, 0, 3, -3}, dtype));
    int calls = 0;
    const auto rolled = [&](const Tensor& v) { return roll(v, ++calls, 0); };
    const auto negated = [&](const Tensor& v) { return v * (++calls % 2 == 1 ? 1 : -1); };
    const auto flipped = [&](const Tensor& v) { return ++calls % 2 == 1 ? flip(v, 0) : v * 1; };
    for (const TensorFunction& f : {TensorFunction(rolled), TensorFunction(negated), TensorFunction(flipped)}) {
      calls = 0;
      const Tensor moved = checkpoint(f, each);
      CHECK(message([&] { backward(sum(moved)); }).find("gave another output of shape (7)") != std::string::npos);
    }
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Tensor first = tensor({0.0, nan}, dtype), second = tensor({-0.0, -nan}, dtype);
    bool is_again = false;
    const auto f = [&](const Tensor& v) { return v * (std::exchange(is_again, true) ? second : first); };
    const Tensor two = variable(ones({2}, dtype)), same = checkpoint(f, two);
    CHECK(backward(sum(same))[two].at({0}) == 0);  // both zeros, and all NaN, are one output
  }
  struct Drop {  // as nn/dropout.h
    double p = 0;
    Random* random = nullptr;
  };
  const Tensor z =
      checkpoint([](const Tensor& v, const Drop& d) { return dropout(v, d.p, *d.random); }, x, Drop{0.5, &random});
  CHECK(same_bits(backward(sum(z))[x], z.detach()));
  bool again = false;
  const Tensor longer = checkpoint([&](const Tensor& v) { return again ? concat({v, v}, 0) : v * 2; }, x);
  again = true;
  CHECK(message([&] { backward(sum(longer)); }).find("gave another output of shape (128)") != std::string::npos);
  const Tensor w = variable(ones({64}));
  bool reads_w = false;
  const Tensor late = checkpoint([&](const Tensor& v) { return reads_w ? v * w : v * 1; }, x);
  reads_w = true;
  CHECK(message([&] { backward(sum(late)); }) ==
        "backward: a function used a variable of shape (64) only when it was computed again");
  Tensor kept;
  const Tensor keeps = checkpoint([&](const Tensor& v) { return kept = v * 3; }, x);
  backward(sum(keeps));
  CHECK(message([&] { backward(sum(kept)); }) ==
        "backward: the output depends on a tensor that a function kept while checkpoint() computed it again; return it "
        "instead");
  CHECK(message([&] {
          Tensor written = x.detach();
          const Tensor v = checkpoint(square, x * 1);
          written.mutable_data<float>();
          backward(sum(v));
        }).find("was written after") != std::string::npos);
}
