#pragma once
#include <heed/data/task.h>
#include <heed/formats/safetensors.h>

#include <string>

namespace heed::bench {

Task toy_task();  // the task of toy.yaml, with its seed

// Returns integers as float64, as a peer reads them from a file.
Tensor numbers(const Ids& ids);

// Adds NAME.tokens, NAME.lengths, NAME.query and NAME.answer.
void add_batch(SafeTensors& content, const std::string& name, const Batch& batch);

}  // namespace heed::bench
