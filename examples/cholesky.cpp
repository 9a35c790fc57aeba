// Linear algebra as an operation of one's own: the inverse of a Cholesky factor. It gives linear systems and determinants of positive
// definite matrices, here the marginal likelihood of a Gaussian process (Rasmussen and Williams 2006, equation 2.30), whose length
// scale, height and noise are learned.
#include <heed/autograd/operation.h>
#include <heed/heed.h>

#include <cmath>
#include <numbers>

using namespace heed;

Tensor inverse_cholesky(const Tensor& A);
static const Operation inverse_cholesky_operation(
    "inverse_cholesky", "M = L^-1 with A = L L^T, so M A M^T = I",
    "dA = -(S + S^T) / 2 with S = M^T tril(dM M^T) M, where tril halves the diagonal", [] {
      return std::vector<GradientSample>{{"(4, 4)", {{{4, 4}}}, [](const std::vector<Tensor>& v) {
                                            return inverse_cholesky(matmul(v[0], transpose(v[0])) +
                                                                    one_hot(arange_ids(4), 4, v[0].dtype()));
                                          }}};
    });

/// Returns M = L^-1 of a symmetric positive definite matrix A = L L^T: (n, n) -> (n, n). It reads the lower triangle of A.
/// L is A M^T, the inverse of A is M^T M, the solution of A x = b is M^T (M b), and log det A is -2 sum(log(diagonal of M)).
Tensor inverse_cholesky(const Tensor& A) {
  if (A.rank() != 2 || A.size(0) != A.size(1)) fail("inverse_cholesky: {} is not square", to_string(A.shape()));
  const std::int64_t n = A.size(0);
  std::vector<double> l = A.to_vector(), m(l.size());  // row-major
  for (std::int64_t j = 0; j < n; ++j) {
    double *row = &l[j * n], *inverse = &m[j * n];
    for (std::int64_t i = 0; i <= j; ++i) {
      for (std::int64_t k = 0; k < i; ++k) row[i] -= row[k] * l[i * n + k];
      if (i == j && !(row[j] > 0))
        fail("inverse_cholesky: the matrix is not positive definite, as its row {} shows", j);
      row[i] = i == j ? std::sqrt(row[j]) : row[i] / l[i * n + i];
    }
    inverse[j] = 1;
    for (std::int64_t k = 0; k < j; ++k) {
      for (std::int64_t i = 0; i <= k; ++i) inverse[i] -= row[k] * m[k * n + i];
    }
    for (std::int64_t i = 0; i <= j; ++i) inverse[i] /= row[j];
  }
  const Tensor M = tensor({n, n}, m, A.dtype());
  return record(inverse_cholesky_operation, {&A}, M, Saved(M), Recordable([](const Tensor& dM, const Tensor& Y) {
                  const Tensor P = matmul(dM, transpose(Y)), half = 0.5 * (tril(P) + tril(P, -1));
                  const Tensor S = matmul(transpose(Y), matmul(half, Y));
                  return std::vector{-0.5 * (S + transpose(S))};
                }));
}

struct GaussianProcess {
  Parameter length, height, noise;  // their logarithms
  explicit GaussianProcess(const Scope& scope)
      : length(scope.parameter("length", {}, Init::zeros())),
        height(scope.parameter("height", {}, Init::zeros())),
        noise(scope.parameter("noise", {}, Init::constant(-1))) {}
  Tensor covariance(const Tensor& x, const Tensor& y) const {  // (n), (m) -> (n, m)
    return exp(2 * height - 0.5 * square(unsqueeze(x, 1) - y) / exp(2 * length));
  }
  Tensor inverse_factor(const Tensor& x) const {
    const int n = static_cast<int>(x.size(0));
    return inverse_cholesky(covariance(x, x) + exp(2 * noise) * one_hot(arange_ids(n), n, x.dtype()));
  }
};

int main() {
  const CheckReport report = check(inverse_cholesky_operation);  // throws if it passes with 1 % too much
  fmt::print("gradients {}, {} entries\n", report.passed ? "pass" : "fail", report.entries);

  const int n = 60;
  const Tensor x = arange(0, n, 1, DType::float64) / 10,
               y = sin(2 * x) + 0.2 * sin(37 * x * x);  // a wave with disturbances
  Parameters parameters;
  const GaussianProcess process(Scope(parameters, 1, DType::float64));
  Optimizer adam(parameters);
  for (int step = 0; step <= 200; ++step) {
    const Recording recording;
    const Tensor M = process.inverse_factor(x), whitened = matmul(M, unsqueeze(y, 1));
    const Tensor loss =
        (0.5 * sum(square(whitened)) - sum(log(einsum("ii->i", M)))) / n + 0.5 * std::log(2 * std::numbers::pi);
    if (step % 100 == 0) fmt::print("step {:3}  negative log likelihood per point {:.8f}\n", step, loss.item());
    adam.step(backward(loss), 0.05);
  }
  fmt::print("length {:.6f}  height {:.6f}  noise {:.6f}\n", exp(process.length).item(), exp(process.height).item(),
             exp(process.noise).item());

  const Tensor points = tensor({3}, {1.05, 3.05, 8.0}, DType::float64);  // two between the data, one beyond them
  const Tensor M = process.inverse_factor(x), k = matmul(M, process.covariance(x, points));  // (n, 3)
  const Tensor mean = matmul(transpose(k), matmul(M, unsqueeze(y, 1)));
  const Tensor deviation = sqrt(exp(2 * process.height) - sum(square(k), 0));
  fmt::print("mean {:.6f}\ndeviation {:.6f}\n", fmt::join(mean.to_vector(), " "),
             fmt::join(deviation.to_vector(), " "));
}
