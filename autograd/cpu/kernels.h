#pragma once
#include "autograd/cpu/checks.h"
#include "autograd/cpu/lanes.h"
#include "autograd/cpu/map_blocks.h"
#include "autograd/cpu/stream.h"
#include "autograd/cpu/thread_pool.h"
#include "autograd/cpu/walk.h"

#include <heed/autograd/array.h>
#include <heed/autograd/tensor.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

// Walks the operands of elementwise kernels, and divides rows among threads. Internal: only sources of the library
// include it.
namespace heed::cpu {

// Maximum number of elements per task: large enough to outweigh the overhead, small enough to balance the threads.
constexpr std::int64_t max_elements = 8192;

// Returns the number of rows per task, out of `rows` rows of n elements.
constexpr std::int64_t row_grain(std::int64_t rows, std::int64_t n = 1) {
  return equal_grain(rows, std::max<std::int64_t>(1, max_elements / std::max<std::int64_t>(n, 1)));
}

// Calls f(row) for each of `rows` rows of n elements, in parallel.
void for_rows(std::int64_t rows, std::int64_t n, auto f) {
  parallel_for(rows, row_grain(rows, n), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) f(row);
  });
}

// Sets to[i] = value for i in [0, n), a part of a tensor of `all` elements. A tensor larger than the caches is written
// past them.
template <class T>
void fill(T* to, std::int64_t n, T value, std::int64_t all) {
  if (all * static_cast<std::int64_t>(sizeof(T)) <= max_cached_bytes) {
    std::fill_n(to, n, value);
    return;
  }
  const StreamScope scope;
  constexpr std::int64_t part = 1024;
  T values[part];
  std::fill_n(values, std::min(n, part), value);
  for (std::int64_t i = 0; i < n; i += part) stream(values, to + i, std::min(n - i, part));
}

// One input of an elementwise kernel: data and strides along the output's axes (0 where it broadcasts).
template <class T>
struct Operand {
  const T* data;
  Shape strides;
};

// Returns whether `from` broadcasts to `to`.
bool broadcasts_to(const Shape& from, const Shape& to);

// Sums `gradient` over the axes along which an input of `shape` was broadcast (at least one).
Tensor sum_to(const Tensor& gradient, const Shape& shape);

inline Shape broadcast_strides(const Shape& shape, const Shape& strides, const Shape& output) {
  Shape result = output;
  const int missing = output.rank() - shape.rank();
  for (int axis = 0; axis < output.rank(); ++axis) {
    const int from = axis - missing;
    result[axis] = from < 0 || shape.begin()[from] == 1 ? 0 : strides.begin()[from];
  }
  return result;
}

/// Returns the shape that reshape() gives, with -1 replaced. Throws `Error` when the elements do not fill it.
Shape checked_reshape(const Shape& from, Shape shape);

/// The first element and the number of elements of a slice along its axis. checked_slice() throws `Error` outside the
/// axis.
struct SliceRange {
  std::int64_t begin, count;
};
SliceRange checked_slice(const Shape& shape, int axis, std::int64_t begin, std::int64_t end, std::int64_t step);

/// Throws `Error` unless `indices` has one axis and its values lie in axis `axis` of `shape`.
void check_selection(const char* operation, const Shape& shape, const Ids& indices, int axis);

template <class T>
Operand<T> operand(const Tensor& x, const Shape& output) {
  return {x.data<T>(), broadcast_strides(x.shape(), x.strides(), output)};
}

template <class T>
Operand<T> operand(const Array<T>& x, const Shape& output) {
  return {x.data(), broadcast_strides(x.shape(), row_major_strides(x.shape()), output)};
}

// A function that map() calls with Lanes for tensors of the types Ts (none: of each type), and with single numbers for others.
template <class F, class... Ts>
struct OnLanes {
  F f;
  template <class T>
  static constexpr bool applies = sizeof...(Ts) == 0 || (std::is_same_v<T, Ts> || ...);
  template <class... Vs>
  [[gnu::always_inline]] auto operator()(Vs... v) const {
    return f(v...);
  }
};
template <class... Ts, class F>
OnLanes<F, Ts...> on_lanes(F f) {
  return {f};
}

