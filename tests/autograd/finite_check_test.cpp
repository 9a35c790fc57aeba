#include "tests/autograd/helpers.h"

using namespace heed;

namespace {

// Returns the message of a FiniteCheck for f within a recording, or "nothing".
template <class F>
std::string said_of(F f) {
  const Recording recording;
  try {
    f();
  } catch (const NotFinite& error) {
    return error.what();
  }
  return "nothing";
}

const Operation infinite_backward("infinite_backward", "y = x", "dx = dy / 0",
                                  Samples::none("its gradient is wrong on purpose"));

}  // namespace

TEST_CASE("A FiniteCheck names the operation and the layer of the first output that is not finite") {
  const Tensor x = variable(tensor({2}, {-1, 2}));
  const auto bad = [&] { log(square(x) - 1) * 0; };
  {
    const FiniteCheck check;
    CHECK(said_of(bad) == "the output of log, shape (2), holds -inf");
    const std::string name = "decoder.3.out";
    CHECK(said_of([&] {
            const LayerScope scope(name);
            bad();
          }) == "decoder.3.out: the output of log, shape (2), holds -inf");
    CHECK(said_of([&] { log(x); }) == "the output of log, shape (2), holds NaN");
    CHECK(said_of([&] {
            x* tensor({2}, {1, NAN});
          }) == "the output of multiply, shape (2), holds NaN; input 1 holds NaN");
    Tensor weight = variable(tensor({2}, {INFINITY, 1}));
    weight.set_name("gain");
    CHECK(said_of([&] { weight * 2; }) ==
          "the output of multiply by scalar, shape (2), holds inf; input 0, 'gain', holds inf");
  }
  CHECK(said_of(bad) == "nothing");
}

TEST_CASE("FiniteChecks nest") {
  const Tensor x = variable(zeros({2}));
  const FiniteCheck outer;
  { const FiniteCheck inner; }
  CHECK(said_of([&] { log(x); }) == "the output of log, shape (2), holds -inf");
}

TEST_CASE("A FiniteCheck checks gradients and the loss") {
  const Tensor x = variable(tensor({2}, {0, 4}));
  const FiniteCheck check;
  CHECK(said_of([&] { backward(sum(sqrt(x))); }) ==
        "the gradient that the backward of sqrt gives input 0, shape (2), holds inf");
  const std::string name = "encoder.1.norm";
  CHECK(said_of([&] {
          Tensor y;
          {
            const LayerScope scope(name);
            y = record(infinite_backward, {&x}, x.detach().clone(), Saved(), [](const Tensor& dy) {
              return std::vector{dy / tensor({2}, {0, 1}) * 0};
            });
          }
          backward(sum(y));
        }) ==
        "encoder.1.norm: the gradient that the backward of infinite_backward gives input 0, shape (2), holds NaN");
  const Booleans first({2}, {1, 0});
  CHECK(said_of([&] { backward(sum(masked_fill(x, first, -INFINITY))); }) == "backward: the loss is -inf");
}

TEST_CASE("A FiniteCheck allows the infinities of a mask, but not values computed from them") {
  const Tensor x = variable(tensor({2, 2}, {1, 2, 3, 4}));
  const Booleans hidden({2, 2}, {0, 1, 0, 0});
  const Tensor bias = tensor({2, 2}, {0, -INFINITY, 0, 0});
  const FiniteCheck check;
  CHECK(said_of([&] {
          const Tensor scores = masked_fill(x, hidden, -INFINITY);
          backward(sum(square(softmax(transpose(reshape(scores / 2, {2, 2}))))));
          backward(sum(square(softmax(where(hidden, full({2, 2}, -INFINITY), x)))));
          backward(sum(square(softmax(x + bias))));
        }) == "nothing");
  CHECK(said_of([&] { -masked_fill(x, hidden, -INFINITY); }) ==
        "the output of multiply by scalar, shape (2, 2), holds inf; input 0 holds -inf");
  CHECK(said_of([&] { softmax(x + full({2, 2}, -INFINITY)) * INFINITY; }).find("holds NaN") != std::string::npos);
}
