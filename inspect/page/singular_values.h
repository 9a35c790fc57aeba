#pragma once
#include <heed/autograd/tensor.h>

#include <vector>

namespace heed {

// The singular values of a matrix (n, m), the largest first: min(n, m) of them, computed in double by one-sided Jacobi
// rotations (Hestenes 1958; Golub & Van Loan, section 8.6.3). Error for what is no matrix or not finite.
std::vector<double> singular_values(const Tensor& matrix);

}  // namespace heed
