// backward(): one loop over the tape from the output to the first node. A recorded backward is the same loop: the operations with which
// the backward functions compute are appended to the tape while the loop goes down. Their numbers are greater than the output's, so
// a later backward() differentiates through them, to any order. While nodes are appended, references into the tape's vectors do not hold.

#include "autograd/cpu/kernels.h"
#include "autograd/internal/pass.h"

#include <heed/autograd/autocast.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/profile.h>

#include <algorithm>
#include <utility>

namespace heed {
namespace {

using tape::Pass, tape::SavedTensor, tape::Set, tape::Take, tape::Tape, tape::thread;

// Returns the gradient contiguous, in memory of its own: gradients of x + y are one tensor until then, and may be the cotangent.
Tensor separate(Tensor gradient) {
  return Recorder::of_gradients(gradient.may_be_overwritten() ? std::move(gradient) : gradient.clone());
}

bool is_attached(const Tensor& x) { return x.tape_node().recording != 0 || tape::takes_gradient(x); }

Tensor checked_gradient(const Operation& operation, std::size_t input, const Tensor& gradient, const tape::Node& node) {
  if (!gradient.defined()) fail("backward of {}: no gradient for input {}", operation.name(), input);
  if (gradient.dtype() != node.dtype) {
    fail("backward of {}: input {} is {}, its gradient {}", operation.name(), input, to_string(node.dtype),
         to_string(gradient.dtype()));
  }
  if (gradient.shape() == node.shape) return gradient;
  if (!operation.broadcasts() || !cpu::broadcasts_to(node.shape, gradient.shape())) {
    fail("backward of {}: input {} has shape {}, its gradient {}", operation.name(), input, to_string(node.shape),
         to_string(gradient.shape()));
  }
  return cpu::sum_to(gradient, Shape(node.shape));  // a copy: the sum may be recorded
}

void accumulate(std::unique_ptr<Tensor>& total, const Tensor& gradient, bool records) {
  if (!total) {
    total = std::make_unique<Tensor>(gradient);
  } else if (!records && total->may_be_overwritten()) {
    add_in_place(*total, gradient);
  } else {
    *total = *total + gradient;
  }
}

void check_leaves_unchanged(const Tape& tape) {
  const tape::Leaf* first = nullptr;
  for (const auto& [number, leaf] : tape.leaves) {
    if (leaf.value.version() != leaf.version && (!first || leaf.node < first->node)) first = &leaf;
  }
  if (!first) return;
  fail(
      "backward: {} was written after it was recorded; call backward before the optimiser's step, and open a new "
      "Recording after it",
      described(first->value));
}

[[noreturn]] void fail_written(const tape::Node& node, const SavedTensor& saved) {
  const std::string shape = to_string(saved.tensor->shape()), &parameter = saved.tensor->name();
  if (saved.input == SavedTensor::other) {
    fail(
        "backward of {}: a tensor of shape {} that it keeps was written; it may be a gradient from an earlier "
        "backward; write to a clone()",
        node.operation->name(), shape);
  }
  fail(
      "backward of {}: the memory of {}{}, of shape {}, was written after the operation, but its gradient needs the "
      "old values; write to a clone(), or after backward",
      node.operation->name(), role_of(saved), parameter.empty() ? "" : fmt::format(" (parameter '{}')", parameter),
      shape);
}

[[noreturn]] void fail_of_gradients(const std::string& what) {
  fail(
      "{} was computed from the gradients of an earlier backward(), which were not recorded; for second derivatives, "
      "call that backward(loss, {{.record = true}}); to use a gradient as a constant, take its detach()",
      what);
}

// Throws Error if the backward of a node cannot be recorded.
void check_recordable(const Tape& tape, const tape::Node& node) {
  const Operation& operation = *node.operation;
  if (node.backward->record() == Backward::Record::never) {
    const char* const reason = operation.reason_for_no_second();
    fail("backward of {}: it cannot be recorded, so second derivatives are not available{}{}", operation.name(),
         reason ? ": " : "; its backward must be Recordable", reason ? reason : "");
  }
  if (node.backward->record() == Backward::Record::other) return;
  tape.for_each_saved(node, [&](const SavedTensor& saved) {
    const bool is_constant =
        saved.input >= 0 && tape.edges[node.first_edge + static_cast<std::size_t>(saved.input)] == tape::constant;
    if (is_constant || is_attached(*saved.tensor) || saved.tensor->tape_node().node < 0) return;
    fail(
        "backward of {}: it keeps a tensor of shape {} that is no input and not the output, so second derivatives are "
        "not available; save inputs and the output as they are, or give record() a second function",
        operation.name(), to_string(saved.tensor->shape()));
  });
}

}  // namespace

namespace tape {

void Pass::run(std::int64_t output, const Tensor& cotangent, const Take& take) {
  reserve(output);
  gradient.back() = std::make_unique<Tensor>(records ? cotangent : cotangent.detach());
  std::unordered_map<std::int64_t, const Tensor*> variables;  // by their nodes
  if (take) {
    for (const auto& [number, leaf] : tape.leaves) variables[leaf.node] = &leaf.value;
  }
  for (std::int64_t n = output; n >= first; --n) {
    std::unique_ptr<Tensor>& total = gradient[static_cast<std::size_t>(n - first)];
    if (!total) continue;
    const Node& node = tape[n];
    if (node.operation) {
      const Tensor dy = is_target(n) ? *total : *std::exchange(total, {});
      go_through(node, dy);
    } else if (node.layer == Node::forgotten) {
      fail(
          "backward: the output depends on a tensor that a function kept while checkpoint() computed it again; "
          "return it instead");
    } else if (take) {  // every operation that uses the variable comes after it
      take(*variables[n], separate(std::move(*std::exchange(total, {}))));
    }
  }
}

void Pass::lead_to(const std::vector<std::int64_t>& targets, std::int64_t output) {
  leads.assign(static_cast<std::size_t>(output) + 1, Lead::none);
  for (const std::int64_t node : targets) {
    if (node <= output) leads[static_cast<std::size_t>(node)] = Lead::target;
  }
  const auto lowest = std::ranges::min_element(targets);
  for (std::int64_t n = lowest == targets.end() ? output : *lowest; n <= output; ++n) {
    const Node& node = tape[n];
    Lead& lead = leads[static_cast<std::size_t>(n)];
    for (std::size_t i = 0; i < node.edges && lead == Lead::none; ++i) {
      const std::int64_t input = tape.edges[node.first_edge + i];
      if (input >= 0 && leads[static_cast<std::size_t>(input)] != Lead::none) lead = Lead::there;
    }
  }
}

void Pass::go_through(const Node& node, const Tensor& dy) {
  const LayerScope layer(tape.layers[node.layer]);
  tape.for_each_saved(node, [&](const SavedTensor& saved) {
    if (static_cast<std::uint32_t>(saved.tensor->version()) != saved.version) fail_written(node, saved);
  });
  const std::size_t first_edge = node.first_edge, count = node.edges;
  const std::int64_t* inputs = tape.edges.data() + first_edge;
  const bool has_own = records || !leads.empty();
  if (has_own) {  // recording moves the tape's edges
    own.assign(inputs, inputs + count);
    bool is_needed = false;
    for (std::int64_t& input : own) {
      if (input >= 0 && !leads.empty() && leads[static_cast<std::size_t>(input)] == Lead::none) input = constant;
      is_needed = is_needed || input >= 0;
    }
    if (!is_needed) return;
    inputs = own.data();
  }
  const Operation& operation = *node.operation;
  if (records) check_recordable(tape, node);
  std::unique_ptr<Tensor>* so_far = count == 1 && inputs[0] >= 0 ? &at(inputs[0]) : nullptr;
  const NeedsInputGrad needs(inputs, so_far);
  const Autocast as_recorded(node.precision);
  const Backward& backward = *node.backward;
  std::vector<Tensor> dx =
      records && backward.record() == Backward::Record::other ? backward.recorded(dy, needs) : backward(dy, needs);
  if (thread.tape != &tape) fail("backward of {}: it opened a Recording and did not close it", operation.name());
  if (!has_own) inputs = tape.edges.data() + first_edge;  // checkpoint() may have moved them, and the node
  if (dx.size() != count) {
    fail("backward of {}: expected one gradient per input ({}), got {}", operation.name(), count, dx.size());
  }
  double bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (inputs[i] == of_gradients) fail_of_gradients(fmt::format("backward of {}: input {}", operation.name(), i));
    if (inputs[i] == constant) continue;
    const Tensor checked = checked_gradient(operation, i, std::exchange(dx[i], {}), tape[inputs[i]]);
    if (records && is_attached(dy) && !is_attached(checked)) {
      fail(
          "backward of {}: the gradient of input {} was not computed from dy by operations, so second derivatives "
          "are not available",
          operation.name(), i);
    }
    std::unique_ptr<Tensor>& total = at(inputs[i]);
    accumulate(total, checked, records);
    if (FiniteCheck::is_open()) FiniteCheck::check_gradient(operation, i, *total);
    bytes += static_cast<double>(checked.bytes());
  }
  // the minimal bytes that the backward reads and writes: dy and the gradient of each input
  if (!records && is_profiling())
    note_work(fmt::format("{} backward", operation.name()), bytes + static_cast<double>(dy.bytes()));
}

void check_output(const Tensor& output, const Tensor& cotangent, bool records) {
  if (!output.defined() || !cotangent.defined()) fail("backward: the output or its cotangent is undefined");
  const Tape* const own = thread.tape;
  if (!own || !takes_gradient(output)) {
    if (output.tape_node().node < 0) fail_of_gradients("backward: the output");
    if (output.is_variable() || output.tape_node().recording == 0) {
      fail(
          "backward: the output, of shape {}, was not recorded: no Recording was open, a NoRecording was, or it "
          "depends on no variable (frozen variables do not count)",
          to_string(output.shape()));
    }
    if (!own || output.tape_node().recording != own->id) {
      fail(
          "backward: the output, of shape {}, belongs to a recording that has ended or to another thread's; "
          "call backward() before the end of the Recording",
          to_string(output.shape()));
    }
  }
  if (cotangent.shape() != output.shape() || cotangent.dtype() != output.dtype()) {
    fail("backward: the cotangent must be {} {} like the output, got {} {}", to_string(output.dtype()),
         to_string(output.shape()), to_string(cotangent.dtype()), to_string(cotangent.shape()));
  }
  check_leaves_unchanged(*own);
  if (records && (thread.silent || thread.paused)) {
    fail("backward: {{.record = true}} needs an open Recording, but {}",
         thread.silent ? "a NoRecording is open" : "another backward() is at work");
  }
}

}  // namespace tape

