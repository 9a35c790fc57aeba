#include <heed/nn/adapter.h>
#include <heed/nn/layers.h>

namespace heed {

Linear::Linear(Scope scope, int in, int out, LinearOptions options)
    : name(scope.name()),
      weight(scope.parameter("weight", {in, out}, options.init, std::make_shared<Adapter>())),
      bias(options.bias ? scope.parameter("bias", {out}, options.bias_init) : Tensor()) {}

Tensor Linear::operator()(const Tensor& x) const {
  const LayerScope scope(name);
  return Hook::shown_output(name, adapted(x, weight, linear(x, weight, bias)));
}

Linearised Linear::linearised(std::int64_t begin, std::int64_t end) const {
  if (end < 0) end = weight.size(1);
  const Tensor columns = slice(merged(weight), 1, begin, end);
  return {[columns](const Tensor& parts) { return matmul(parts, columns); },
          bias.defined() ? slice(bias, 0, begin, end) : Tensor()};
}

Embedding::Embedding(Scope scope, int count, int d, double deviation)
    : name(scope.name()),
      weight(scope.parameter("weight", {count, d}, Init::normal(deviation))),
      dtype(scope.dtype()) {}

Tensor Embedding::operator()(const Ids& ids) const {
  const LayerScope scope(name);
  const Tensor rows = embedding(weight, ids);  // constants of another dtype where the weight is only stored
  return Hook::shown_output(name, rows.dtype() == dtype ? rows : rows.to(dtype));
}

}  // namespace heed
