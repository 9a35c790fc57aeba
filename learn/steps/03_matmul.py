"""Step 3: the product of two matrices, and its gradients.

Matrices are NumPy arrays: A[i, k] is an element, A.shape[0] the number of rows, np.zeros((2, 3)) a new matrix of zeros. Write the loops; A @ B would do it for you.
"""

import numpy as np


def matmul(A, B):
    """C = A B:  C_ij = sum over k of A_ik B_kj.  A (n, k), B (k, m) -> C (n, m)"""
    raise NotImplementedError("matmul")  # your code here


def transposed(X):
    """Y = X^T:  Y_ij = X_ji.  X (n, m) -> Y (m, n)"""
    raise NotImplementedError("transposed")  # your code here


def matmul_backward(dC, A, B):
    """Returns the gradients (dA, dB) of C = A B. A_ik occurs in row i of C, with B_kj as its factor in column j:

        dA_ik = sum over j of dC_ij B_kj      dA = dC B^T
        dB_kj = sum over i of A_ik dC_ij      dB = A^T dC
    """
    raise NotImplementedError("matmul_backward")  # your code here
