#include "train/memory.h"

#include <heed/autograd/error.h>
#include <heed/explain/evaluation.h>
#include <heed/optim/update_rule.h>

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <limits>
#include <memory>
#include <sys/resource.h>
#include <sys/sysinfo.h>

namespace heed {
namespace {

constexpr std::int64_t evaluated_at_once = 128;  // examples, as in evaluate()

// Returns the number of tensors that the optimiser keeps for each parameter.
std::int64_t moments_of(const OptimizerOptions& options) {
  const std::unique_ptr<UpdateRule> rule = update_rule(zeros({1}), options);
  rule->update(zeros({1}), zeros({1}), {.t = 1, .rate = 0, .weight_decay = 0, .gradient_factor = 1})(0, 1);
  return std::ssize(rule->state());
}

struct Numbers {
  std::int64_t kept;    // per token and layer, until its backward pass: inputs and outputs of each operation
  std::int64_t passed;  // per token and layer, at once when nothing is kept
};
Numbers numbers_per_token(const TransformerConfig& model) {
  const BlockConfig& block = model.block;
  const AttentionConfig a = block.attention.complete();
  const bool is_fused = block.mlp.gated && block.mlp.activation == Activation::silu;
  const std::int64_t mlp =
      block.mlp.width * (is_fused ? 3 : function_of(block.mlp.activation).operations + (block.mlp.gated ? 3 : 1));
  const std::int64_t d = a.d_model, extra_norms = block.placement == NormPlacement::both ? 2 * d : 0;
  const std::int64_t passes = 1 + (a.query_key_norm != QueryKeyNorm::none) + (model.positions == Positions::rotary);
  const std::int64_t Q = a.heads * a.d_k, K = a.kv_heads * a.d_k, V = a.kv_heads * a.d_v, output = a.heads * a.d_v;
  return {.kept = 3 * d + extra_norms + passes * (Q + K) + V + 2 * output + (mlp > 0 ? 3 * d + mlp : 0),
          .passed = 3 * d + passes * (Q + K) + V + output + mlp};
}

// Returns the number in a file of the kernel; the largest integer when the file holds another text ("max").
std::int64_t number_in(const std::string& path) {
  std::int64_t number = 0;
  return std::ifstream(path) >> number && number > 0 ? number : std::numeric_limits<std::int64_t>::max();
}

// Returns the lowest limit of the cgroups that this process is in (version 2, or the memory hierarchy of version 1).
std::int64_t cgroup_limit() {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers != "memory") continue;
    const std::string root = controllers.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const char* file = controllers.empty() ? "/memory.max" : "/memory.limit_in_bytes";
    for (std::string path = line.substr(second + 1); true; path.resize(path.rfind('/'))) {
      least = std::min(least, number_in(root + path + file));
      if (path.find('/') == path.npos) break;
    }
  }
  return least;
}

// Returns the need of a task whose longest sentence has T tokens.
MemoryNeed need_of_length(const Config& config, const Task& task, std::int64_t parameters,
                          std::int64_t trained_parameters, std::int64_t T) {
  const TransformerConfig& model = config.model;
  const std::int64_t words = task.vocabulary.size();
  const std::int64_t B = config.train.batch_size / config.train.accumulate;  // at a time
  const Numbers per_token = numbers_per_token(model);
  // The numbers that a step holds: outputs of the embedding and the layers, and logits. The last layer computes mostly at
  // the query; its unused share covers the gradients of the outputs.
  const std::int64_t answers = task.corpus ? T : 1;  // per example, each with its own logits
  const bool is_masked = task.corpus && task.corpus->mask >= 0;
  const std::int64_t trained = is_masked ? T / 4 + 1 : answers;  // more than masked_share
  const auto length = static_cast<double>(T);  // its square, times other factors, may overflow an integer
  const double step =
      static_cast<double>(B) * (length * static_cast<double>(model.layers * per_token.kept + 6 * model.d_model()) +
                                static_cast<double>(trained * 3 * words));
  const std::int64_t examples = task.corpus ? std::min(windows_at_once(T, words), held_out_windows(*task.corpus))
                                            : std::min<std::int64_t>(evaluated_at_once, std::ssize(task.held_out));
  const double weights = task.corpus ? 0 : length * length * model.layers * model.heads();
  const double evaluation = static_cast<double>(examples) * (length * static_cast<double>(per_token.passed) + weights +
                                                             static_cast<double>(answers * 3 * words));
  MemoryNeed need;
  need.parameters = 4 * parameters;
  // Micro-batches are summed along a tree: one sum per level, besides the gradients of the current micro-batch.
  need.gradients = 4 * trained_parameters * (1 + std::bit_width(static_cast<unsigned>(config.train.accumulate - 1)));
  need.moments =
      4 * (moments_of(config.optim.options()) * trained_parameters + (config.train.average > 0 ? parameters : 0));
  // 4 bytes per number; a fifth of each block may be unused.
  need.activations = static_cast<std::int64_t>(std::min(5 * std::max(step, evaluation), 1e18));
  need.checkpoint = 2 * (need.parameters + need.moments);  // the bytes, and a copy of them after their header
  return need;
}

