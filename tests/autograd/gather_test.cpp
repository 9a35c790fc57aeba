#include "tests/autograd/helpers.h"

using namespace heed;

TEST_CASE("embedding and select_rows return the right rows for any layout") {
  Random random(6);
  const Tensor table = scattered(uniform({5, 3}, random), random);
  const Tensor rows = embedding(table, Ids({2, 2}, {4, 0, 4, 2}));
  CHECK(rows.shape() == Shape{2, 2, 3});
  CHECK(rows.at({1, 0, 2}) == table.at({4, 2}));
  CHECK(rows.at({1, 1, 0}) == table.at({2, 0}));
  const Tensor x = scattered(uniform({2, 4, 3}, random), random);
  const Tensor selected = select_rows(x, Ids({2}, {3, 1}));
  CHECK(selected.shape() == Shape{2, 3});
  CHECK(selected.at({0, 2}) == x.at({0, 3, 2}));
  CHECK(selected.at({1, 0}) == x.at({1, 1, 0}));
}

TEST_CASE("full and the gradient of embedding fill tensors larger than the caches to the last element") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const std::int64_t rows = 131'077, d = 65;  // 34 MB of floats; rows that do not begin at a vector
  CAPTURE(to_string(dtype));
  const auto all = [](const Tensor& x, double value) { return max(square(x - value)).item() == 0; };
  CHECK(all(full({rows, d}, 3, dtype), 3));
  full({rows, d}, 7, dtype);  // its memory, filled with 7, is reused
  const Tensor table = variable(zeros({rows, d}, dtype));
  const Recording recording;
  const Tensor y = embedding(table, Ids({3}, {2, 131'076, 2}));
  const Tensor gradient = backward(y, ones({3, d}, dtype))[table];
  CHECK(all(slice(gradient, 0, 2, 3), 2));
  CHECK(all(slice(gradient, 0, 131'076, 131'077), 1));
  CHECK(all(slice(gradient, 0, 0, 2), 0));
  CHECK(all(slice(gradient, 0, 3, 131'076), 0));
}

TEST_CASE("dropout keeps and scales 1 - p of the elements, and its gradient reaches only those") {
  Random random(2), again = random, advanced = random;
  const Tensor x = variable(full({100, 200}, 3));
  const Recording recording;
  const Tensor y = dropout(x, 0.25, random);
  std::int64_t kept = 0;
  for (const double v : y.to_vector()) {
    REQUIRE((v == 0 || v == 4));
    kept += v != 0;
  }
  CHECK(std::abs(static_cast<double>(kept) - 15000) < 5 * std::sqrt(20000 * 0.25 * 0.75));
  CHECK(same_bits(backward(sum(y))[x] * 3, y));
  CHECK(same_bits(dropout(x, 0.25, again), y));
  CHECK_FALSE(same_bits(dropout(x, 0.25, random), y));
  CHECK(distance(dropout(x, 0, again), x) == 0);
  CHECK(distance(dropout(ones({320}), 0, again), ones({320})) ==
        0);  // a full block, where AddressSanitizer sees one more
  advanced.bits();
  advanced.bits();
  CHECK(advanced.bits() == random.bits());
}

TEST_CASE("Wrong use of look-ups and dropout throws an Error that states what was expected") {
  const Tensor x = zeros({2, 3});
  check_messages({{"embedding: id 2 at position 1 lies outside [0, 2)",
                   [&] {
                     embedding(x, Ids({2}, {0, 2}));
                   }},
                  {"embedding: expected a table (V, d), got (3)", [] { embedding(zeros({3}), Ids({1}, {0})); }},
                  {"select_rows: expected x (B, T, d) and positions (B), got (2, 3) and (2)",
                   [&] {
                     select_rows(x, Ids({2}, {0, 1}));
                   }},
                  {"select_rows: expected x (B, T, d) and positions (B), got (2, 3, 1) and (1)",
                   [] {
                     select_rows(zeros({2, 3, 1}), Ids({1}, {0}));
                   }},
                  {"select_rows: position 3 of row 1 lies outside [0, 3)",
                   [] {
                     select_rows(zeros({2, 3, 1}), Ids({2}, {0, 3}));
                   }},
                  {"dropout: p must lie in [0, 1), got 1", [&] {
                     Random random(0);
                     dropout(x, 1, random);
                   }}});
}
