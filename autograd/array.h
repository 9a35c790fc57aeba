#pragma once
#include <heed/autograd/error.h>
#include <heed/autograd/shape.h>

#include <array>
#include <concepts>
#include <initializer_list>
#include <memory>
#include <vector>

namespace heed {

class Tensor;

/// An n-dimensional, row-major array of integers or booleans. It is immutable, cheap to copy, and never differentiated. ops.h has
/// its operations.
///
///     const Ids tokens({{5, 1, 2}, {7, 3, 0}});        // (2, 3), as Ids({2, 3}, {5, 1, 2, 7, 3, 0})
///     const Ids second = index_select(tokens, {1});    // (1, 3): 7 3 0
///     const Booleans padding = equal(tokens, 0);       // (2, 3)
template <class T>
class Array {
 public:
  Array() : Array(Shape{0}, {}) {}
  Array(const Array&) = default;             ///< moves copy: the source stays valid
  Array& operator=(const Array&) = default;  ///< shares the elements of the source
  /// Throws `Error` when a size is negative or the counts differ.
  Array(Shape shape, std::vector<T> values) : shape_(shape), numel_(checked_numel("array", shape_)) {
    const auto kept = std::make_shared<const std::vector<T>>(std::move(values));
    const std::size_t given = kept->size();
    if (given != static_cast<std::size_t>(numel_)) {
      fail("array: shape {} needs {} values, got {}", to_string(shape_), numel_, given);
    }
    values_ = {kept, kept->data()};
  }
  /// Takes elements in braces: Ids({5, 1, 2}). Throws `Error` for one that T does not hold.
  template <std::integral Element>
  Array(std::initializer_list<Element> values) : Array(Shape{std::ssize(values)}, joined(std::array{values})) {}
  /// Takes the elements of a vector, in one axis.
  template <std::same_as<std::vector<T>> Values>
  explicit Array(const Values& values) : Array(Shape{std::ssize(values)}, values) {}
  /// Takes rows of equal length: Ids({{5, 1}, {7, 3}}). Throws `Error` for other rows, and as above.
  template <std::integral Element>
  Array(std::initializer_list<std::initializer_list<Element>> rows)
      : Array({std::ssize(rows), std::ssize(*rows.begin())}, joined(rows)) {}
  explicit Array(const std::same_as<Tensor> auto&) = delete;  // of numbers: to_ids(x); of conditions: x > 0
  /// Takes as many elements as `shape` has.
  template <std::same_as<std::shared_ptr<T[]>> Values>
  Array(Shape shape, const Values& values) : shape_(shape), numel_(checked_numel("array", shape_)), values_(values) {}

  /// Returns the shape.
  const Shape& shape() const& { return shape_; }
  Shape shape() && { return shape_; }  ///< of a temporary: a copy
  /// Returns the number of axes.
  int rank() const { return shape_.rank(); }
  /// Returns the size along `axis`. A negative axis counts from the end. Throws `Error` outside [-rank, rank).
  std::int64_t size(int axis) const { return shape_.begin()[checked_axis("size", axis, rank())]; }
  /// Returns the number of elements.
  std::int64_t numel() const { return numel_; }
  explicit operator bool() const = delete;  // as many answers as elements: any(mask), all(mask), mask & other
  /// Returns the elements, row-major.
  const T* data() const& { return values_.get(); }
  const T* begin() const& { return data(); }          ///< the first element
  const T* end() const& { return data() + numel(); }  ///< behind the last element
  const T* data() && = delete;   // the elements may end with the temporary: keep the array in a variable
  const T* begin() && = delete;  // as above
  const T* end() && = delete;    // as above
  /// Returns element `i`, counted row-major. Throws `Error` outside [0, numel()).
  T operator[](std::int64_t i) const {
    if (static_cast<std::uint64_t>(i) >= static_cast<std::uint64_t>(numel_)) [[unlikely]]
      fail_index(i);
    return values_[i];
  }
  /// Returns the only element. Throws `Error` for an array of another size.
  T item() const {
    if (numel_ != 1) fail("item: expected one element, got shape {}", to_string(shape_));
    return values_[0];
  }
  /// Returns the elements, row-major.
  std::vector<T> to_vector() const { return {begin(), end()}; }
  void operator[](const Array&) const =
      delete;  // rows: index_select(ids, rows); elements: gather(ids, positions, axis)
  /// Returns the element at one index per axis. Throws `Error` outside the shape.
  T at(std::initializer_list<std::int64_t> index) const { return data()[checked_offset("at", index, shape_)]; }

 private:
  static std::vector<T> joined(const auto& rows) {
    std::vector<T> values;
    for (const auto& row : rows) {
      if (row.size() != rows.begin()->size()) {
        fail("array: expected rows of one length, got {} and {}", rows.begin()->size(), row.size());
      }
      for (const auto value : row) {
        if (static_cast<decltype(value)>(static_cast<T>(value)) != value) {
          fail("array: expected integers of {} bits, got {}", 8 * sizeof(T), value);
        }
        values.push_back(static_cast<T>(value));
      }
    }
    return values;
  }
  [[noreturn, gnu::cold]] void fail_index(std::int64_t i) const {
    fail("[]: index {} lies outside [0, {}) of an array of shape {}", i, numel(), to_string(shape_));
  }

  Shape shape_;
  std::int64_t numel_;
  std::shared_ptr<const T[]> values_;
};

#ifdef HEED_DOXYGEN                        // Doxygen confuses functions of two aliases of one template
struct Ids : Array<std::int32_t> {};       ///< tokens, labels, positions
struct Booleans : Array<std::uint8_t> {};  ///< 0 is false, anything else is true
#else
using Ids = Array<std::int32_t>;       ///< tokens, labels, positions
using Booleans = Array<std::uint8_t>;  ///< 0 is false, anything else is true
#endif

/// Holds for Ids and Booleans.
template <class T>
concept AnyArray = std::same_as<T, Ids> || std::same_as<T, Booleans>;

}  // namespace heed
