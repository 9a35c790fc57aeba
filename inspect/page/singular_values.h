#pragma once
#include <heed/autograd/tensor.h>

#include <vector>

namespace heed {

// The singular values of a matrix (n, m), the largest first: min(n, m) of them, computed in double by LAPACK's dgesvd, which
// Debian's OpenBLAS holds. Error for what is no matrix or not finite.
std::vector<double> singular_values(const Tensor& matrix);

}  // namespace heed
