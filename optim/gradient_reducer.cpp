#include <heed/autograd/record.h>
#include <heed/optim/gradient_reducer.h>

#include <algorithm>

namespace heed {

Share share_of(std::int64_t count, int rank, int size) { return {count * rank / size, count * (rank + 1) / size}; }

std::unique_ptr<GradientSum> GradientReducer::gradient_sum(const Parameters& parameters,
                                                           const std::vector<double>& counts) const {
  return std::make_unique<GradientSum>(parameters, counts);
}

std::unique_ptr<Optimizer> GradientReducer::optimizer(const Parameters& parameters,
                                                      const OptimizerOptions& options) const {
  return std::make_unique<Optimizer>(parameters, options);
}

std::vector<double> GradientReducer::gather(std::span<const double> own) const { return {own.begin(), own.end()}; }

bool GradientReducer::any(bool flag) const {
  const double own = flag;
  return std::ranges::any_of(gather({&own, 1}), [](double each) { return each != 0; });
}

MeanGradients mean_gradients(const Parameters& parameters, const std::vector<double>& counts,
                             const std::function<Tensor(int part)>& loss, const GradientReducer& reducer) {
  const std::unique_ptr<GradientSum> sum = reducer.gradient_sum(parameters, counts);
  for (const int part : sum->parts()) {
    const Recording recording;
    sum->backward(loss(part));
  }
  return sum->mean();
}

}  // namespace heed
