#include "tests/autograd/helpers.h"

#include <type_traits>

using namespace heed;

// slice(a, 0, 1, 2) = b would change nothing, so it does not compile.
static_assert(!std::is_assignable_v<Tensor, const Tensor&> && !std::is_assignable_v<Tensor, Tensor>);
static_assert(std::is_copy_assignable_v<Tensor> && std::is_nothrow_move_assignable_v<Tensor>);
static_assert(std::is_copy_constructible_v<Tensor> && std::is_nothrow_move_constructible_v<Tensor>);

TEST_CASE("release_cached_memory gives back all memory that no tensor holds") {
  const Tensor kept = ones({1000});
  { const Tensor large = ones({3'000'000}); }
  CHECK(memory_use().bytes_reserved > memory_use().bytes_in_use + 12'000'000 - 1);
  release_cached_memory();
  CHECK(memory_use().bytes_reserved == memory_use().bytes_in_use);
  CHECK(sum(kept).item() == 1000);
}

TEST_CASE("Tensors can be created, read, converted and written") {
  const Tensor x = tensor({2, 2}, {1, 2, 3, 4});
  CHECK(x.at({1, 0}) == 3);
  CHECK(transpose(x).at({1, 0}) == 2);
  CHECK(full({2}, 0.1).to_vector() == std::vector<double>(2, static_cast<double>(0.1F)));
  CHECK(full({2}, 0.1, DType::float64).to_vector() == std::vector<double>{0.1, 0.1});
  CHECK(x.to(DType::float64).dtype() == DType::float64);
  CHECK(zeros({0, 3}).to_vector().empty());
  CHECK(ones({}).item() == 1);
  CHECK_FALSE(Tensor().defined());
  CHECK(Tensor().version() == 0);
  Tensor y = zeros({2, 2});
  const std::uint64_t version = y.version();
  y.copy_from(transpose(x.to(DType::float64)));
  CHECK(y.to_vector() == std::vector<double>{1, 3, 2, 4});
  CHECK(y.version() > version);
}

TEST_CASE("A view may have negative strides, but must stay within the storage") {
  const Tensor x = tensor({4}, {1, 2, 3, 4});
  CHECK(x.view({4}, {-1}, 3).to_vector() == std::vector<double>{4, 3, 2, 1});
  CHECK(x.view({2, 2}, {1, -2}, 2).to_vector() == std::vector<double>{3, 1, 4, 2});
  CHECK(message([&] { x.view({4}, {-1}, 2); }) ==
        "view: shape (4) with strides (-1) and offset 2 reaches outside the storage of 16 bytes");
}

TEST_CASE("copy_from and add_in_place accept a view of their own memory") {
  Tensor x = tensor({4}, {1, 2, 3, 4});
  x.copy_from(x.view({4}, {-1}, 3));
  CHECK(x.to_vector() == std::vector<double>{4, 3, 2, 1});
  add_in_place(x, x.view({4}, {-1}, 3));
  CHECK(x.to_vector() == std::vector<double>{5, 5, 5, 5});
  Tensor square = tensor({2, 2}, {1, 2, 3, 4});
  square.copy_from(transpose(square));
  CHECK(square.to_vector() == std::vector<double>{1, 3, 2, 4});
  square.copy_from(square);
  CHECK(square.to_vector() == std::vector<double>{1, 3, 2, 4});
  CHECK(message([&] {
          Tensor turned = transpose(zeros({2, 3}));
          add_in_place(turned, ones({3, 2}));
        }) == "add_in_place: the total, of shape (3, 2), must be contiguous");
}

TEST_CASE("Wrong use of a tensor throws an Error that states what was expected") {
  const Tensor x = zeros({2, 3});
  check_messages({{"item: expected one element, got shape (2, 3)", [&] { x.item(); }},
                  {"item: expected one element, got an undefined tensor", [&] { Tensor().item(); }},
                  {"at: index (2, 0) lies outside shape (2, 3)",
                   [&] {
                     x.at({2, 0});
                   }},
                  {"at: expected an index for each axis of shape (2, 3), got (1)", [&] { x.at({1}); }},
                  {"tensor: expected float64, got float32", [&] { x.data<double>(); }},
                  {"tensor: no value: the tensor is undefined",
                   [] {
                     const Tensor none;
                     none.data<float>();
                   }},
                  {"tensor: shape (2, 2) needs 4 values, got 3",
                   [] {
                     tensor({2, 2}, {1, 2, 3});
                   }},
                  {"zeros: sizes must not be negative, got (2, -1)",
                   [] {
                     zeros({2, -1});
                   }},
                  {"copy_from: expected shape (2, 3), got (3, 2)", [&] { x.clone().copy_from(transpose(x)); }},
                  {"view: shape (7) with strides (1) and offset 0 reaches outside the storage of 24 bytes",
                   [&] { x.view({7}, {1}); }},
                  {"view: shape (2) and strides () must have as many axes", [&] { x.view({2}, {}); }},
                  {"view: input 0 is an undefined tensor", [] { Tensor().view({}, {}); }},
                  {"copy_from: the source is undefined", [] { zeros({}).copy_from(Tensor()); }},
                  {"copy_from: the destination is undefined", [] { Tensor().copy_from(zeros({})); }},
                  {"at: input 0 is an undefined tensor", [] { Tensor().at({}); }},
                  {"variable: the tensor is undefined", [] { variable(Tensor()); }}});
}

TEST_CASE("is_finite() checks every element and notices each write") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  Tensor x = ones({300, 100}, dtype);
  const auto write = [&](std::int64_t i, double value) {
    dispatch(dtype, [&]<class T>() { x.mutable_data<T>()[i] = static_cast<T>(value); });
  };
  CHECK(is_finite(x));
  for (const double bad : {std::nan(""), static_cast<double>(INFINITY), -static_cast<double>(INFINITY)}) {
    for (const std::int64_t i : {0, 16384, 29999}) {
      write(i, bad);
      CHECK_FALSE(is_finite(x));
      CHECK_FALSE(is_finite(transpose(x)));
      CHECK(is_finite(slice(x, 0, 1, 2)));  // the rest is not checked
      CHECK_FALSE(is_finite(x));
      write(i, std::numeric_limits<double>::denorm_min());
      CHECK(is_finite(x));
      CHECK(is_finite(slice(x, 0, 1, 2)));
    }
  }
  write(7, dtype == DType::float32 ? 3e38 : 1e308);
  CHECK(is_finite(x));
  CHECK(is_finite(zeros({0}, dtype)));
}
