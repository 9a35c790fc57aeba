// Backward over a part of the tape: down to some nodes, and of a function that is computed again.

#include "autograd/internal/pass.h"

#include <heed/autograd/ops.h>

#include <optional>

namespace heed {
namespace {

using tape::Pass, tape::Set, tape::Tape, tape::thread;

// Makes the tape forget the nodes from `first` on, at the end of the scope. Their numbers are not used again.
struct Forget {
  Tape& tape;
  const std::int64_t first = tape.size();
  const std::size_t edges = tape.edges.size(), saved = tape.saved.size();

  explicit Forget(Tape& all) : tape(all) {}
  Forget(const Forget&) = delete;
  ~Forget() {
    for (std::int64_t n = first; n < tape.size(); ++n) {
      tape::Node& node = tape[n];
      node.operation = nullptr;
      node.backward.reset();
      node.edges = node.saved = 0;
      node.layer = tape::Node::forgotten;
    }
    std::erase_if(tape.leaves, [&](const auto& leaf) { return leaf.second.node >= first; });
    tape.edges.resize(edges);
    tape.saved.resize(saved);
  }
};

}  // namespace

std::vector<Tensor> tape::recorded_gradients(const Tensor& output, const Tensor& cotangent,
                                             const std::vector<std::int64_t>& at) {
  check_output(output, cotangent, true);
  const std::int64_t last = node_of(output);
  Pass pass(*thread.tape, 0, true);
  pass.lead_to(at, last);
  pass.run(last, cotangent, {});
  std::vector<Tensor> gradients;
  for (const std::int64_t node : at) {
    gradients.push_back(node <= last && pass.at(node) ? *pass.at(node) : Tensor());
  }
  return gradients;
}

std::vector<Tensor> tape::gradients_at(const std::vector<std::int64_t>& at, const Tensor& dy,
                                       const std::function<Tensor()>& f) {
  Tape& tape = *thread.tape;
  const bool records = !thread.paused;
  std::optional<Forget> forget;
  if (!records) forget.emplace(tape);
  const std::int64_t first = tape.size();
  Tensor y;
  {
    const Set<bool> resume(thread.paused, false), audible(thread.silent, false);
    y = f();
  }
  if (!y.defined() || y.shape() != dy.shape() || y.dtype() != dy.dtype()) {
    fail("backward: a function gave {} {}, and {} when it was computed again", to_string(dy.dtype()),
         to_string(dy.shape()),
         y.defined() ? fmt::format("{} {}", to_string(y.dtype()), to_string(y.shape())) : "an undefined tensor");
  }
  for (const auto& [number, leaf] : tape.leaves) {
    if (leaf.node >= first) fail("backward: a function used {} only when it was computed again", described(leaf.value));
  }
  Pass pass(tape, first, records);
  const std::int64_t last = node_of(y);
  if (last >= first) {
    pass.run(last, dy, {});
  } else if (last >= 0) {
    pass.at(last) = std::make_unique<Tensor>(dy);
  }
  std::vector<Tensor> gradients;
  for (const std::int64_t node : at) gradients.push_back(pass.at(node) ? *pass.at(node) : Tensor());
  return gradients;
}

std::vector<Tensor> Recorder::gradients_of(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                                           const std::vector<Tensor>& inputs, const Tensor& dy) {
  std::vector<Tensor> own;  // a node for each input, even if two inputs are one tensor
  std::vector<std::int64_t> nodes;
  std::vector<std::size_t> places;
  for (const Tensor& input : inputs) {
    own.push_back(input.defined() ? reshape(input, input.shape()) : input);
    if (own.back().tape_node().recording == 0) continue;
    nodes.push_back(own.back().tape_node().node);
    places.push_back(own.size() - 1);
  }
  const std::vector<Tensor> found = tape::gradients_at(nodes, dy, [&] { return f(own); });
  std::vector<Tensor> gradients(inputs.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Tensor& input = inputs[places[i]];
    gradients[places[i]] = found[i].defined() ? found[i] : sum(dy) * zeros(input.shape(), input.dtype());
  }
  return gradients;
}

}  // namespace heed
