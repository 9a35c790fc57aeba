#include "autograd/cpu/kernels.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

// All but tril() and triu() are compositions of other operations, whose gradients they use.
namespace heed {
namespace {

// Returns x, but 0 in row i from column i + diagonal on (`hides_later`), or before it.
Tensor without_triangle(const char* operation, const Tensor& x, std::int64_t diagonal, bool hides_later) {
  const std::int64_t n = x.size(-2), m = x.size(-1), rows = m ? x.numel() / m : 0;
  const auto copy_rest = [=]<class T>(const T* from, T* to) {
    cpu::for_rows(rows, m, [=](std::int64_t row) {
      const std::int64_t i = row % n, first = diagonal < -i ? 0 : diagonal >= m - i ? m : diagonal + i;
      const std::int64_t hidden = hides_later ? first : 0, hidden_end = hides_later ? m : first;
      const T* const source = from + row * m;
      T* const target = to + row * m;
      std::copy_n(source, hidden, target);
      std::fill_n(target + hidden, hidden_end - hidden, T{0});
      std::copy_n(source + hidden_end, m - hidden_end, target + hidden_end);
    });
  };
  return cpu::computed(x, x.shape(), copy_rest, operation);
}

Tensor triangle(const Operation& operation, const Tensor& x, std::int64_t diagonal, bool hides_later) {
  check_defined(operation.name(), {&x});
  if (x.rank() < 2) fail("{}: expected matrices (..., n, m), got {}", operation.name(), to_string(x.shape()));
  const Tensor y = without_triangle(operation.name(), x, diagonal, hides_later);
  return record(operation, {&x}, y, Saved(), Recordable([=, same = &operation](const Tensor& dy) {
                  return std::vector{triangle(*same, dy, diagonal, hides_later)};
                }));
}

std::vector<GradientSample> triangle_samples(Tensor (*f)(const Tensor&, std::int64_t)) {
  std::vector<GradientSample> samples;
  for (const Shape& shape : {Shape{3, 4}, Shape{2, 3, 2}, Shape{0, 3}}) {
    for (const std::int64_t diagonal : {-1, 0, 1}) {
      samples.push_back({fmt::format("{}, diagonal {}", to_string(shape), diagonal), {{shape}}, [=](auto& x) {
                           return f(x[0], diagonal);
                         }});
    }
  }
  return samples;
}

}  // namespace

Tensor stack(const std::vector<Tensor>& parts, int axis) {
  if (parts.empty()) fail("stack: expected at least one tensor");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].defined()) detail::fail_undefined("stack", i);
    if (parts[i].shape() == parts[0].shape() && parts[i].dtype() == parts[0].dtype()) continue;
    fail("stack: part {} is {} {}; expected {} {} like part 0", i, to_string(parts[i].dtype()),
         to_string(parts[i].shape()), to_string(parts[0].dtype()), to_string(parts[0].shape()));
  }
  cpu::check_rank("stack", parts[0].rank() + 1);
  checked_axis("stack", axis, parts[0].rank() + 1);
  std::vector<Tensor> with_axis;
  for (const Tensor& part : parts) with_axis.push_back(unsqueeze(part, axis));
  return concat(with_axis, axis);
}

std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis) {
  const int a = cpu::axis_of("split", x, axis);
  std::int64_t left = x.size(a);
  for (const std::int64_t size : sizes) left = size < 0 || size > left ? -1 : left - size;
  if (left != 0) {
    fail("split: the sizes {} do not add up to axis {} of shape {}", fmt::join(sizes, ", "), axis,
         to_string(x.shape()));
  }
  std::vector<Tensor> parts;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    parts.push_back(slice(x, a, begin, begin + size));
    begin += size;
  }
  return parts;
}

Tensor squeeze(const Tensor& x, int axis) {
  const int a = cpu::axis_of("squeeze", x, axis);
  if (x.size(a) != 1) fail("squeeze: expected size 1 along axis {} of shape {}", axis, to_string(x.shape()));
  return reshape(x, cpu::without_axis(x.shape(), a));
}

