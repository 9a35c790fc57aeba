#include "bench/toy_data.h"

#include <heed/formats/datasets/tasks.h>

namespace heed::bench {

Task toy_task() {
  return make_task({.kind = TaskKind::coreference, .sentences = 4000, .held_out = 1000}, Random(11).stream("data"));
}

Tensor numbers(const Ids& ids) {
  return tensor(ids.shape(), std::vector<double>(ids.data(), ids.data() + ids.numel()), DType::float64);
}

void add_batch(SafeTensors& content, const std::string& name, const Batch& batch) {
  const std::vector<double> lengths(batch.lengths.begin(), batch.lengths.end());
  content.tensors.emplace_back(name + ".tokens", numbers(batch.tokens));
  content.tensors.emplace_back(name + ".lengths", tensor({std::ssize(lengths)}, lengths, DType::float64));
  content.tensors.emplace_back(name + ".query", numbers(batch.query));
  content.tensors.emplace_back(name + ".answer", numbers(batch.answer));
}

}  // namespace heed::bench
