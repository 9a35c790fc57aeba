// The solution of step 9: AdamW, the optimiser that trains transformers.
#pragma once
#include "given/array.h"

#include <cmath>
#include <cstddef>
#include <vector>

namespace learn {

/// Constants of AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101).
struct AdamW {
  double lr = 0.001, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
};

/// What AdamW remembers between steps, of each parameter.
struct Moments {
  std::vector<double> m, v;  ///< running means of the gradient and of its square; both start at 0
  int t = 0;                 ///< steps so far
};

/// Updates the parameters p with their gradients g. p, g, m and v have the same size.
///
///     t = t + 1
///     p = p - lr weight_decay p
///     m = beta1 m + (1 - beta1) g
///     v = beta2 v + (1 - beta2) g^2
///     m_hat = m / (1 - beta1^t)        v_hat = v / (1 - beta2^t)
///     p = p - lr m_hat / (sqrt(v_hat) + eps)
inline void adamw_step(std::vector<double>& p, const std::vector<double>& g, Moments& moments, const AdamW& options) {
  // begin adamw_step
  const auto [lr, beta1, beta2, eps, weight_decay] = options;
  ++moments.t;
  for (std::size_t i = 0; i < p.size(); ++i) {
    double &m = moments.m[i], &v = moments.v[i];
    p[i] -= lr * weight_decay * p[i];
    m = beta1 * m + (1 - beta1) * g[i];
    v = beta2 * v + (1 - beta2) * g[i] * g[i];
    const double m_hat = m / (1 - std::pow(beta1, moments.t)), v_hat = v / (1 - std::pow(beta2, moments.t));
    p[i] -= lr * m_hat / (std::sqrt(v_hat) + eps);
  }
  // end adamw_step
}

}  // namespace learn
