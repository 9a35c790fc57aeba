#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/tensor.h>

/// @file
/// Operations on a tensor and an array. They compute with tensor(array), a constant in the dtype of the tensor, where true is 1 and
/// false is 0. Shapes broadcast. ops.h includes this file.
///
///     const Tensor kept = x * (x > 0);                       // 0 where x is negative
///     const Tensor means = sums / unsqueeze(counts, -1);     // (N, d) by Ids of shape (N)
///     const Booleans right = (logits > 0) == labels;         // labels: Ids 0 and 1; mean(tensor(right)) is their share
namespace heed {

/// Returns the numbers, or 1 where true, else 0. Throws `Error` for a whole number that float32 would round. (arrays.cpp)
template <class T>
Tensor tensor(const Array<T>& x, DType dtype = DType::float32);

/// Arithmetic of each element, recorded for the tensor.
///@{
Tensor operator+(const Tensor& a, const AnyArray auto& b) { return a + tensor(b, a.dtype()); }
Tensor operator-(const Tensor& a, const AnyArray auto& b) { return a - tensor(b, a.dtype()); }
Tensor operator*(const Tensor& a, const AnyArray auto& b) { return a * tensor(b, a.dtype()); }
Tensor operator/(const Tensor& a, const AnyArray auto& b) { return a / tensor(b, a.dtype()); }
Tensor operator+(const AnyArray auto& a, const Tensor& b) { return tensor(a, b.dtype()) + b; }
Tensor operator-(const AnyArray auto& a, const Tensor& b) { return tensor(a, b.dtype()) - b; }
Tensor operator*(const AnyArray auto& a, const Tensor& b) { return tensor(a, b.dtype()) * b; }
Tensor operator/(const AnyArray auto& a, const Tensor& b) { return tensor(a, b.dtype()) / b; }
///@}

/// Comparisons of each element. NaN compares as false.
///@{
Booleans operator<(const Tensor& a, const AnyArray auto& b) { return a < tensor(b, a.dtype()); }
Booleans operator<=(const Tensor& a, const AnyArray auto& b) { return a <= tensor(b, a.dtype()); }
Booleans operator>(const Tensor& a, const AnyArray auto& b) { return a > tensor(b, a.dtype()); }
Booleans operator>=(const Tensor& a, const AnyArray auto& b) { return a >= tensor(b, a.dtype()); }
Booleans operator==(const Tensor& a, const AnyArray auto& b) { return a == tensor(b, a.dtype()); }
Booleans operator!=(const Tensor& a, const AnyArray auto& b) { return a != tensor(b, a.dtype()); }
Booleans operator<(const AnyArray auto& a, const Tensor& b) { return b > a; }
Booleans operator<=(const AnyArray auto& a, const Tensor& b) { return b >= a; }
Booleans operator>(const AnyArray auto& a, const Tensor& b) { return b < a; }
Booleans operator>=(const AnyArray auto& a, const Tensor& b) { return b <= a; }
Booleans operator==(const AnyArray auto& a, const Tensor& b) { return b == a; }
Booleans operator!=(const AnyArray auto& a, const Tensor& b) { return b != a; }
///@}

}  // namespace heed
