#pragma once
#include <heed/autograd/record.h>
#include <heed/nn/parameters.h>

namespace heed {

/// Throws NotFinite when the `gradient` of `variable` holds infinity or NaN.
void check_finite(const char* function, const Tensor& variable, const Tensor& gradient);

/// Returns the Euclidean norm of all gradients together, summed in double; inf or NaN if one of them holds such a
/// value.
double global_norm(const Gradients& gradients);

/// Returns the factor that scales gradients of this norm to at most max_norm: max_norm / (norm + 1e-6) for a larger
/// norm (Pascanu et al. 2013, arXiv:1211.5063, algorithm 1; constant as in torch.nn.utils.clip_grad_norm_), else 1. A
/// norm that is not finite also gives 1, and step() then names the gradient. Throws Error unless max_norm > 0 and norm
/// >= 0. Passing the factor to step() saves a pass over the gradients compared with clip_by_global_norm(); the results
/// differ only by rounding:
///
///     optimizer.step(gradients, 3e-4, clip_factor(global_norm(gradients), 1));
double clip_factor(double norm, double max_norm);

/// Multiplies all gradients by their clip_factor(), which counts as a constant for recorded gradients. Returns the norm before
/// clipping. Throws NotFinite that names the first gradient with infinity or NaN, before changing any.
double clip_by_global_norm(Gradients& gradients, double max_norm);
/// Does the same for the gradients of these parameters alone: those of one network of two, whose loss depends on both.
double clip_by_global_norm(Gradients& gradients, double max_norm, const Parameters& parameters);

/// Limits each element of all gradients to [-limit, limit]. Throws Error unless limit > 0, and NotFinite that names the first gradient
/// with infinity or NaN, before changing any.
void clip_by_value(Gradients& gradients, double limit);

}  // namespace heed