Tensor squeeze(const Tensor& x) {
  check_defined("squeeze", {&x});
  Shape shape;
  for (const std::int64_t size : x.shape()) {
    if (size != 1) shape.append(size);
  }
  return reshape(x, shape);
}

Tensor unsqueeze(const Tensor& x, int axis) {
  check_defined("unsqueeze", {&x});
  return reshape(x, cpu::with_axis("unsqueeze", x.shape(), axis));
}

Tensor flatten(const Tensor& x, int first, int last) {
  check_defined("flatten", {&x});
  if (x.rank() == 0) return reshape(x, {1});
  const int begin = checked_axis("flatten", first, x.rank()), end = checked_axis("flatten", last, x.rank());
  if (begin > end) fail("flatten: axis {} comes after axis {} of shape {}", first, last, to_string(x.shape()));
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (i <= begin || i > end) {
      shape.append(x.size(i));
    } else if (__builtin_mul_overflow(shape[-1], x.size(i), &shape[-1])) {
      fail("flatten: axes {} to {} of shape {} have more than 2^63 - 1 elements", first, last, to_string(x.shape()));
    }
  }
  return reshape(x, shape);
}

Tensor pad(const Tensor& x, int axis, std::int64_t before, std::int64_t after, double value) {
  const int a = cpu::axis_of("pad", x, axis);
  if (before < 0 || after < 0) fail("pad: expected sizes of at least 0, got {} and {}", before, after);
  Shape padded = x.shape();
  if (__builtin_add_overflow(padded[a], before, &padded[a]) || __builtin_add_overflow(padded[a], after, &padded[a])) {
    fail("pad: {} and {} elements are too many for axis {} of shape {}", before, after, axis, to_string(x.shape()));
  }
  cpu::check_memory("pad", padded, x.dtype());
  Shape left = x.shape(), right = x.shape();
  left[a] = before, right[a] = after;
  return concat({full(left, value, x.dtype()), x, full(right, value, x.dtype())}, a);
}

// Repeats along each axis: (outer, n) -> (outer, times, n), with stride 0.
Tensor repeat(const Tensor& x, const std::vector<std::int64_t>& times) {
  check_defined("repeat", {&x});
  if (std::ssize(times) != x.rank() || std::ranges::any_of(times, [](auto n) { return n < 0; })) {
    fail("repeat: expected a number of at least 0 for each axis of {}, got {}", to_string(x.shape()),
         fmt::join(times, ", "));
  }
  Shape repeated = x.shape();
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (__builtin_mul_overflow(repeated[axis], times[static_cast<std::size_t>(axis)], &repeated[axis])) {
      fail("repeat: {} times {} is more than 2^63 - 1 elements along an axis", to_string(x.shape()),
           fmt::join(times, ", "));
    }
  }
  cpu::check_memory("repeat", repeated, x.dtype());
  Tensor y = x;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t n = times[static_cast<std::size_t>(axis)];
    if (n == 1) continue;
    Shape shape = y.shape();
    shape[axis] = repeated[axis];
    if (shape.numel("repeat") == 0) {
      y = reshape(slice(y, axis, 0, 0), shape);
      continue;
    }
    std::int64_t outer = 1;
    for (int before = 0; before < axis; ++before) outer *= y.size(before);
    const std::int64_t inner = y.numel() / outer;
    y = reshape(broadcast_to(reshape(y, {outer, 1, inner}), {outer, n, inner}), shape);
  }
  return y;
}

static const Operation tril_operation("tril", "y[i, j] = j <= i + diagonal ? x[i, j] : 0",
                                      "dx[i, j] = j <= i + diagonal ? dy[i, j] : 0",
                                      [] { return triangle_samples(tril); });
Tensor tril(const Tensor& x, std::int64_t diagonal) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() - 1;
  return triangle(tril_operation, x, std::min(diagonal, most) + 1, true);
}

static const Operation triu_operation("triu", "y[i, j] = j >= i + diagonal ? x[i, j] : 0",
                                      "dx[i, j] = j >= i + diagonal ? dy[i, j] : 0",
                                      [] { return triangle_samples(triu); });
Tensor triu(const Tensor& x, std::int64_t diagonal) { return triangle(triu_operation, x, diagonal, false); }

}  // namespace heed
