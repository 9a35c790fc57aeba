#pragma once
#include <heed/autograd/tensor.h>

#include <new>
#include <vector>

// Checks of the arguments of operations. An Error begins with the name of the operation that the caller used. Internal.
namespace heed::cpu {

inline void check_one_dtype(const char* operation, const Tensor& a, const Tensor& b) {
  check_defined(operation, {&a, &b});
  if (a.dtype() == b.dtype()) [[likely]]
    return;
  fail("{}: both tensors must have one dtype, got {} {} and {} {}; convert one with to(DType::{})", operation,
       to_string(a.dtype()), to_string(a.shape()), to_string(b.dtype()), to_string(b.shape()), to_string(b.dtype()));
}

// For results with more axes than their inputs.
inline void check_rank(const char* operation, int rank) {
  if (rank > Shape::max_rank) fail("{}: the result has {} axes; expected at most {}", operation, rank, Shape::max_rank);
}

// Returns whether elements of x share memory, as in broadcast_to().
inline bool is_broadcast(const Tensor& x) {
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (x.strides()[axis] == 0 && x.size(axis) > 1) return x.numel() > 0;
  }
  return false;
}

// Composite operations call this first; otherwise their parts would report missing memory under their own names.
inline void check_memory(const char* operation, const Shape& shape, DType dtype) {
  static_cast<void>(Tensor(shape, dtype, operation));
}

// Returns `axis` of x, which must be defined, as an axis from 0 on.
inline int axis_of(const char* operation, const Tensor& x, int axis) {
  check_defined(operation, {&x});
  return checked_axis(operation, axis, x.rank());
}

// Returns for each axis of x whether it is one of `axes`. All are when `axes` is empty.
inline std::vector<bool> chosen_axes(const char* operation, const Tensor& x, const std::vector<int>& axes) {
  check_defined(operation, {&x});
  std::vector<bool> chosen(static_cast<std::size_t>(x.rank()), axes.empty());
  for (const int axis : axes) {
    const std::size_t a = static_cast<std::size_t>(checked_axis(operation, axis, x.rank()));
    if (chosen[a]) fail("{}: axis {} is given twice for shape {}", operation, axis, to_string(x.shape()));
    chosen[a] = true;
  }
  return chosen;
}

// Returns the shape without one axis.
inline Shape without_axis(const Shape& shape, int axis) {
  Shape rest;
  for (int a = 0; a < shape.rank(); ++a) {
    if (a != axis) rest.append(shape[a]);
  }
  return rest;
}

// Returns the shape with an axis of size 1 at `axis` of the result.
inline Shape with_axis(const char* operation, const Shape& shape, int axis) {
  check_rank(operation, shape.rank() + 1);
  const int a = checked_axis(operation, axis, shape.rank() + 1);
  Shape result;
  for (int i = 0; i <= shape.rank(); ++i) result.append(i == a ? 1 : shape[i < a ? i : i - 1]);
  return result;
}

// Returns make(n), memory for the n elements of `shape`.
template <class T, class Make>
auto values_made(const char* operation, const Shape& shape, Make make) {
  const std::int64_t count = checked_numel(operation, shape);
  constexpr std::int64_t most =
      (std::int64_t{1} << 56) / static_cast<std::int64_t>(sizeof(T));  // exceeds the address space
  try {
    if (count <= most) return make(static_cast<std::size_t>(count));
  } catch (const std::bad_alloc&) {
  }
  throw OutOfMemoryError(in_layer(fmt::format("{}: out of memory: {} needs {} values of {} each", operation,
                                              to_string(shape), count, counted(sizeof(T), "byte"))));
}

// Returns as many zeros as `shape` has elements.
template <class T>
std::vector<T> new_values(const char* operation, const Shape& shape) {
  return values_made<T>(operation, shape, [](std::size_t n) { return std::vector<T>(n); });
}

// Returns memory for as many elements as `shape` has. They are not set.
template <class T>
std::shared_ptr<T[]> unset_values(const char* operation, const Shape& shape) {
  return values_made<T>(operation, shape, [](std::size_t n) { return std::make_shared_for_overwrite<T[]>(n); });
}

// Sets to[i] = from[i] for i in [0, n), and returns whether all are integers of 32 bits. Compiled once, with the vector instructions
// that the bindings do not have.
bool narrow(const std::int64_t* from, std::int64_t n, std::int32_t* to);

}  // namespace heed::cpu
