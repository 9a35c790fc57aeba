#pragma once
#include <heed/optim/optimizer.h>

namespace heed {

// The update of one parameter at step t by gradient_factor times its gradient, in one pass over its elements.
// `weight_decay` is that of the parameter's group.
void update_sgd(Tensor parameter, const Tensor& gradient, double gradient_factor, Tensor* b, double lr,
                double weight_decay, const OptimizerOptions& options);
void update_adam(Tensor parameter, const Tensor& gradient, double gradient_factor, Tensor& m, Tensor& v, std::int64_t t,
                 double lr, double weight_decay, const OptimizerOptions& options);

}  // namespace heed
