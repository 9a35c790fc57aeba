#include "tests/autograd/helpers.h"

using namespace heed;

TEST_CASE("where and masked_fill broadcast like NumPy for any layout") {
  Random random(5);
  for_each_broadcast([&](const Shape& shape_a, const Shape& shape_b, DType dtype) {
    const Tensor a = scattered(uniform(shape_a, random, dtype), random);
    const Tensor b = scattered(uniform(shape_b, random, dtype, 0.5, 2), random);
    Naive x(a), y(b);
    std::vector<std::uint8_t> chosen;
    for (std::int64_t i = 0; i < a.numel(); ++i) chosen.push_back(static_cast<std::uint8_t>(random.below(2)));
    Naive c(shape_a);
    c.values.assign(chosen.begin(), chosen.end());
    const Booleans condition(shape_a, chosen);
    Naive where_expected(broadcast_shapes("test", shape_a, shape_b)), filled(where_expected);
    for_each_index(filled.shape, [&](const Shape& index) {
      where_expected[index] = c[index] != 0 ? x[index] : y[index];
      filled[index] = c[index] != 0 ? -7 : y[index];
    });
    CHECK(distance(where(condition, a, b), where_expected) == 0);
    CHECK(distance(masked_fill(b, condition, -7), filled) == 0);
  });
}

TEST_CASE("Wrong use of where throws an Error that states what was expected") {
  const Tensor x = zeros({2, 3}), wide = x.to(DType::float64);
  check_messages(
      {{"where: both tensors must have one dtype, got float32 (2, 3) and float64 (2, 3); convert one with "
        "to(DType::float64)",
        [&] { where(Booleans({}, {1}), x, wide); }}});
}
