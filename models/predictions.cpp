#include <heed/models/predictions.h>

#include <algorithm>

namespace heed {

std::int64_t predictions(const Model& model, const TrainingBatch& batch) {
  const auto* windows = std::get_if<Windows>(&batch);
  const Ids labels = windows ? windows->next : right_answers(model, std::get<Batch>(batch));
  return std::count_if(labels.data(), labels.data() + labels.numel(), [](std::int32_t label) { return label >= 0; });
}

}  // namespace heed
