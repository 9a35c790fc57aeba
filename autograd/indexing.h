#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/tensor.h>

#include <vector>

/// @file
/// Operations that choose elements by their positions, or move them. ops.h includes this file.
///
///     const Tensor batch = index_select(examples, Ids({2}, {7, 3}));              // rows 7 and 3
///     const Tensor sums = index_add(zeros({nodes, d}), receivers, messages);      // messages summed by receiver
///     const Tensor mirrored = flip(images, -1);                                   // columns from right to left
namespace heed {

/// Elements by index, counted from 0. Throws `Error` for an index outside the axis. (indices.cpp, gather.cpp, rearranging.cpp)
Tensor gather(const Tensor& x, const Ids& indices, int axis);  ///< y[i, j, k] = x[i, indices[i, j, k], k] for axis 1
/// Returns x with y[i, indices[i, j, k], k] += values[i, j, k] applied in order (for axis 1). indices and values have one shape.
Tensor scatter_add(const Tensor& x, const Ids& indices, const Tensor& values, int axis);
/// Returns x with y[i, indices[i, j, k], k] = values[i, j, k] (for axis 1). The last of several values
/// for one element stays, and gets the gradient.
Tensor scatter(const Tensor& x, const Ids& indices, const Tensor& values, int axis);
/// Returns x with y[i, indices[i, j, k], k] = max(y[i, indices[i, j, k], k], values[i, j, k]) applied in order (for axis 1). NaN
/// when one of them is NaN. Where elements are equal, x gets the gradient, or else the first value.
Tensor scatter_max(const Tensor& x, const Ids& indices, const Tensor& values, int axis);
/// Returns x with y[indices[i], ...] += values[i, ...] applied in order (for axis 0). values has the shape of
/// index_select(x, indices, axis).
Tensor index_add(const Tensor& x, const Ids& indices, const Tensor& values, int axis = 0);
/// Select rows (or other slices) by index: a mini-batch is index_select(examples, indices). indices (n); the axis gets size n.
Tensor index_select(const Tensor& x, const Ids& indices, int axis = 0);
Ids gather(const Ids& x, const Ids& indices, int axis);                      ///< copies
Ids index_select(const Ids& x, const Ids& indices, int axis = 0);            ///< copies
Booleans index_select(const Booleans& x, const Ids& indices, int axis = 0);  ///< copies
void gather(const Tensor&, int, const Ids&) = delete;                        // the axis comes last: gather(x, ids, 1)
void scatter(const Tensor&, int, const Ids&, const Tensor&) = delete;    // the axis comes last: scatter(x, ids, y, 1)
void index_add(const Tensor&, int, const Ids&, const Tensor&) = delete;  // the axis comes last: index_add(x, ids, y, 0)
void index_select(const Tensor&, int, const Ids&) = delete;              // the axis comes last: index_select(x, ids, 0)
Tensor embedding(const Tensor& table, const Ids& ids);      ///< table (V, d), ids in [0, V) -> (ids.shape()..., d)
Tensor select_rows(const Tensor& x, const Ids& positions);  ///< x[b, positions[b], :]: (B, T, d), (B) -> (B, d)
/// Returns (..., classes): 1 at ids, else 0.
Tensor one_hot(const Ids& ids, std::int64_t classes, DType dtype = DType::float32);
/// Returns the positions of the elements that are true, or not 0 (NaN is not 0), in row-major order: (count, rank). The first axis
/// of x is column 0. For x of one axis, reshape(nonzero(x), {-1}) are indices for index_select().
///@{
Ids nonzero(const Booleans& x);
Ids nonzero(const Tensor& x);
Ids nonzero(const Ids& x);
///@}
Ids to_ids(const Tensor& x);    ///< its numbers; throws `Error` for one that is no integer of 32 bits
Ids to_ids(const Booleans& x);  ///< 1 where x is true, else 0

/// Functions of ops.h for arrays; each returns a copy. (arrays.cpp)
Ids squeeze(const Ids& x, int axis);              ///< removes an axis of size 1
Ids unsqueeze(const Ids& x, int axis);            ///< actions (B) -> (B, 1), for gather()
Booleans squeeze(const Booleans& x, int axis);    ///< removes an axis of size 1
Booleans unsqueeze(const Booleans& x, int axis);  ///< a mask (B, T) -> (B, 1, T)
template <class T>
Array<T> stack(const std::vector<Array<T>>& parts, int axis = 0);  ///< along a new axis
/// Takes parts in braces. As a template it leaves stack({}) and stack({begin, end}) to tensors.
template <class T>
Array<T> stack(std::initializer_list<Array<T>> parts, int axis = 0) {
  return stack(std::vector<Array<T>>(parts), axis);
}

/// Elements in another order; each returns a copy. (rearranging.cpp)
///@{
Tensor flip(const Tensor& x, int axis);                      ///< from the last to the first along the axis
Tensor flip(const Tensor& x, const std::vector<int>& axes);  ///< along each of these axes
/// y[(i + shift) mod n] = x[i] along the axis of size n. A negative shift moves to lower positions.
Tensor roll(const Tensor& x, std::int64_t shift, int axis);
///@}

}  // namespace heed
