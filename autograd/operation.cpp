#include <heed/autograd/operation.h>

namespace heed {
namespace {

std::vector<const Operation*>& registry() {
  static std::vector<const Operation*> all;
  return all;
}

}  // namespace

Operation::Operation(const char* name, const char* formula, const char* derivative, Samples samples,
                     const OperationOptions& options)
    : name_(name), formula_(formula), derivative_(derivative), samples_(samples), options_(options) {
  registry().push_back(this);
}

const std::vector<const Operation*>& operations() { return registry(); }

Tensor NeedsInputGrad::take_total() const {
  if (!total_ || !*total_ || !(*total_)->may_be_overwritten()) return {};
  return std::move(*std::exchange(*total_, nullptr));
}

Tensor NeedsInputGrad::take_total_or_zeros(const Shape& shape, DType dtype) const {
  const Tensor total = take_total();
  return total.defined() ? total : zeros(shape, dtype);
}

Tensor NeedsInputGrad::input_without_numbers(std::size_t input) const { return Recorder::at_node(inputs_[input]); }

}  // namespace heed
