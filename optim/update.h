#pragma once
#include <heed/optim/optimizer.h>

namespace heed {

// The update of one parameter at step t, in one pass over its elements.
void update_sgd(Tensor parameter, const Tensor& gradient, Tensor* b, double lr, const OptimizerOptions& options);
void update_adam(Tensor parameter, const Tensor& gradient, Tensor& m, Tensor& v, std::int64_t t, double lr,
                 const OptimizerOptions& options);

}  // namespace heed
