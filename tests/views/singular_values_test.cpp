#include "views/singular_values.h"

#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/random.h>

#include <cmath>
#include <limits>

using namespace heed;

namespace {

Tensor random_matrix(std::int64_t rows, std::int64_t columns) {
  Random random(7);
  std::vector<double> values;
  for (std::int64_t i = 0; i < rows * columns; ++i) values.push_back(random.normal());
  return tensor({rows, columns}, values, DType::float64);
}

}  // namespace

TEST_CASE("singular_values returns the known values of simple matrices") {
  CHECK(singular_values(tensor({2, 2}, {3, 0, 0, -4})) == std::vector<double>{4, 3});
  const std::vector<double> wide = singular_values(tensor({2, 3}, {1, 1, 0, 0, 1, 1}));  // W W^T = [[2, 1], [1, 2]]
  REQUIRE(wide.size() == 2);
  CHECK(wide[0] == Approx(std::sqrt(3)).epsilon(1e-12));
  CHECK(wide[1] == Approx(1).epsilon(1e-12));
  const std::vector<double> rank_one = singular_values(tensor({3, 2}, {1, 2, 2, 4, 2, 4}));
  CHECK(rank_one[0] == Approx(std::sqrt(45)).epsilon(1e-12));
  CHECK(rank_one[1] == Approx(0).margin(1e-12));
  CHECK(singular_values(zeros({4, 3})) == std::vector<double>{0, 0, 0});
}

TEST_CASE("singular_values keeps the Frobenius norm and does not change under rotation") {
  const Tensor W = random_matrix(6, 6);
  const std::vector<double> values = singular_values(W);
  double squares = 0;
  for (const double value : values) squares += value * value;
  CHECK(squares == Approx(sum(square(W)).item()).epsilon(1e-12));
  CHECK(std::is_sorted(values.rbegin(), values.rend()));
  // The eigenvalues of W^T W are their squares: tr (W^T W)^2 is the sum of fourth powers.
  double fourth = 0;
  for (const double value : values) fourth += std::pow(value, 4);
  const Tensor gram = matmul(transpose(W), W);
  CHECK(fourth == Approx(sum(square(gram)).item()).epsilon(1e-12));
  const double c = std::cos(0.6), s = std::sin(0.6);
  std::vector<double> turn(36, 0.0);
  for (std::size_t i = 0; i < 6; ++i) turn[i * 7] = 1;
  turn[0] = turn[7] = c, turn[1] = -s, turn[6] = s;
  const std::vector<double> turned = singular_values(matmul(tensor({6, 6}, turn, DType::float64), W));
  for (std::size_t i = 0; i < 6; ++i) CHECK(turned[i] == Approx(values[i]).epsilon(1e-12));
}

TEST_CASE("singular_values refuses a vector and a matrix that is not finite") {
  CHECK(message([] { singular_values(zeros({3})); }) == "singular_values: expected a matrix, got (3)");
  CHECK(message([] {
          singular_values(tensor({1, 2}, {1, std::numeric_limits<double>::infinity()}));
        }) == "singular_values: the matrix holds a number that is not finite");
}
