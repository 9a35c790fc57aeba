#include "autograd/cpu/blocks.h"
#include "autograd/cpu/copy.h"
#include "autograd/cpu/kernels.h"
#include "autograd/half.h"
#include "autograd/internal/adjoints.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

// Views share the storage of x; their gradients undo the view.
namespace heed {
namespace {

// Computes the strides that show x with `shape` without a copy. Returns false when a copy is necessary.
bool view_strides(const Tensor& x, const Shape& shape, Shape& strides) {
  if (x.is_contiguous()) {
    strides = row_major_strides(shape);
    return true;
  }
  Shape sizes, steps;  // x's axes, merged where they are contiguous
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (x.size(axis) == 1) continue;
    if (sizes.rank() > 0 && steps[-1] == x.strides()[axis] * x.size(axis)) {
      sizes[-1] *= x.size(axis);
      steps[-1] = x.strides()[axis];
    } else {
      sizes.append(x.size(axis));
      steps.append(x.strides()[axis]);
    }
  }
  strides = shape;
  int group = sizes.rank() - 1;
  std::int64_t within = 1;  // elements of the group already used by later axes of `shape`
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] == 1) {
      strides[axis] = 1;
      continue;
    }
    if (group >= 0 && within == sizes[group]) {
      --group;
      within = 1;
    }
    if (group < 0 || sizes[group] % (within * shape[axis]) != 0) return false;
    strides[axis] = steps[group] * within;
    within *= shape[axis];
  }
  return true;
}

}  // namespace

Shape cpu::checked_reshape(const Shape& from, Shape shape) {
  const Shape asked = shape;
  const std::int64_t elements = from.numel("reshape");
  int unknown = -1;
  std::int64_t known = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == -1) {
      if (unknown >= 0) fail("reshape: only one size may be -1, got {}", to_string(asked));
      unknown = axis;
    } else if (__builtin_mul_overflow(known, shape[axis], &known)) {
      known = 0;  // makes the -1 invalid
      break;
    }
  }
  if (unknown >= 0 && known > 0 && elements % known == 0) shape[unknown] = elements / known;
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t n) { return n < 0; }) ||
      shape.numel("reshape") != elements) {
    fail("reshape: {} elements of shape {} do not fill {}", elements, to_string(from), to_string(asked));
  }
  return shape;
}

cpu::SliceRange cpu::checked_slice(const Shape& shape, int axis, std::int64_t begin, std::int64_t end,
                                   std::int64_t step) {
  const std::int64_t n = shape[axis], last = end == to_end ? n : end < 0 ? end + n : end;
  const std::int64_t first = begin < 0 ? begin + n : begin;
  if (first < 0 || first > last || last > n || step < 1) {
    fail("slice: [{}, {}) by {} does not lie in axis {} of shape {}", begin,
         end == to_end ? "end" : std::to_string(end), step, axis, to_string(shape));
  }
  return {first, last > first ? (last - first - 1) / step + 1 : 0};
}

// Samples of y = f(x, shape) from one shape to another.
static std::vector<GradientSample> shape_samples(Tensor (*f)(const Tensor&, const Shape&),
                                                 std::initializer_list<std::pair<Shape, Shape>> pairs) {
  std::vector<GradientSample> samples;
  for (const auto& [from, to] : pairs) {
    samples.push_back(
        {to_string(from) + " to " + to_string(to), {{from}}, [f, shape = to](auto& x) { return f(x[0], shape); }});
  }
  return samples;
}

static const Operation reshape_operation("reshape", "y = x with another shape", "dx = dy with x's shape", [] {
  std::vector<GradientSample> samples = shape_samples(
      reshape, {{{2, 6}, {3, 4}}, {{2, 3, 2}, {6, -1}}, {{1, 2, 1}, {2}}, {{}, {1, 1}}, {{2, 0}, {0, 5}}});
  samples.push_back({"of a transposed", {{{2, 3}}}, [](auto& x) { return reshape(transpose(x[0]), {2, 3}); }});
  return samples;
});
Tensor reshape(const Tensor& x, const Shape& shape) {
  check_defined("reshape", {&x});
  const Shape target = cpu::checked_reshape(x.shape(), shape);
  Shape strides;
  const bool copies = target.numel() == 0 || !view_strides(x, target, strides);
  const bool is_widened = copies && is_in_blocks(x.dtype());
  Tensor y = is_widened ? reshape(cpu::without_blocks(x), target)
             : copies   ? Tensor(target, x.dtype(), "reshape")
                        : cpu::view_of(x, target, strides);
  if (copies && !is_widened) {
    dispatch_stored(x.dtype(),
                    [&]<class T>() { cpu::copy(x.shape(), y.mutable_data<T>(), cpu::operand<T>(x, x.shape())); });
  }
  return record(reshape_operation, {&x}, y, Saved(),
                Recordable([from = x.shape()](const Tensor& dy) { return std::vector{reshape(dy, from)}; }));
}