// Computes y[i] = f(x[i * stride]...) for i in [0, n) on Lanes.
template <class R, class F, class... Ts>
void map_row_on_lanes(std::int64_t n, R* y, F& f, const std::array<std::int64_t, sizeof...(Ts)>& stride,
                      const Ts*... x) {
  const auto part = [&](std::int64_t i, std::int64_t count) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return f(load_lanes(x + i * stride[I], stride[I], count)...);
    }
    (std::make_index_sequence<sizeof...(Ts)>{});
  };
  std::int64_t i = 0;
  for (; i + lane_count<R> <= n; i += lane_count<R>) {
    store_lanes<R>(y + i, part(i, lane_count<R>), lane_count<R>);
  }
  if (i < n) store_lanes<R>(y + i, part(i, n - i), n - i);
}

// Computes y[i] = f(x[i * stride]...) for i in [0, n). Strides of 1 or 0 are compile-time constants. y may be an
// operand with stride 1. The attribute flattens f: a loop that calls a function does not vectorise.
template <class R, class F, class... Ts>
[[gnu::flatten]] void map_row_of_numbers(std::int64_t n, R* y, F& f,
                                         const std::array<std::int64_t, sizeof...(Ts)>& stride, const Ts*... x) {
  const auto loop = [&](auto... s) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i * s]...);
  };
  using One = std::integral_constant<std::int64_t, 1>;
  using Zero = std::integral_constant<std::int64_t, 0>;
  if constexpr (sizeof...(Ts) == 1) {
    if (stride[0] == 1) return loop(One{});
  } else if constexpr (sizeof...(Ts) == 2) {
    if (stride[0] == 1 && stride[1] == 1) return loop(One{}, One{});
    if (stride[0] == 1 && stride[1] == 0) return loop(One{}, Zero{});
    if (stride[0] == 0 && stride[1] == 1) return loop(Zero{}, One{});
  } else {
    if (stride[0] == 1 && stride[1] == 1 && stride[2] == 1) return loop(One{}, One{}, One{});
  }
  std::apply(loop, stride);
}

template <class R, class F, class... Ts>
void map_row(std::int64_t n, R* y, F& f, const std::array<std::int64_t, sizeof...(Ts)>& stride, const Ts*... x) {
  if constexpr (requires { requires F::template applies<R>; }) {
    map_row_on_lanes(n, y, f, stride, x...);
  } else {
    map_row_of_numbers(n, y, f, stride, x...);
  }
}

// Calls `rows` with `f` for all rows of `shape`. It does not depend on the function: each function compiles its rows alone.
template <class R, std::size_t N>
void map_rows(const Shape& shape, R* y, const void* f, Rows<R, N> rows, const std::array<const Shape*, N>& strides,
              const Elements<N>& x) {
  const std::int64_t elements = shape.numel();
  if (elements == 0) return;
  const Walk<N> walk(shape, strides);
  const std::int64_t n = walk.size[0];
  std::array<std::int64_t, N> inner, outer;
  for (std::size_t i = 0; i < N; ++i) inner[i] = walk.stride[i][0], outer[i] = walk.stride[i][1];
  if (n == elements && n <= max_elements) return rows(f, 1, n, y, n, inner, outer, x.data);
  if (n == elements) {
    // Streaming one part overlaps with computing the next, so parts are small.
    const std::int64_t part = n * static_cast<std::int64_t>(sizeof(R)) > max_cached_bytes ? 256 : n;
    parallel_for(n, row_grain(n), [&](std::int64_t begin, std::int64_t end) {
      const StreamScope scope;
      for (std::int64_t at = begin; at < end; at += part) {
        const std::int64_t count = std::min(part, end - at);
        std::array<std::int64_t, N> offset;
        for (std::size_t i = 0; i < N; ++i) offset[i] = at * inner[i];
        const Part<R> to(y + at, count, n);
        rows(f, 1, count, to.data(), count, inner, outer, x.at(offset));
      }
    });
    return;
  }
  const Transposed<N> transposed(walk);
  if (transposed.across != 0) return map_blocks(walk, transposed, elements, y, f, rows, x);
  parallel_for(elements / n, row_grain(elements / n, n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end;) {
      const std::int64_t count = std::min(end - r, walk.size[1] - r % walk.size[1]);
      rows(f, count, n, y + r * n, n, inner, outer, x.at(walk.offsets(r)));
      r += count;
    }
  });
}

