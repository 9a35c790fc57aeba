#include "inspect/page/singular_values.h"

#include <heed/autograd/ops.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace heed {
namespace {

using Column = std::vector<double>;

double dot(const Column& a, const Column& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

// The columns of the matrix, or of its transpose where that has fewer.
std::vector<Column> columns_of(const Tensor& matrix) {
  const Tensor A = matrix.size(0) >= matrix.size(1) ? matrix : transpose(matrix);
  const std::vector<double> values = A.to_vector();
  const auto n = static_cast<std::size_t>(A.size(0)), m = static_cast<std::size_t>(A.size(1));
  std::vector<Column> columns(m, Column(n));
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < m; ++c) columns[c][r] = values[r * m + c];
  }
  return columns;
}

// Turns a and b in their plane until a . b = 0; whether they were not so yet.
bool rotate(Column& a, Column& b) {
  constexpr double tolerance = 1e-15;
  const double aa = dot(a, a), bb = dot(b, b), ab = dot(a, b);
  if (std::abs(ab) <= tolerance * std::sqrt(aa * bb)) return false;
  const double zeta = (bb - aa) / (2 * ab);
  const double t = std::copysign(1 / (std::abs(zeta) + std::hypot(1, zeta)), zeta);
  const double cosine = 1 / std::hypot(1, t), sine = cosine * t;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i];
    a[i] = cosine * x - sine * b[i];
    b[i] = sine * x + cosine * b[i];
  }
  return true;
}

}  // namespace

std::vector<double> singular_values(const Tensor& matrix) {
  constexpr int most_sweeps = 60;
  if (matrix.rank() != 2) fail("singular_values: expected a matrix, got {}", to_string(matrix.shape()));
  std::vector<Column> columns = columns_of(matrix);
  bool turned = true;
  for (int sweep = 0; sweep < most_sweeps && turned; ++sweep) {
    turned = false;
    for (std::size_t a = 0; a < columns.size(); ++a) {
      for (std::size_t b = a + 1; b < columns.size(); ++b) turned |= rotate(columns[a], columns[b]);
    }
  }
  std::vector<double> values;
  for (const Column& column : columns) values.push_back(std::sqrt(dot(column, column)));
  if (!std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); })) {
    fail("singular_values: the matrix holds a number that is not finite");
  }
  std::sort(values.begin(), values.end(), std::greater<>());
  return values;
}

}  // namespace heed
