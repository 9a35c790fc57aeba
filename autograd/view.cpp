#include "autograd/cpu/blocks.h"
#include "autograd/cpu/kernels.h"

#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <array>

namespace heed {

// y = a copy of x        dx = dy
static const Operation clone_operation("clone",
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
  return record(clone_operation, {this}, copy, [](const Tensor& dy) { return std::vector{dy}; });
}

// Adds y's elements in order to those of x that the strides reach, which may coincide.
template <class T>
static void add_strided(const T* y, T* x, const Shape& shape, const Shape& strides) {
  const int last = shape.rank() - 1;
  const std::int64_t count = shape.numel(), n = last < 0 ? 1 : shape[last], step = last < 0 ? 0 : strides[last];
  std::array<std::int64_t, Shape::max_rank> index{};
  for (std::int64_t done = 0; done < count; done += n) {
    for (std::int64_t j = 0; j < n; ++j) x[j * step] += y[done + j];
    for (int axis = last - 1; axis >= 0; --axis) {
      std::int64_t& i = index[static_cast<std::size_t>(axis)];
      x += strides[axis];
      if (++i < shape[axis]) break;
      x -= i * strides[axis];
      i = 0;
    }
  }
}

// y = elements of x by strides        dx = at each element, the sum of dy over its places in y
static const Operation view_operation("view", [] {
  return std::vector<GradientSample>{
      {"windows of (5)",
       {{{5}}},
       [](auto& x) {
         return contiguous(x[0]).view({3, 3}, {1, 1});
       }},
      {"diagonal of (3, 3)", {{{3, 3}}}, [](auto& x) { return contiguous(x[0]).view({3}, {4}); }},
      {"reversed rows of (2, 3)",
       {{{2, 3}}},
       [](auto& x) {
         return contiguous(x[0]).view({2, 3}, {-3, 1}, 3);
       }},
      {"one element of (4)", {{{4}}}, [](auto& x) { return contiguous(x[0]).view({}, {}, 2); }},
      {"nothing of (4)", {{{4}}}, [](auto& x) {
         return contiguous(x[0]).view({0, 2}, {1, 1});
       }}};
});
Tensor Tensor::view(const Shape& shape, const Shape& strides, std::int64_t offset) const {
  const Tensor y = cpu::view_of(*this, shape, strides, offset);
  if (Recorder::follows(*this)) {
    std::int64_t first = offset, last = offset;
    for (int axis = 0; axis < shape.rank(); ++axis) {
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
  return record(view_operation, {this}, y,
                [from = shape_, strides, offset](const Tensor& dy, const NeedsInputGrad& needs) {
                  Tensor dx = needs.take_total();
                  if (!dx.defined()) dx = zeros(from, dy.dtype());
                  const Tensor dense = contiguous(dy);
                  dispatch(dy.dtype(), [&]<class T>() {
                    add_strided(dense.data<T>(), dx.mutable_data<T>() + offset, dense.shape(), strides);
                  });
                  return std::vector{dx};
                });
}

}  // namespace heed
