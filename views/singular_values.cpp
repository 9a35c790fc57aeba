#include "views/singular_values.h"

#include "autograd/cpu/blas.h"

#include <algorithm>
#include <cstddef>

namespace heed {

std::vector<double> singular_values(const Tensor& matrix) {
  if (matrix.rank() != 2) fail("singular_values: expected a matrix, got {}", to_string(matrix.shape()));
  if (!is_finite(matrix)) fail("singular_values: the matrix holds a number that is not finite");
  using Gesvd = void(const char* jobu, const char* jobvt, const int* m, const int* n, double* A, const int* lda,
                     double* S, double* U, const int* ldu, double* Vt, const int* ldvt, double* work, const int* lwork,
                     int* info, std::size_t jobu_length, std::size_t jobvt_length);
  const auto dgesvd = reinterpret_cast<Gesvd*>(cpu::blas_function("dgesvd_"));
  std::vector<double> A =
      matrix.to_vector();  // LAPACK is column-major and sees the transpose, which has the same singular values
  const int m = static_cast<int>(matrix.size(1)), n = static_cast<int>(matrix.size(0)), least = std::min(m, n);
  std::vector<double> values(static_cast<std::size_t>(least));
  if (least == 0) return values;
  std::vector<double> work(static_cast<std::size_t>(3 * least + 64 * (m + n)));  // block size up to 64
  const int lwork = static_cast<int>(work.size()), one = 1;
  int info = 0;
  double none = 0;
  dgesvd("N", "N", &m, &n, A.data(), &m, values.data(), &none, &one, &none, &one, work.data(), &lwork, &info, 1, 1);
  if (info != 0)
    fail("singular_values: LAPACK's dgesvd did not converge on {} (info {})", to_string(matrix.shape()), info);
  return values;
}

}  // namespace heed
