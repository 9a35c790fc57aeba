// The solution of step 3: the product of two matrices, and its gradients. What you need of given/array.h:
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
  // begin matmul
  Array C({A.rows(), B.columns()});
  for (int i = 0; i < A.rows(); ++i)
    for (int k = 0; k < A.columns(); ++k)
      for (int j = 0; j < B.columns(); ++j) C(i, j) += A(i, k) * B(k, j);
  return C;
  // end matmul
}

/// Y = X^T:  Y_ij = X_ji.  X (n, m) -> Y (m, n)
inline Array transposed(const Array& X) {
  // begin transposed
  Array Y({X.columns(), X.rows()});
  for (int i = 0; i < Y.rows(); ++i)
    for (int j = 0; j < Y.columns(); ++j) Y(i, j) = X(j, i);
  return Y;
  // end transposed
}

/// Returns the gradients (dA, dB) of C = A B. A_ik occurs in row i of C, with B_kj as its factor in column j:
///
///     dA_ik = sum over j of dC_ij B_kj      dA = dC B^T
///     dB_kj = sum over i of A_ik dC_ij      dB = A^T dC
inline std::pair<Array, Array> matmul_backward(const Array& dC, const Array& A, const Array& B) {
  // begin matmul_backward
  return {matmul(dC, transposed(B)), matmul(transposed(A), dC)};
  // end matmul_backward
}

}  // namespace learn
