#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/tensor.h>

#include <cstdint>
#include <vector>

// Operations that recorded backwards compute with: the adjoints of slices, views and selections.
namespace heed::cpu {

// Adds x to the elements first, first + step, ... of an axis of y, which is contiguous, and returns y. x may be without the axis. Many slices
// of one tensor cost no more than the elements that they read.
Tensor add_to_slice(Tensor y, const Tensor& x, int axis, std::int64_t first, std::int64_t step);

// Returns `total`, to which add_to_slice() added x, or zeros of `shape` if it is undefined: the adjoint of slice(). It is written in
// place, so no other handle may see its memory, as NeedsInputGrad::take_total() guarantees.
Tensor place(const Tensor& x, const Tensor& total, const Shape& shape, int axis, std::int64_t first, std::int64_t step);

// Returns y of `shape` with y[i] = x[positions[i]]. Positions and i count elements in row-major order.
Tensor pick(const Tensor& x, const std::vector<std::int64_t>& positions, const Shape& shape);

// Applies y[positions[i]] += x[i] in order to `total`, in place as place() does, or to zeros of `shape`: the adjoint of pick().
Tensor spread(const Tensor& x, const Tensor& total, const std::vector<std::int64_t>& positions, const Shape& shape);

// Adds values[:, i] to sum[:, indices[i]], in the order of i: the adjoint of index_select(). `sum` is contiguous.
void add_selected(Tensor& sum, const Ids& indices, const Tensor& values, int axis);

// Records y, which is known, as softmax(x) along an axis. x may be without numbers.
Tensor known_softmax(const Tensor& x, const Tensor& y, int axis);

}  // namespace heed::cpu
