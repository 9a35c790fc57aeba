#include "tests/autograd/helpers.h"

#include <functional>

using namespace heed;

namespace {

constexpr std::int64_t huge = std::int64_t{1} << 62;

}  // namespace

TEST_CASE("Shape::numel counts the elements, and throws when they exceed 2^63 - 1") {
  CHECK(Shape{}.numel() == 1);
  CHECK(Shape{2, 3, 4}.numel() == 24);
  CHECK(Shape{2, 0, 4}.numel() == 0);
  CHECK(Shape{huge, 0, huge}.numel() == 0);
  CHECK(Shape{huge, huge, 0}.numel() == 0);
  CHECK(message([] { Shape({huge, 2}).numel(); }) == "shape: (4611686018427387904, 2) has more than 2^63 - 1 elements");
}

TEST_CASE("Tensors without elements may have axes of any size") {
  const Tensor x = zeros({huge, 0, huge});
  CHECK((x.is_contiguous() && x.to_vector().empty()));
  CHECK(transpose(x, 0, 1).shape() == Shape{0, huge, huge});
  CHECK(permute(x, {2, 0, 1}).is_contiguous());
  CHECK(slice(x, 0, huge - 1, huge).shape() == Shape{1, 0, huge});
  CHECK(slice(x, 2, 1, huge, 3).numel() == 0);
  CHECK((x + x).shape() == x.shape());
  CHECK(broadcast_to(zeros({0, 1}), {huge, 0, huge}).shape() == x.shape());
  const Tensor v = variable(zeros({3, 0}));
  const Recording recording;
  CHECK(backward(sum(slice(v, 0, 1, 3)))[v].shape() == Shape{3, 0});
}

TEST_CASE("Impossible sizes and strides throw an Error that quotes them") {
  const Tensor x = ones({2});
  const std::vector<std::pair<std::string, std::function<void()>>> cases{
      {"tensor: (4611686018427387904, 4) has more than 2^63 - 1 elements",
       [] {
         Tensor({huge, 4}, DType::float32);
       }},
      {"tensor: float64 (4611686018427387904) needs more than 2^63 - 1 bytes", [] { Tensor({huge}, DType::float64); }},
      {"zeros: sizes must not be negative, got (0, -1)",
       [] {
         zeros({0, -1});
       }},
      {"zeros: sizes must not be negative, got (-2, -3)",
       [] {
         zeros({-2, -3});
       }},
      {"broadcast_to: sizes must not be negative, got (-3)", [] { broadcast_to(ones({1}), {-3}); }},
      {"view: sizes must not be negative, got (-2)", [&] { x.view({-2}, {1}); }},
      {"broadcast_to: (4611686018427387904, 4611686018427387904) has more than 2^63 - 1 elements",
       [] {
         broadcast_to(ones({}), {huge, huge});
       }},
      {"sum: (4611686018427387904, 4611686018427387904) has more than 2^63 - 1 elements",
       [] {
         sum(zeros({huge, 0, huge}), {1});
       }},
      {"reshape: 2 elements of shape (2) do not fill (4611686018427387904, 4, -1)",
       [&] {
         reshape(x, {huge, 4, -1});
       }},
      {"reshape: 2 elements of shape (2) do not fill (-1, 4611686018427387904, 4)",
       [&] {
         reshape(x, {-1, huge, 4});
       }},
      {"view: shape (2) with strides (4611686018427387904) and offset 4611686018427387904 reaches outside the storage "
       "of 8 "
       "bytes",
       [&] { x.view({2}, {huge}, huge); }},
      {"view: shape (1) with strides (1) and offset 9223372036854775807 reaches outside the storage of 8 bytes",
       [&] { slice(x, 0, 1, 2).view({1}, {1}, std::numeric_limits<std::int64_t>::max()); }},
  };
  for (const auto& [expected, function] : cases) CHECK(message(function) == expected);
}

TEST_CASE("A shape with more than 8 axes throws an Error") {
  check_messages({{"shape: at most 8 axes, got one more than (1, 1, 1, 1, 1, 1, 1, 1)", [] {
                     Shape({1, 1, 1, 1, 1, 1, 1, 1, 1});
                   }}});
}

TEST_CASE("Reading or writing an axis that a shape does not have throws an Error") {
  const Tensor x = ones({2, 3});
  Shape shape{2, 3};
  CHECK((x.size(-2) == 2 && x.size(1) == 3 && shape[-1] == 3));
  check_messages({{"size: axis 2 is outside [-2, 2) for rank 2", [&] { x.size(2); }},
                  {"size: axis -3 is outside [-2, 2) for rank 2", [&] { x.size(-3); }},
                  {"size: axis 0 is outside [0, 0) for rank 0", [] { Tensor().size(0); }},
                  {"shape: axis 2 is outside [-2, 2) for rank 2", [&] { x.shape()[2]; }},
                  {"shape: axis 8 is outside [-2, 2) for rank 2", [&] { x.strides()[Shape::max_rank]; }},
                  {"shape: axis -3 is outside [-2, 2) for rank 2", [&] { shape[-3] = 1; }}});
}