namespace {

// Accumulates into the gradients of `total` in place. If `take` is not empty, it gets the gradients instead.
Gradients backward_onto(Gradients total, const Tensor& output, const Tensor& cotangent, const Take& take = {},
                        bool records = false) {
  tape::check_output(output, cotangent, records);
  Tape& tape = *thread.tape;
  const Set<bool> pause(thread.paused, !records);
  if (tape::takes_gradient(output)) {  // dv/dv
    if (take) {
      take(output, separate(cotangent));
      return {};
    }
    Gradients own;
    Recorder::set(own, output, records ? cotangent : separate(cotangent));
    return total += std::move(own);
  }
  const std::int64_t last = output.tape_node().node;
  Pass pass(tape, 0, records);
  pass.reserve(last);
  for (auto& [variable, sum] : total) {
    const auto leaf = tape.leaves.find(variable.tape_node().node);
    if (leaf == tape.leaves.end() || leaf->second.node >= last) continue;
    pass.at(leaf->second.node) = std::make_unique<Tensor>(std::exchange(sum, {}).detach());
  }
  pass.run(last, cotangent, take);
  for (const auto& [number, leaf] : tape.leaves) {
    if (leaf.node > last || !pass.at(leaf.node)) continue;
    Tensor gradient = std::move(*std::exchange(pass.at(leaf.node), {}));
    Recorder::set(total, leaf.value, records ? std::move(gradient) : separate(std::move(gradient)));
  }
  return total;
}

const Tensor& checked_loss(const Tensor& loss) {
  if (!loss.defined()) fail("backward: the loss is undefined");
  if (loss.rank() != 0) {
    fail("backward: the loss must be a scalar of shape (), got {}; reduce it with sum() or mean(), or give a cotangent",
         to_string(loss.shape()));
  }
  if (FiniteCheck::is_open()) FiniteCheck::check_loss(loss);
  return loss;
}

}  // namespace

Gradients backward(const Tensor& loss, const BackwardOptions& options) {
  return backward_onto({}, checked_loss(loss), ones({}, loss.dtype()), {}, options.record);
}

void backward(const Tensor& loss, Gradients& total) {
  total = backward_onto(std::exchange(total, {}), checked_loss(loss), ones({}, loss.dtype()));
}

void backward(const Tensor& loss, const Take& take) {
  if (!take) fail("backward: the function that takes the gradients is empty");
  static_cast<void>(backward_onto({}, checked_loss(loss), ones({}, loss.dtype()), take));
}

Gradients backward(const Tensor& output, const Tensor& cotangent, const BackwardOptions& options) {
  return backward_onto({}, output, cotangent, {}, options.record);
}

}  // namespace heed