static const Operation permute_operation(
    "permute", "y = x with its axes permuted", "dx = dy with the axes permuted back", [] {
      const auto by = [](const std::vector<int>& axes) { return [=](auto& x) { return permute(x[0], axes); }; };
      return std::vector<GradientSample>{
          {"(2, 3, 4) by 2 0 1", {{{2, 3, 4}}}, by({2, 0, 1})},
          {"(2, 1, 3, 2) by 3 1 0 2", {{{2, 1, 3, 2}}}, by({3, 1, 0, -2})},
          {"transpose (2, 3)", {{{2, 3}}}, [](auto& x) { return transpose(x[0]); }},
          {"transpose (2, 3, 2) 0 and 2", {{{2, 3, 2}}}, [](auto& x) { return transpose(x[0], 0, 2); }},
          {"transpose (0, 2)", {{{0, 2}}}, [](auto& x) { return transpose(x[0]); }},
          {"()", {{Shape{}}}, by({})}};
    });
Tensor permute(const Tensor& x, const std::vector<int>& axes) {
  check_defined("permute", {&x});
  std::vector<int> inverse(axes.size(), -1);
  Shape shape, strides;
  bool valid = static_cast<int>(axes.size()) == x.rank();
  for (std::size_t i = 0; valid && i < axes.size(); ++i) {
    const int axis = checked_axis("permute", axes[i], x.rank());
    int& position = inverse[static_cast<std::size_t>(axis)];
    valid = position == -1;
    position = static_cast<int>(i);
    shape.append(x.size(axis));
    strides.append(x.strides()[axis]);
  }
  if (!valid) fail("permute: expected each axis of {} once, got ({})", to_string(x.shape()), fmt::join(axes, ", "));
  return record(
      permute_operation, {&x}, cpu::view_of(x, shape, strides), Saved(inverse),
      Recordable([](const Tensor& dy, const std::vector<int>& order) { return std::vector{permute(dy, order)}; }));
}

Tensor transpose(const Tensor& x, int axis_a, int axis_b) {
  check_defined("transpose", {&x});
  const int a = checked_axis("transpose", axis_a, x.rank()), b = checked_axis("transpose", axis_b, x.rank());
  Shape shape = x.shape(), strides = x.strides();
  std::swap(shape[a], shape[b]);
  std::swap(strides[a], strides[b]);
  return record(permute_operation, {&x}, cpu::view_of(x, shape, strides), Saved(),
                Recordable([a, b](const Tensor& dy) { return std::vector{transpose(dy, a, b)}; }));
}

static const Operation slice_operation(
    "slice", "y = x[begin : end : step] along one axis, or x[i] without that axis", "dx[begin : end : step] += dy", [] {
      return std::vector<GradientSample>{
          {"(5, 2) rows 1 to 4", {{{5, 2}}}, [](auto& x) { return slice(x[0], 0, 1, 4); }},
          {"(2, 5) every second column", {{{2, 5}}}, [](auto& x) { return slice(x[0], -1, 0, 5, 2); }},
          {"(2, 3, 2) middle axis", {{{2, 3, 2}}}, [](auto& x) { return slice(x[0], 1, 2, 3); }},
          {"(2, 5, 2) every second of the middle axis", {{{2, 5, 2}}}, [](auto& x) { return slice(x[0], 1, 1, 5, 2); }},
          {"(4, 2) the last three rows", {{{4, 2}}}, [](auto& x) { return slice(x[0], 0, -3); }},
          {"two that overlap", {{{4, 2}}}, [](auto& x) { return 2 * slice(x[0], 0, 0, 3) + slice(x[0], 0, 1, 4); }},
          {"(2, 3, 2) the parts of the middle axis",
           {{{2, 3, 2}}},
           [](auto& x) {
             const std::vector<Tensor> parts = unbind(x[0], 1);
             return parts.at(0) + 2 * parts.at(1) + 3 * parts.at(2);
           }},
          {"(3) nothing", {{{3}}}, [](auto& x) { return slice(x[0], 0, 2, 2); }},
          {"(0, 2)", {{{0, 2}}}, [](auto& x) { return slice(x[0], 1, 0, 1); }}};
    });
