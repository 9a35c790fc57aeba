"""The solution of step 3: the product of two matrices, and its gradients.

Matrices are NumPy arrays: A[i, k] is an element, A.shape[0] the number of rows, np.zeros((2, 3)) a new matrix of zeros. Write the loops; A @ B would do it for you.
"""

import numpy as np


def matmul(A, B):
    """C = A B:  C_ij = sum over k of A_ik B_kj.  A (n, k), B (k, m) -> C (n, m)"""
    # begin matmul
    C = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            for j in range(B.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
    return C
    # end matmul


def transposed(X):
    """Y = X^T:  Y_ij = X_ji.  X (n, m) -> Y (m, n)"""
    # begin transposed
    Y = np.zeros((X.shape[1], X.shape[0]))
    for i in range(Y.shape[0]):
        for j in range(Y.shape[1]):
            Y[i, j] = X[j, i]
    return Y
    # end transposed


def matmul_backward(dC, A, B):
    """Returns the gradients (dA, dB) of C = A B. A_ik occurs in row i of C, with B_kj as its factor in column j:

        dA_ik = sum over j of dC_ij B_kj      dA = dC B^T
        dB_kj = sum over i of A_ik dC_ij      dB = A^T dC
    """
    # begin matmul_backward
    return matmul(dC, transposed(B)), matmul(transposed(A), dC)
    # end matmul_backward
