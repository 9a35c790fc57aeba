#pragma once
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace learn {

/// A tensor at its plainest: its sizes, and its numbers row by row.
///
///     Array x({2, 3}, {1, 2, 3, 4, 5, 6});   // two rows, three columns
///     x(1, 0);                               // 4: row 1, column 0, both counted from 0
///     const Array zeros({2, 3});             // six zeros
struct Array {
  std::vector<int> shape;
  std::vector<double> values;

  Array() = default;
  /// Makes zeros.
  explicit Array(std::vector<int> sizes) : shape(std::move(sizes)), values(count(shape)) {}
  /// Takes the numbers of `from`, row by row.
  Array(std::vector<int> sizes, std::vector<double> from) : shape(std::move(sizes)), values(std::move(from)) {}

  /// Return the number of rows and of columns of a matrix.
  int rows() const { return shape[0]; }
  int columns() const { return shape[1]; }
  /// Return the element in row `i`, column `j` of a matrix. Throw std::out_of_range outside the matrix.
  double& operator()(int i, int j) { return values[position(i, j)]; }
  double operator()(int i, int j) const { return values[position(i, j)]; }

  /// Returns the product of the sizes.
  static std::size_t count(const std::vector<int>& sizes) {
    std::size_t n = 1;
    for (const int size : sizes) n *= static_cast<std::size_t>(size);
    return n;
  }

 private:
  std::size_t position(int i, int j) const {
    if (i < 0 || i >= rows() || j < 0 || j >= columns()) {
      const auto pair = [](int a, int b) { return "(" + std::to_string(a) + ", " + std::to_string(b) + ")"; };
      throw std::out_of_range("there is no element " + pair(i, j) + " in a matrix of shape " + pair(rows(), columns()));
    }
    return static_cast<std::size_t>(i * columns() + j);
  }
};

/// Thrown by a function that you have not written yet.
struct NotWritten {
  const char* function;
  int line;  ///< where it is thrown
  explicit NotWritten(const char* name, int its_line = __builtin_LINE()) : function(name), line(its_line) {}
};

}  // namespace learn
