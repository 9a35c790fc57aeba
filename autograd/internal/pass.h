#pragma once
#include "autograd/internal/tape.h"

namespace heed::tape {

using Take = std::function<void(const Tensor& variable, Tensor gradient)>;

// Throws Error unless backward() can begin at `output`.
void check_output(const Tensor& output, const Tensor& cotangent, bool records);

// One way from an output back to node `first`. (backward.cpp)
class Pass {
 public:
  Pass(Tape& all, std::int64_t first_node, bool recorded) : tape(all), first(first_node), records(recorded) {}

  // Leaves the gradients at the variables, at the nodes before `first`, and at targets, if there are some.
  void run(std::int64_t output, const Tensor& cotangent, const Take& take);
  void reserve(std::int64_t output) { gradient.resize(static_cast<std::size_t>(output - first) + 1); }
  // Computes only the gradients that lead to these nodes.
  void lead_to(const std::vector<std::int64_t>& targets, std::int64_t output);
  std::unique_ptr<Tensor>& at(std::int64_t node) {
    return node < first ? before[node] : gradient[static_cast<std::size_t>(node - first)];
  }

 private:
  enum class Lead : std::uint8_t { none, there, target };
  bool is_target(std::int64_t node) const {
    return !leads.empty() && leads[static_cast<std::size_t>(node)] == Lead::target;
  }
  void go_through(const Node& node, const Tensor& dy);

  Tape& tape;
  const std::int64_t first;
  const bool records;
  std::vector<std::unique_ptr<Tensor>> gradient;                       // of the nodes from `first` on
  std::unordered_map<std::int64_t, std::unique_ptr<Tensor>> before{};  // of nodes before it
  std::vector<Lead> leads{};                                           // by node; empty: every gradient is computed
  std::vector<std::int64_t> own{};                                     // inputs of the node
};

}  // namespace heed::tape
