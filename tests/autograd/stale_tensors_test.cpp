// Writes to tensors that backward still needs are detected.
#include "tests/autograd/helpers.h"

using namespace heed;

TEST_CASE("Writing to a variable between its use and backward throws an Error") {
  Tensor x = variable(ones({2}));
  {
    const Recording recording;
    const Tensor loss = sum(square(x));
    x.mutable_data<float>()[0] = 5;
    CHECK(message([&] { backward(loss); }) ==
          "backward: a variable of shape (2) was written after it was recorded; call backward before the "
          "optimiser's step, and open a new Recording after it");
  }
  const Recording recording;
  CHECK(backward(sum(square(x)))[x].to_vector() == std::vector<double>{10, 2});
}

TEST_CASE("Writing to a tensor that backward still needs throws an Error that names it") {
  const auto written = [](const std::string& which) {
    return which +
           ", was written after the operation, but its gradient needs the old values; write to a clone(), or "
           "after backward";
  };
  const Tensor W = variable(ones({3, 3}));
  const Recording recording;
  Tensor x = ones({2, 3});
  const Tensor product = sum(linear(x, W, {}));
  x.mutable_data<float>()[0] = 7;
  CHECK(message([&] { backward(product); }) == written("backward of linear: the memory of input 0, of shape (2, 3)"));

  Tensor scale = ones({2});
  const Tensor a = sum(W) * scale, b = sum(W) / scale;
  slice(scale, 0, 1, 2).mutable_data<float>()[0] = 7;  // through a view
  CHECK(message([&] { backward(sum(a)); }) == written("backward of multiply: the memory of input 1, of shape (2)"));
  CHECK(message([&] { backward(sum(b)); }) == written("backward of divide: the memory of input 1, of shape (2)"));

  const Tensor h = W * 2, y = exp(h);
  Tensor same = reshape(y, {9}).detach();
  CHECK(backward(sum(y)).size() == 1);
  same.mutable_data<float>()[0] = 7;
  CHECK(message([&] { backward(sum(y)); }) == written("backward of exp: the memory of its output, of shape (3, 3)"));
  CHECK(message([&] { backward(sum(h * y.detach())); }) == "no error");  // recorded with the current values

  const Tensor logits = W * 1, loss = cross_entropy(logits, Ids({3}, {0, 1, 2}));
  Tensor given = backward(loss)[W];
  given.mutable_data<float>()[0] = 7;
  CHECK(backward(loss)[W].at({0, 0}) != 7);
  const Tensor table = variable(ones({1, 2})), direct = cross_entropy(table, Ids({1}, {0}));
  given = backward(direct)[table];
  given.mutable_data<float>()[0] = 7;
  CHECK(backward(direct)[table].at({0, 0}) == -0.5);
}

TEST_CASE("Tensors that backward does not read may be written") {
  Tensor x = ones({2}), y = ones({2});
  const Tensor v = variable(tensor({2}, {2, 3}));
  const Recording recording;
  const Tensor shifted = sum(v * x.clone() + y), unused = v * y;
  y.mutable_data<float>()[0] = 7;
  CHECK(backward(shifted)[v].to_vector() == std::vector<double>{1, 1});
  const Tensor before = sum(v * x);
  CHECK(backward(before)[v].to_vector() == std::vector<double>{1, 1});
  x.copy_from(y);  // after backward
  CHECK(backward(sum(v * x))[v].to_vector() == std::vector<double>{7, 1});
}
