#pragma once
#include <heed/autograd/tensor.h>

#include <vector>

namespace heed {

/// Returns the min(n, m) singular values of a matrix (n, m) in descending order. LAPACK's `dgesvd`, part of Debian's
/// OpenBLAS, computes them in double. Throws Error if the argument is not a matrix or not finite.
std::vector<double> singular_values(const Tensor& matrix);

}  // namespace heed