// Returns the lengths of all sentences that were read from files, and the longest of these.
std::pair<std::vector<std::int64_t>, const Example*> lengths_read(const Task& task) {
  std::vector<std::int64_t> lengths;
  const Example* most = nullptr;
  for (const std::vector<Example>* set : {&task.train, &task.held_out}) {
    for (const Example& example : *set) {
      if (example.source.text.empty()) continue;
      lengths.push_back(std::ssize(example.tokens));
      if (!most || example.tokens.size() > most->tokens.size()) most = &example;
    }
  }
  return {std::move(lengths), most};
}

}  // namespace

MemoryNeed memory_need(const Config& config, const Task& task, std::int64_t parameters, std::int64_t trained) {
  return need_of_length(config, task, parameters, trained, task.max_length);
}

MemoryNeed of_one_process(MemoryNeed need, const Config& config, int processes, int on_host) {
  if (processes == 1) return need;
  const int parts = config.train.accumulate, own = (parts + processes - 1) / processes;  // micro-batches
  // A sum per level of the tree, and twice as many where the processes have parts of different subtrees.
  const bool is_even = parts % processes == 0 && std::has_single_bit(static_cast<unsigned>(own));
  need.gradients = need.parameters * (1 + std::bit_width(static_cast<unsigned>(own - 1))) * (is_even ? 1 : 2);
  const std::int64_t average = config.train.average > 0 ? need.parameters : 0;
  if (config.train.shard_optimizer) need.moments = average + (need.moments - average) / processes;
  need.checkpoint /= on_host;
  return need;
}

std::string longest_sentence(const Config& config, const Task& task, std::int64_t parameters,
                             const MemoryLimit& limit) {
  auto [lengths, most] = lengths_read(task);
  if (task.corpus || !most) return "";
  const std::int64_t a_position = config.model.positions == Positions::learned ? config.model.d_model() : 0;
  std::int64_t fits = 0;  // tokens
  for (std::int64_t more = std::int64_t{1} << 30; more > 0; more /= 2) {
    const std::int64_t T = fits + more;
    const std::int64_t fewer = parameters - a_position * (task.max_length - T);
    const MemoryNeed need = need_of_length(config, task, fewer, fewer, T);
    if (need.total() <= limit.bytes) fits = T;
  }
  const auto median = lengths.begin() + std::ssize(lengths) / 2;
  std::ranges::nth_element(lengths, median);
  if (fits < *median) return "";  // most sentences are too long: the model is too large
  return fmt::format("The longest sentence, {}, has {} tokens; about {} fit: shorten or remove it. Or choose",
                     most->source.text, most->tokens.size(), fits);
}

std::string size_text(std::int64_t bytes) {
  constexpr std::array units{"KiB", "MiB", "GiB"};
  double size = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (size >= 999.5 && unit + 1 < units.size()) size /= 1024, ++unit;
  return fmt::format("{:.{}f} {}", size, size < 9.95 ? 1 : 0, units[unit]);
}

std::string memory_text(const MemoryNeed& need) {
  return fmt::format("{}: parameters {}, gradients {}, moments {}, a step {}, writing a checkpoint {}",
                     size_text(need.total()), size_text(need.parameters), size_text(need.gradients),
                     size_text(need.moments), size_text(need.activations), size_text(need.checkpoint));
}

MemoryLimit memory_limit() {
  struct sysinfo machine {};
  MemoryLimit limit{std::numeric_limits<std::int64_t>::max(), "this machine"};
  if (::sysinfo(&machine) == 0) {
    limit.bytes = static_cast<std::int64_t>(machine.totalram + machine.totalswap) * machine.mem_unit;
  }
  if (const std::int64_t group = cgroup_limit(); group < limit.bytes) limit = {group, "its cgroup"};
  rlimit address_space{};
  if (::getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY) {
    const auto given = static_cast<std::int64_t>(std::min<rlim_t>(address_space.rlim_cur, INT64_MAX));
    if (given < limit.bytes) limit = {given, "ulimit -v"};
  }
  return limit;
}

void check_memory(const MemoryNeed& need, const MemoryLimit& limit, const std::string& hint) {
  if (need.total() <= limit.bytes) return;
  fail("training needs {}; {} has {}. {} smaller model.d_model, model.layers, model.mlp or train.batch_size",
       memory_text(need), limit.of, size_text(limit.bytes), hint.empty() ? "Choose" : hint);
}

}  // namespace heed
