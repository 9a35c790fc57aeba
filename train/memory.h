#pragma once
#include "train/config/config.h"

#include <heed/data/task.h>

#include <cstdint>
#include <string>

namespace heed {

// The bytes that training takes, worked out from sizes alone: an estimate from above.
struct MemoryNeed {
  std::int64_t parameters = 0, gradients = 0, moments = 0;
  std::int64_t activations = 0;  // of a step, or of an evaluation where that takes more
  std::int64_t checkpoint = 0;   // while it is written
  std::int64_t total() const { return parameters + gradients + moments + activations + checkpoint; }
};
// `parameters`: how many numbers the model has.
MemoryNeed memory_need(const Config& config, const Task& task, std::int64_t parameters);

// "3.2 GiB: parameters 0.8, gradients 0.8, moments 1.6, a step 0.01, writing a checkpoint 2.4"
std::string memory_text(const MemoryNeed& need);

// What this process can have: the machine's memory and swap, or less where a cgroup or ulimit -v gives less.
struct MemoryLimit {
  std::int64_t bytes;
  std::string of;  // "this machine", "its cgroup", "ulimit -v"
};
MemoryLimit memory_limit();

/// Returns a hint that names the longest sentence by file and line, with how many tokens it has and how many fit: "The longest
/// sentence, mine.jsonl:3, has 1000000 tokens; about 20000 fit: shorten or remove it. Or choose". "" where no sentence was
/// read from a file, and where a sentence of median length does not fit.
std::string longest_sentence(const Config& config, const Task& task, std::int64_t parameters, const MemoryLimit& limit);

/// Throws Error with the sum when `need` is more than `limit`; `hint`: what longest_sentence() says.
void check_memory(const MemoryNeed& need, const MemoryLimit& limit, const std::string& hint = "");

}  // namespace heed
