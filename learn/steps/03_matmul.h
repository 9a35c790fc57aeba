// Step 3: the product of two matrices, and its gradients. What you need of given/array.h:
//
//     Array C({2, 3});               zeros in two rows and three columns
//     A.rows()   A.columns()         the sizes of a matrix
//     C(i, j) += A(i, k) * B(k, j)   reads and writes elements, counted from 0
#pragma once
#include "given/array.h"

#include <utility>

namespace learn {

/// C = A B:  C_ij = sum over k of A_ik B_kj.  A (n, k), B (k, m) -> C (n, m)
inline Array matmul(const Array& A, const Array& B) {
  throw NotWritten("matmul");  // your code here
}

/// Y = X^T:  Y_ij = X_ji.  X (n, m) -> Y (m, n)
inline Array transposed(const Array& X) {
  throw NotWritten("transposed");  // your code here
}

/// Returns the gradients (dA, dB) of C = A B. A_ik occurs in row i of C, with B_kj as its factor in column j:
///
///     dA_ik = sum over j of dC_ij B_kj      dA = dC B^T
///     dB_kj = sum over i of A_ik dC_ij      dB = A^T dC
inline std::pair<Array, Array> matmul_backward(const Array& dC, const Array& A, const Array& B) {
  throw NotWritten("matmul_backward");  // your code here
}

}  // namespace learn