namespace {

// The elements first, first + step, ... of one axis.
struct Selection {
  int axis;
  std::int64_t first, step;
};

Tensor record_selection(const Tensor& x, Selection selection, const Tensor& y) {
  return record(
      slice_operation, {&x}, y, Saved(),
      [from = x.shape(), selection](const Tensor& dy, const NeedsInputGrad& needs) {
        const auto [axis, first, step] = selection;
        return std::vector{cpu::add_to_slice(needs.take_total_or_zeros(from, dy.dtype()), dy, axis, first, step)};
      },
      Recordable([from = x.shape(), selection](const Tensor& dy, const NeedsInputGrad& needs) {
        const auto [axis, first, step] = selection;
        Shape shape = from;
        if (dy.rank() < from.rank()) shape[axis] = 1;
        const Tensor values = dy.rank() < from.rank() ? reshape(dy, shape) : dy;
        return std::vector{cpu::place(values, needs.take_total(), from, axis, first, step)};
      }));
}

// Returns x[i] along an axis, without this axis.
Tensor element(const Tensor& x, int axis, std::int64_t i) {
  const Shape shape = cpu::without_axis(x.shape(), axis);
  const Tensor y =
      cpu::view_of(x, shape, cpu::without_axis(x.strides(), axis), shape.numel() == 0 ? 0 : i * x.strides()[axis]);
  return record_selection(x, {axis, i, 1}, y);
}

}  // namespace

Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
  const int a = cpu::axis_of("slice", x, axis);
  const cpu::SliceRange range = cpu::checked_slice(x.shape(), a, begin, end, step);
  Shape shape = x.shape(), strides = x.strides();
  shape[a] = range.count;
  const bool is_empty = shape.numel() == 0;  // an empty result may have strides and sizes whose products overflow
  if (!is_empty && shape[a] > 1) strides[a] *= step;
  const Tensor y = cpu::view_of(x, shape, strides, is_empty ? 0 : range.begin * x.strides()[a]);
  return record_selection(x, {a, range.begin, step}, y);
}

std::vector<Tensor> unbind(const Tensor& x, int axis) {
  const int a = cpu::axis_of("unbind", x, axis);
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < x.size(a); ++i) parts.push_back(element(x, a, i));
  return parts;
}

Tensor Tensor::operator[](std::int64_t i) const {
  check_defined("[]", {this});
  if (rank() == 0 || i < -size(0) || i >= size(0)) {
    fail("[]: index {} lies outside the first axis of shape {}{}", i, to_string(shape_),
         rank() == 0 ? "; item() gives its number" : "");
  }
  return element(*this, 0, i < 0 ? i + size(0) : i);
}

static const Operation broadcast_operation(
    "broadcast_to", "y = x repeated along new axes and axes of size 1, with stride 0", "dx = dy summed over these axes",
    [] {
      return shape_samples(broadcast_to, {{{3}, {2, 3}}, {{2, 1, 3}, {2, 2, 4, 3}}, {{}, {2, 2}}, {{1}, {0}}});
    },
    {.broadcasts = true});
Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  check_defined("broadcast_to", {&x});
  checked_numel("broadcast_to", shape);
  if (broadcast_shapes("broadcast_to", x.shape(), shape) != shape) {
    fail("broadcast_to: {} does not broadcast to {}", to_string(x.shape()), to_string(shape));
  }
  return record(broadcast_operation, {&x},
                cpu::view_of(x, shape, cpu::broadcast_strides(x.shape(), x.strides(), shape)), Saved(),
                Recordable([](const Tensor& dy) { return std::vector{dy}; }));
}

static const Operation contiguous_operation("contiguous", "y = x, copied when x has gaps", "dx = dy", [] {
  return std::vector<GradientSample>{
      {"transposed", {{{2, 3}}}, [](auto& x) { return contiguous(transpose(x[0])); }},
      {"sliced", {{{3, 4}}}, [](auto& x) { return contiguous(slice(x[0], 1, 1, 4, 2)); }}};
});
Tensor contiguous(const Tensor& x) {
  check_defined("contiguous", {&x});
  if (x.is_contiguous()) return x;
  return record(contiguous_operation, {&x}, x.detach().clone(), Saved(),
                Recordable([](const Tensor& dy) { return std::vector{dy}; }));
}

// Copies `rows` rows of n elements that begin every from_step elements, to rows that begin every `step` elements.
template <class T>
static void copy_rows(const T* from, std::int64_t from_step, T* y, std::int64_t step, std::int64_t rows,
                      std::int64_t n) {
  constexpr std::int64_t few = 8, many = 128;  // a call of memcpy() takes as long as copying some dozen elements
  cpu::parallel_for(rows, cpu::row_grain(rows, n), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; n < few && i < n; ++i) {
      for (std::int64_t r = begin; r < end; ++r) y[r * step + i] = from[r * from_step + i];
    }
    for (std::int64_t r = begin; n >= few && r < end; ++r) {
      const T* const row = from + r * from_step;
      T* const to = y + r * step;
      if (n > many) std::copy_n(row, n, to);
      for (std::int64_t i = 0; n <= many && i < n; i += few) {  // the last overlap those before
        const std::int64_t at = std::min(i, n - few);
        std::memcpy(to + at, row + at, few * sizeof(T));
      }
    }
  });
}

