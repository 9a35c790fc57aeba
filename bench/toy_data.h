#pragma once
#include <heed/data/task.h>
#include <heed/files/safetensors.h>

#include <string>

namespace heed::bench {

Task toy_task();  // toy.yaml's, of its seed

// Integers as a twin reads them from a file: float64.
Tensor numbers(const Ids& ids);

// NAME.tokens, NAME.lengths, NAME.query and NAME.answer.
void add_batch(SafeTensors& content, const std::string& name, const Batch& batch);

}  // namespace heed::bench
