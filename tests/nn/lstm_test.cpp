#include "tests/golden.h"
#include "tests/message.h"

#include <heed/autograd/autocast.h>
#include <heed/autograd/machine.h>
#include <heed/autograd/profile.h>
#include <heed/autograd/recurrent.h>
#include <heed/nn/adapter.h>
#include <heed/nn/hook.h>
#include <heed/nn/recurrent.h>

using namespace heed;

namespace {

struct Sequence {
  Tensor gates, U, h, c, cotangent;
  Sequence(std::int64_t T, std::int64_t B, std::int64_t d, DType dtype) {
    Random random(7);
    const auto normal = [&](const Shape& shape, double deviation) {
      return variable(random_normal(shape, random, 0, deviation, dtype));
    };
    gates = normal({T, B, 4 * d}, 1), U = normal({d, 4 * d}, 0.5), h = normal({B, d}, 1), c = normal({B, d}, 1);
    cotangent = normal({T + 1, B, d}, 1).detach();
  }
  // Returns the result and the gradients of all inputs.
  template <class Function>
  std::vector<Tensor> all(const Function& function) const {
    const Recording recording;
    const Tensor y = function(gates, U, h, c);
    const Gradients g = backward(y, cotangent);
    return {y.detach(), g[gates], g[U], g[h], g[c]};
  }
};

}  // namespace

TEST_CASE("lstm equals its composition, forward and backward, for any sizes") {
  const auto [T, B, d] = GENERATE(table<std::int64_t, std::int64_t, std::int64_t>(
      {{1, 1, 1}, {5, 3, 7}, {4, 13, 37}, {3, 32, 64}, {2, 5, 300}, {6, 7, 16}}));
  CAPTURE(T, B, d);
  for (const DType dtype : {DType::float64, DType::float32}) {
    const Sequence s(T, B, d, dtype);
    const std::vector<Tensor> fused = s.all(lstm), composed = s.all(lstm_composed);
    for (std::size_t i = 0; i < fused.size(); ++i) {
      CAPTURE(i);
      CHECK(error(fused[i], composed[i]) < (dtype == DType::float64 ? 1e-11 : 2e-3));
    }
  }
}

TEST_CASE("lstm has the same bits for any number of threads") {
  const Sequence s(6, 20, 150, DType::float32);
  const int before = threads();
  std::vector<std::vector<double>> first;
  for (const int count : {1, 2, 5}) {
    set_threads(count);
    std::vector<std::vector<double>> bits;
    for (const Tensor& x : s.all(lstm)) bits.push_back(x.to_vector());
    if (first.empty()) first = bits;
    CHECK(bits == first);
  }
  set_threads(before);
}

TEST_CASE("lstm takes strided inputs and refuses others by shape and dtype") {
  const Sequence s(4, 3, 5, DType::float64);
  const Tensor expected = lstm(s.gates, s.U, s.h, s.c);
  const Tensor strided = transpose(contiguous(transpose(s.gates, 0, 1)), 0, 1);
  CHECK(error(lstm(strided, transpose(contiguous(transpose(s.U))), s.h, s.c), expected) == 0);
  CHECK(error(lstm(s.gates, s.U.to(DType::float32), s.h, s.c), expected) < 1e-6);
  CHECK(message([&] {
          lstm(s.gates, s.U, s.h, zeros({3, 4}));
        }) ==
        "lstm: expected gates (T, B, 4 d), U (d, 4 d), h (B, d) and c (B, d), got (4, 3, 20), (5, 20), (3, 5) and (3, "
        "4)");
  CHECK(message([&] {
          lstm(s.gates, s.U, zeros({3, 5}), s.c);
        }) == "lstm: gates and states must have one dtype, got float64, float32 and float64");
}

TEST_CASE("The layer LSTM runs all steps at once, or one by one for a hook, an adapter and products of 16 bits") {
  Parameters parameters;
  const LSTM layer(Scope(parameters, 1) / "lstm", 3, 8, {.layers = 2});
  Random random(2);
  const Tensor x = random_normal({4, 6, 3}, random);
  const auto calls = [&] {
    const Profile profile;
    const Tensor y = layer(x).output;
    return std::pair(y, profile.totals().contains("lstm"));
  };
  const auto [expected, at_once] = calls();
  CHECK(at_once);
  CHECK(expected.shape() == Shape{4, 6, 8});
  int shown = 0;
  {
    const Hook hook([&](const std::string& name, Tensor&) { shown += name == "lstm.1.hidden.output"; });
    const auto [y, fused] = calls();
    CHECK_FALSE(fused);
    CHECK(error(y, expected) < 1e-6);
  }
  CHECK(shown == 6);
  {
    const Autocast autocast(Precision::bfloat16);
    CHECK_FALSE(calls().second);
  }
  adapt(Scope(parameters, 1), {"hidden"}, {.rank = 2});
  assign(parameters["lstm.0.hidden.lora_B"], Init::normal(1), random);
  const auto [adapted_output, fused] = calls();
  CHECK_FALSE(fused);
  CHECK(error(adapted_output, expected) > 1e-3);
  merge(parameters);
  CHECK(calls().second);
  CHECK(error(calls().first, adapted_output) < 1e-6);
}