// Copies x to y, where blocks of `block` elements begin every `step` elements.
template <class T>
static void copy_blocks(const Tensor& x, T* y, std::int64_t block, std::int64_t step) {
  if (x.numel() == 0) return;
  const cpu::Walk<1> walk(x.shape(), {&x.strides()});
  const std::int64_t run = walk.size[0];  // a product of the last sizes, as is `block`: one divides the other
  if (run != 1 && walk.stride[0][0] != 1) return copy_blocks(contiguous(x), y, block, step);
  const T* const from = x.data<T>();
  const auto copy_from = [=](std::int64_t e, std::int64_t count) {
    std::copy_n(from + walk.offsets(e / run)[0] + e % run, count, y + e / block * step + e % block);
  };
  constexpr std::int64_t most = 1 << 14;  // elements that one thread copies at a time
  if (block <= most && run == x.numel()) return copy_rows(from, block, y, step, run / block, block);
  if (block <= most && run == block && walk.rank == 2) {
    return copy_rows(from, walk.stride[0][1], y, step, walk.size[1], block);
  }
  const std::int64_t piece = std::min(run, block), pieces = x.numel() / piece;
  if (piece > most) {
    const std::int64_t parts = (piece + most - 1) / most;
    return cpu::parallel_for(pieces * parts, 1, [=](std::int64_t i, std::int64_t) {
      const std::int64_t first = i % parts * most;
      copy_from(i / parts * piece + first, std::min(most, piece - first));
    });
  }
  cpu::parallel_for(pieces, cpu::row_grain(pieces, piece), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t e = begin * piece; e < end * piece; e += piece) copy_from(e, piece);
  });
}

static const Operation concat_operation(
    "concat", "y = the parts one after another along an axis", "d(part) = its slice of dy", [] {
      const auto join = [](int axis) { return [axis](auto& x) { return concat(x, axis); }; };
      return std::vector<GradientSample>{{"rows", {{{2, 3}}, {{1, 3}}, {{0, 3}}}, join(0)},
                                         {"columns", {{{2, 1}}, {{2, 3}}}, join(-1)},
                                         {"middle axis", {{{2, 1, 2}}, {{2, 2, 2}}}, join(1)},
                                         {"one part", {{{3}}}, join(0)}};
    });
Tensor concat(const std::vector<Tensor>& parts, int axis) {
  if (parts.empty()) fail("concat: expected at least one tensor");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].defined()) detail::fail_undefined("concat", i);
  }
  const int a = checked_axis("concat", axis, parts[0].rank());
  Shape shape = parts[0].shape();
  std::vector<const Tensor*> inputs;
  std::vector<std::int64_t> begins = {0};
  for (const Tensor& part : parts) {
    Shape expected = part.shape();
    if (part.rank() == shape.rank()) expected[a] = shape[a];
    if (expected != shape || part.dtype() != parts[0].dtype()) {
      fail("concat: part {} is {} {}; expected {} and, except along axis {}, the sizes {}", inputs.size(),
           to_string(part.dtype()), to_string(part.shape()), to_string(parts[0].dtype()), axis, to_string(shape));
    }
    inputs.push_back(&part);
    begins.push_back(0);
    if (__builtin_add_overflow(begins[begins.size() - 2], part.size(a), &begins.back())) {
      fail("concat: axis {} has more than 2^63 - 1 elements", axis);
    }
  }
  shape[a] = begins.back();
  Tensor y(shape, parts[0].dtype(), "concat");
  dispatch_stored(y.dtype(), [&]<class T>() {
    if (y.numel() == 0) return;  // its other sizes may be huge
    const std::int64_t inner = y.strides()[a];
    T* const to = y.mutable_data<T>();
    for (std::size_t p = 0; p < parts.size(); ++p) {
      copy_blocks(parts[p].detach(), to + begins[p] * inner, parts[p].size(a) * inner, shape[a] * inner);
    }
  });
  return record(concat_operation, inputs, y, Saved(begins),
                Recordable([a](const Tensor& dy, const std::vector<std::int64_t>& at) {
                  std::vector<Tensor> gradients;
                  for (std::size_t p = 0; p + 1 < at.size(); ++p) gradients.push_back(slice(dy, a, at[p], at[p + 1]));
                  return gradients;
                }));
}

}  // namespace heed
