#include <heed/autograd/error.h>
#include <heed/explain/studies/assignment.h>

#include <limits>

namespace heed {

// Rows enter one by one. Potentials u, v keep cost[i][j] - u[i] - v[j] >= 0, with equality on assigned pairs. The new
// row's shortest path to a free column, by that difference, is the augmenting path. Row and column 0 stand for
// "unassigned".
std::vector<int> best_assignment(const std::vector<std::vector<double>>& value) {
  const std::size_t n = value.size();
  for (const std::vector<double>& row : value) {
    if (row.size() != n) {
      fail("best_assignment: expected rows of {}, as many values as rows, got a row of {}", n, row.size());
    }
  }
  std::vector<double> u(n + 1), v(n + 1);
  std::vector<std::size_t> row_of(n + 1), before(n + 1);
  for (std::size_t i = 1; i <= n; ++i) {
    row_of[0] = i;
    std::size_t column = 0;
    std::vector<double> distance(n + 1, std::numeric_limits<double>::infinity());
    std::vector<bool> reached(n + 1, false);
    do {
      reached[column] = true;
      const std::size_t row = row_of[column];
      double least = std::numeric_limits<double>::infinity();
      std::size_t next = 0;
      for (std::size_t j = 1; j <= n; ++j) {
        if (reached[j]) continue;
        const double cost = -value[row - 1][j - 1] - u[row] - v[j];
        if (cost < distance[j]) distance[j] = cost, before[j] = column;
        if (distance[j] < least) least = distance[j], next = j;
      }
      for (std::size_t j = 0; j <= n; ++j) {
        if (reached[j]) {
          u[row_of[j]] += least, v[j] -= least;
        } else {
          distance[j] -= least;
        }
      }
      column = next;
    } while (row_of[column] != 0);
    while (column != 0) {
      row_of[column] = row_of[before[column]];
      column = before[column];
    }
  }
  std::vector<int> column_of(n);
  for (std::size_t j = 1; j <= n; ++j) column_of[row_of[j] - 1] = static_cast<int>(j - 1);
  return column_of;
}

}  // namespace heed
