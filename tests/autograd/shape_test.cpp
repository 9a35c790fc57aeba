#include "tests/autograd/helpers.h"

#include <functional>

using namespace heed;

namespace {

constexpr std::int64_t huge = std::int64_t{1} << 62;

}  // namespace

TEST_CASE("A shape counts its elements, or says that it cannot") {
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

TEST_CASE("Sizes that no tensor can have are one error") {
  const Tensor x = ones({2});
  const std::vector<std::pair<std::string, std::function<void()>>> cases{
      {"shape: (4611686018427387904, 4) has more than 2^63 - 1 elements",
       [] {
         Tensor({huge, 4}, DType::float32);
       }},
      {"tensor: float64 (4611686018427387904) needs more than 2^63 - 1 bytes", [] { Tensor({huge}, DType::float64); }},
      {"tensor: sizes must not be negative, got (0, -1)",
       [] {
         zeros({0, -1});
       }},
      {"tensor: sizes must not be negative, got (-2, -3)",
       [] {
         zeros({-2, -3});
       }},
      {"tensor: sizes must not be negative, got (-3)", [] { broadcast_to(ones({1}), {-3}); }},
      {"tensor: sizes must not be negative, got (-2)", [&] { x.view({-2}, {1}); }},
      {"shape: (4611686018427387904, 4611686018427387904) has more than 2^63 - 1 elements",
       [] {
         broadcast_to(ones({}), {huge, huge});
       }},
      {"shape: (4611686018427387904, 4611686018427387904) has more than 2^63 - 1 elements",
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

TEST_CASE("A shape of too many axes is an error that says what was expected") {
  check_messages({{"shape: at most 8 axes, got one more than (1, 1, 1, 1, 1, 1, 1, 1)", [] {
                     Shape({1, 1, 1, 1, 1, 1, 1, 1, 1});
                   }}});
}
