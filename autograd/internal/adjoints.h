#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/tensor.h>

#include <cstdint>
#include <vector>

// Operations that recorded backwards compute with: the adjoints of slices, views and selections.
namespace heed::cpu {

// Returns zeros of `shape` with x at the elements first, first + step, ... of an axis: the adjoint of slice().
Tensor place(const Tensor& x, const Shape& shape, int axis, std::int64_t first, std::int64_t step);

// Returns y of `shape` with y[i] = x[positions[i]]. Positions and i count elements in row-major order.
Tensor pick(const Tensor& x, const std::vector<std::int64_t>& positions, const Shape& shape);

// Returns zeros of `shape` to which y[positions[i]] += x[i] is applied in order: the adjoint of pick().
Tensor spread(const Tensor& x, const std::vector<std::int64_t>& positions, const Shape& shape);

// Adds values[:, i] to sum[:, indices[i]], in the order of i: the adjoint of index_select(). `sum` is contiguous.
void add_selected(Tensor& sum, const Ids& indices, const Tensor& values, int axis);

// Records y, which is known, as softmax(x) along an axis. x may lack its numbers.
Tensor known_softmax(const Tensor& x, const Tensor& y, int axis);

}  // namespace heed::cpu
