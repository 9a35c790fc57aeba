#include "autograd/cpu/blocks.h"
#include "autograd/cpu/copy.h"
#include "autograd/cpu/kernels.h"
#include "autograd/internal/adjoints.h"

#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <array>

namespace heed {

static const Operation clone_operation("clone", "y = a copy of x", "dx = dy",
                                       [] { return unary_samples([](const Tensor& x) { return x.clone(); }); });
Tensor Tensor::clone() const {
  check_defined("clone", {this});
  Tensor copy;
  if (is_in_blocks(dtype_)) {
    copy = cpu::without_blocks(*this);
  } else {
    copy = Tensor(shape_, dtype_, "clone");
    copy.copy_from(detach());
  }
  return record(clone_operation, {this}, copy, Saved(), Recordable([](const Tensor& dy) { return std::vector{dy}; }));
}

// Calls f(i, offset) for each element i of `shape`, row-major, with its offset by the strides. Offsets may coincide.
static void for_each_offset(const Shape& shape, const Shape& strides, auto f) {
  if (shape.numel() == 0) return;
  const cpu::Walk<1> walk(shape, {&strides});
  const std::int64_t n = walk.size[0], step = walk.stride[0][0];
  walk.rows(0, shape.numel() / n, [=](std::int64_t first, const std::array<std::int64_t, 1>& offset) {
    for (std::int64_t i = 0; i < n; ++i) f(first + i, offset[0] + i * step);
  });
}

static const Operation view_operation(
    "view", "y = elements of x by strides", "dx = at each element, the sum of dy over its places in y", [] {
      const auto view = [](const Shape& shape, const Shape& strides, std::int64_t offset = 0) {
        return [=](auto& x) { return contiguous(x[0]).view(shape, strides, offset); };
      };
      return std::vector<GradientSample>{{"windows of (5)", {{{5}}}, view({3, 3}, {1, 1})},
                                         {"diagonal of (3, 3)", {{{3, 3}}}, view({3}, {4})},
                                         {"reversed rows of (2, 3)", {{{2, 3}}}, view({2, 3}, {-3, 1}, 3)},
                                         {"one element of (4)", {{{4}}}, view({}, {}, 2)},
                                         {"nothing of (4)", {{{4}}}, view({0, 2}, {1, 1})}};
    });
Tensor Tensor::view(const Shape& shape, const Shape& strides, std::int64_t offset) const {
  const Tensor y = cpu::view_of(*this, shape, strides, offset);
  if (Recorder::follows(*this)) {
    std::int64_t first = offset, last = offset;
    for (int axis = 0; axis < shape.rank() && y.numel() > 0; ++axis) {  // strides of nothing may be huge
      const std::int64_t reach = (shape[axis] - 1) * strides[axis];
      (reach < 0 ? first : last) += reach;
    }
    if (!is_contiguous() || (y.numel() > 0 && (first < 0 || last >= numel()))) {
      fail(
          "view: inside a Recording, the view must lie in a contiguous tensor, got {} with strides {} and offset {} of "
          "{}; use contiguous(x).view(...), or reshape, slice and permute",
          to_string(shape), to_string(strides), offset, to_string(shape_));
    }
  }
  return record(
      view_operation, {this}, y, Saved(),
      [from = shape_, strides, offset](const Tensor& dy, const NeedsInputGrad& needs) {
        Tensor dx = needs.take_total_or_zeros(from, dy.dtype());
        const Tensor dense = heed::contiguous(dy);
        dispatch(dy.dtype(), [&]<class T>() {
          for_each_offset(dense.shape(), strides,
                          [from = dense.data<T>(), to = dx.mutable_data<T>() + offset](
                              std::int64_t i, std::int64_t at) { to[at] += from[i]; });
        });
        return std::vector{dx};
      },
      Recordable([from = shape_, strides, offset](const Tensor& dy, const NeedsInputGrad& needs) {
        std::vector<std::int64_t> positions(static_cast<std::size_t>(dy.numel()));
        for_each_offset(dy.shape(), strides,
                        [offset, to = positions.data()](std::int64_t i, std::int64_t at) { to[i] = offset + at; });
        return std::vector{cpu::spread(dy, needs.take_total(), positions, from)};
      }));
}

}  // namespace heed
