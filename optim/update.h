#pragma once
#include <heed/optim/optimizer.h>

#include <functional>

namespace heed {

/// Updates elements [begin, end) of a parameter in one pass. Any thread may call it. Update each element exactly once.
using Update = std::function<void(std::int64_t begin, std::int64_t end)>;

/// Return the update of one parameter at step t, by gradient_factor times its gradient. `weight_decay` is that of the
/// parameter's group.
Update sgd_update(Tensor parameter, const Tensor& gradient, double gradient_factor, Tensor* b, double lr,
                  double weight_decay, const OptimizerOptions& options);
/// Returns the update of Adam and its variants.
Update adam_update(Tensor parameter, const Tensor& gradient, double gradient_factor, Tensor& m, Tensor& v,
                   std::int64_t t, double lr, double weight_decay, const OptimizerOptions& options);

}  // namespace heed