// Computes y = f(operands...) over `shape`, row-major into y.
template <class R, class F, class... Ts>
void map(const Shape& shape, R* y, const F& f, const Operand<Ts>&... operands) {
  constexpr std::size_t N = sizeof...(Ts);
  const Rows<R, N> rows = [](const void* function, std::int64_t count, std::int64_t n, R* to, std::int64_t step,
                             const std::array<std::int64_t, N>& inner, const std::array<std::int64_t, N>& outer,
                             const std::array<const char*, N>& x) {
    F own = *static_cast<const F*>(function);  // which writing y cannot change
    for (std::int64_t r = 0; r < count; ++r) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        map_row(n, to + r * step, own, inner, (reinterpret_cast<const Ts*>(x[I]) + r * outer[I])...);
      }
      (std::index_sequence_for<Ts...>{});
    }
  };
  map_rows<R, N>(shape, y, &f, rows, {&operands.strides...},
                 Elements<N>{{reinterpret_cast<const char*>(operands.data)...},
                             {static_cast<std::int64_t>(sizeof(Ts))...},
                             {copy_columns<Ts>...}});
}

// Returns a new tensor of `shape` and x's dtype. compute(from, to) sets its elements from those of x, both row-major.
Tensor computed(const Tensor& x, const Shape& shape, auto compute, const char* operation = "tensor") {
  Tensor y(shape, x.dtype(), operation);
  const Tensor dense = x.is_contiguous() ? x.detach() : x.detach().clone();
  dispatch(x.dtype(), [&]<class T>() { compute(dense.data<T>(), y.mutable_data<T>()); });
  return y;
}

// Return y = f(a), y = f(a, b) and y = f(a, b, c) as new contiguous tensors; f is generic over float and double. Errors begin with
// `operation`.
Tensor map(const char* operation, const Tensor& a, auto f) {
  check_defined(operation, {&a});
  Tensor y(a.shape(), a.dtype(), operation);
  dispatch(a.dtype(), [&]<class T>() { map(y.shape(), y.mutable_data<T>(), f, operand<T>(a, y.shape())); });
  return y;
}

Tensor map(const char* operation, const Tensor& a, const Tensor& b, auto f) {
  check_one_dtype(operation, a, b);
  Tensor y(broadcast_shapes(operation, a.shape(), b.shape()), a.dtype(), operation);
  dispatch(a.dtype(), [&]<class T>() {
    map(y.shape(), y.mutable_data<T>(), f, operand<T>(a, y.shape()), operand<T>(b, y.shape()));
  });
  return y;
}

Tensor map(const char* operation, const Tensor& a, const Tensor& b, const Tensor& c, auto f) {
  check_one_dtype(operation, a, b);
  check_one_dtype(operation, a, c);
  Tensor y(broadcast_shapes(operation, broadcast_shapes(operation, a.shape(), b.shape()), c.shape()), a.dtype(),
           operation);
  dispatch(a.dtype(), [&]<class T>() {
    map(y.shape(), y.mutable_data<T>(), f, operand<T>(a, y.shape()), operand<T>(b, y.shape()),
        operand<T>(c, y.shape()));
  });
  return y;
}

}  // namespace heed::cpu
