#include "autograd/cpu/kernels.h"

#include "tests/autograd/helpers.h"

#include <algorithm>

using namespace heed;

TEST_CASE("row_grain gives each thread at most 8,192 elements, but at least one row") {
  CHECK(cpu::row_grain(100, 10) >= 100);
  CHECK(cpu::row_grain(1000, 8192) == 1);
  CHECK(cpu::row_grain(1000, 1'000'000) == 1);
  CHECK(cpu::row_grain(5, 0) == 8192);
  CHECK(cpu::row_grain(16384) == 8192);
  CHECK(cpu::row_grain(5000, 10) == 625);  // 8 equal shares
}

TEST_CASE("fill writes exactly the requested range of small and of large tensors") {
  const std::int64_t all = GENERATE(100, (std::int64_t{1} << 25) / 8 + 100);  // the second does not fit into caches
  const std::int64_t first = GENERATE(0, 1, 16), n = all - 40;
  CAPTURE(all, first);
  Tensor x = zeros({all}, DType::float64);
  double* data = x.mutable_data<double>();
  cpu::fill(data + first, n, 2.5, all);
  CHECK(std::count(data + first, data + first + n, 2.5) == n);
  CHECK(std::count(data, data + all, 0.0) == all - n);
}

TEST_CASE("A broadcast operand has stride 0 along its broadcast axes") {
  CHECK(cpu::broadcast_strides({3, 1}, {1, 1}, {2, 3, 4}) == Shape{0, 1, 0});
  CHECK(cpu::broadcast_strides({}, {}, {2, 2}) == Shape{0, 0});
  CHECK(cpu::operand(Booleans({2, 1, 3}, {1, 0, 1, 0, 1, 0}), {2, 5, 3}).strides == Shape{3, 0, 1});
}

TEST_CASE("Walk merges the axes that are adjacent in memory in every operand") {
  const Shape dense{12, 4, 1}, transposed{12, 1, 3}, repeated{0, 4, 1};
  const cpu::Walk<1> one({2, 3, 4}, {&dense});
  CHECK(one.rank == 1);
  CHECK(one.size[0] == 24);
  const cpu::Walk<2> both({2, 3, 4}, {&dense, &repeated});
  CHECK(both.rank == 2);
  CHECK(both.size[0] == 12);
  CHECK(cpu::Walk<2>({2, 3, 4}, {&dense, &transposed}).rank == 3);
  const cpu::Walk<1> none({1, 1}, {&dense});
  CHECK(none.rank == 1);
  CHECK(none.size[0] == 1);

  std::vector<std::int64_t> first, offset;  // of rows 2 to 4: (0, 2), (1, 0), (1, 1)
  cpu::Walk<1>({2, 3, 4}, {&transposed}).rows(2, 5, [&](std::int64_t element, const std::array<std::int64_t, 1>& at) {
    first.push_back(element);
    offset.push_back(at[0]);
  });
  CHECK(first == std::vector<std::int64_t>{8, 12, 16});
  CHECK(offset == std::vector<std::int64_t>{2, 12, 13});
}

TEST_CASE("map gives a contiguous tensor of the broadcast shape, and requires a single dtype") {
  const Tensor a = transpose(tensor({3, 2}, {1, 2, 3, 4, 5, 6}, DType::float64)),
               b = tensor({2, 1}, {10, 20}, DType::float64);
  const Tensor y = cpu::map("combine", a, b, [](auto u, auto v) { return 100 * u + v; });
  CHECK(y.is_contiguous());
  CHECK(y.to_vector() == std::vector<double>{110, 310, 510, 220, 420, 620});
  CHECK(message([&] { cpu::map("combine", a, b.to(DType::float32), [](auto u, auto v) { return u + v; }); }) ==
        "combine: both tensors must have one dtype, got float64 (2, 3) and float32 (2, 1); convert one with "
        "to(DType::float32)");
}
