// Copies, conversions and views inside a Recording.
#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

using namespace heed;

TEST_CASE("clone, to and view pass gradients on") {
  const Tensor x = variable(tensor({2, 2}, {1, 2, 3, 4}, DType::float64));
  const Tensor expected = tensor({2, 2}, {3, 5, 7, 9}, DType::float64);  // of x + x^2
  const std::vector<std::function<Tensor()>> copies = {[&] { return x.clone(); }, [&] { return x.to(DType::float64); },
                                                       [&] { return x.to(DType::float32).to(DType::float64); },
                                                       [&] {
                                                         return x.view({2, 2}, {2, 1});
                                                       },
                                                       [&] {
                                                         return transpose(x).clone().view({2, 2}, {1, 2});
                                                       }};
  for (std::size_t i = 0; i < copies.size(); ++i) {
    CAPTURE(i);
    const Recording recording;
    CHECK(same_bits(backward(sum(x + square(copies[i]())))[x], expected));
  }
}

TEST_CASE("A copy outside a recording is a constant, and reading the numbers of a recorded tensor records nothing") {
  const Tensor x = variable(ones({2}));
  for (const Tensor& copy : {x.clone(), x.to(DType::float64), x.view({1}, {1})}) CHECK(copy.tape_node() == TapeNode{});
  const Recording recording;
  const Tensor y = x * 2;
  const std::int64_t before = recording.size();
  CHECK(y.to_vector() == std::vector<double>{2, 2});
  CHECK(y.at({1}) == 2);
  CHECK(fmt::format("{}", y).find('2') != std::string::npos);
  CHECK(recording.size() == before);
  const NoRecording constants;
  CHECK(y.clone().tape_node() == TapeNode{});
}

TEST_CASE("Sliding windows by strides are differentiable") {
  const Tensor x = variable(tensor({5}, {1, 2, 3, 4, 5})), kernel = variable(tensor({3}, {1, 10, 100}));
  const Recording recording;
  const Tensor y = matmul(x.view({3, 3}, {1, 1}), reshape(kernel, {3, 1}));  // a convolution
  CHECK(y.to_vector() == std::vector<double>{321, 432, 543});
  const Gradients gradients = backward(sum(y));
  CHECK(gradients[x].to_vector() == std::vector<double>{1, 11, 111, 110, 100});
  CHECK(gradients[kernel].to_vector() == std::vector<double>{6, 9, 12});
}

TEST_CASE("A recorded view must lie in a contiguous tensor") {
  const Tensor x = variable(ones({4}));
  const Recording recording;
  const std::string remedy = "; use contiguous(x).view(...), or reshape, slice and permute";
  CHECK(message([&] { slice(x, 0, 0, 2).view({4}, {1}); }) ==
        "view: inside a Recording, the view must lie in a contiguous tensor, got (4) with strides (1) and offset 0 of "
        "(2)" +
            remedy);
  CHECK(message([&] { slice(x, 0, 0, 4, 2).view({2}, {1}); }) ==
        "view: inside a Recording, the view must lie in a contiguous tensor, got (2) with strides (1) and offset 0 of "
        "(2)" +
            remedy);
  CHECK(slice(x, 0, 0, 2).detach().view({4}, {1}).shape() == Shape{4});
}

TEST_CASE("What writes numbers refuses a source that is recorded") {
  const Tensor w = variable(ones({2}));
  Tensor buffer = zeros({2});
  const Recording recording;
  const Tensor y = w * 2;
  for (const Tensor& source : {y, w}) {
    CHECK(message([&] { buffer.copy_from(source); }) ==
          "copy_from: the source, of shape (2), is recorded, but the copy would not be; copy its detach(), or open a "
          "NoRecording");
    CHECK(message([&] { add_in_place(buffer, source); }) ==
          "add_in_place: input 1, of shape (2), is recorded, but the sum would not be; use total = total + x, or its "
          "detach()");
    CHECK(message([&] { source.alias(); }) ==
          "alias: the tensor, of shape (2), is recorded, but the alias would not be; use detach().alias()");
  }
  CHECK(message([&] { variable(y); }) ==
        "variable: the tensor of shape (2) is recorded, but a variable depends on nothing; use variable(x.detach())");
  Tensor scaled = y, same = w;
  CHECK(message([&] { scale_in_place(scaled, 2); }) ==
        "scale_in_place: expected a constant, such as a gradient, got a recorded tensor of shape (2); use x = x * "
        "factor");
  CHECK(message([&] { scale_in_place(same, 2); }).find("got a variable tensor of shape (2)") != std::string::npos);
  buffer.copy_from(y.detach());
  const NoRecording constants;
  buffer.copy_from(y);
  CHECK(buffer.to_vector() == std::vector<double>{2, 2});
}
