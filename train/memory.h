#pragma once
#include "train/config/config.h"

#include <heed/data/task.h>

#include <cstdint>
#include <string>

namespace heed {

/// The bytes that training takes: an upper estimate, computed from sizes alone.
struct MemoryNeed {
  std::int64_t parameters = 0, gradients = 0, moments = 0;
  std::int64_t activations = 0;  // of a step, or of an evaluation if that takes more
  std::int64_t checkpoint = 0;   // while it is written
  std::int64_t total() const { return parameters + gradients + moments + activations + checkpoint; }
};
/// Returns the bytes that training takes. `parameters` is the number of elements of all parameters, `trained` of those that are not
/// frozen.
MemoryNeed memory_need(const Config& config, const Task& task, std::int64_t parameters, std::int64_t trained);

/// Returns what each of `processes` takes of `need`, of which `on_host` share this host. It sums the gradients of fewer
/// micro-batches and keeps, with train.shard_optimizer, a part of the moments. One process writes checkpoints: its need is
/// divided among those of the host.
MemoryNeed of_one_process(MemoryNeed need, const Config& config, int processes, int on_host);

/// Returns "88 KiB", "5.2 MiB" or "3510 GiB".
std::string size_text(std::int64_t bytes);

/// Returns "5.2 MiB: parameters 88 KiB, gradients 88 KiB, moments 176 KiB, a step 4.9 MiB, writing a checkpoint 528 KiB".
std::string memory_text(const MemoryNeed& need);

/// The memory that this process can use: the machine's memory and swap, or less if a cgroup or ulimit -v sets a lower
/// limit.
struct MemoryLimit {
  std::int64_t bytes;
  std::string of;  // "this machine", "its cgroup", "ulimit -v"
};
MemoryLimit memory_limit();

/// Returns a hint that names the longest sentence by file and line, with how many tokens it has and how many fit: "The longest
/// sentence, mine.jsonl:3, has 1000000 tokens; about 20000 fit: shorten or remove it. Or choose". "" where no sentence was
/// read from a file, and where a sentence of median length does not fit.
std::string longest_sentence(const Config& config, const Task& task, std::int64_t parameters, const MemoryLimit& limit);

/// Throws Error with the sum when `need` exceeds `limit`. `hint` is the result of longest_sentence().
void check_memory(const MemoryNeed& need, const MemoryLimit& limit, const std::string& hint = "");

}  // namespace heed
