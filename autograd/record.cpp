// The tape: a vector of nodes in the order of computation, which is a topological order. backward() is one loop from the end to the
// start, and a recording ends as a vector does. Frameworks that link nodes to their inputs (PyTorch, micrograd) sort them first, and
// must not recurse over a long chain when they sort, differentiate or free it. Here a chain of 1,000,000 operations needs a stack of
// 256 KiB, and a graph of 1,000,000 scalars takes a twentieth of PyTorch's time. The price: a node, and what it saved, stays until the
// recording ends, even if its output is no longer used.
//
// The tape keeps handles to saved tensors with the versions of their memory; backward() refuses a tensor that was written since. Copies
// of the numbers would be safe as well, but take the memory of a step's activations again. Before, backward functions captured tensors, and
// the recorder found these by copying each function while a hook in Tensor's copy constructor listed the copies: every copy of a
// tensor then read a thread-local pointer, and an operation that saved too much was not seen.
//
// NeedsInputGrad reads the node's edges: a vector of booleans for each node cost a graph of scalars a tenth of its
// time. The embedding of a table that also makes the logits adds its rows to their gradient (take_total()); a gradient of its own took
// GPT-2 154 MB more. A binary tree of sums for the parts of a batch is no more exact, and took GPT-2 in four parts 2.89 GB, not 2.37.

#include "autograd/cpu/kernels.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/profile.h>
#include <heed/autograd/record.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <unordered_map>

namespace heed {
namespace {

struct Node {
  const Operation* operation = nullptr;  // null for a variable
  std::unique_ptr<const Backward> backward;
  std::size_t first_edge = 0, first_saved = 0;
  Shape shape;
  DType dtype = DType::float32;
  std::uint32_t edges = 0, saved = 0, layer = 0;  // layer: index in Tape::layers
};

// A tensor that a node's backward reads.
struct SavedTensor {
  static constexpr std::int32_t output = -1, other = -2;

  const Tensor* tensor;   // in the node's Backward
  std::uint32_t version;  // of its memory, when the operation was recorded
  std::int32_t input;     // index of the input with this memory, or one of the above
};

struct Leaf {
  std::int64_t node;
  Tensor value;
  std::uint64_t version;
};

// Inputs without a node. The second kind was computed from gradients: backward() refuses it.
constexpr std::int64_t constant = -1, of_gradients = -2;

struct Tape {
  std::uint64_t id = 0;
  std::vector<Node> nodes;
  std::vector<std::int64_t> edges;                // the inputs' nodes, `constant` or `of_gradients`
  std::deque<SavedTensor> saved;                  // of the nodes, in order; a deque does not over-allocate
  std::vector<const Tensor*> listed;              // the saved tensors of the operation that is being recorded
  std::deque<std::string> layers{""};             // names of the layers that recorded operations, in order of first use
  std::unordered_map<std::int64_t, Leaf> leaves;  // by the variable's number
};

thread_local std::unique_ptr<Tape> tape;
thread_local bool paused = false;  // backward computes with recorded tensors, but records nothing
thread_local bool silent = false;  // true while a NoRecording is open

struct Pause {
  Pause() { paused = true; }
  ~Pause() { paused = false; }
};

void for_each_saved(const Node& node, const auto& use) {
  for (std::size_t k = node.first_saved; k < node.first_saved + node.saved; ++k) use(tape->saved[k]);
}

bool takes_gradient(const Tensor& x) { return x.is_variable() && !x.is_frozen(); }
double bytes_of(const Tensor& x) { return x.defined() ? static_cast<double>(x.bytes()) : 0; }

std::int64_t leaf_node(const Tensor& variable) {
  if (is_stored_only(variable.dtype())) {
    fail("record: {} is {}, which cannot have gradients; load the model with float32 weights, or freeze this parameter",
         variable.name().empty() ? "a variable" : "'" + variable.name() + "'", to_string(variable.dtype()));
  }
  const auto [leaf, is_new] = tape->leaves.try_emplace(variable.tape_node().node);
  if (is_new) {
    leaf->second = {static_cast<std::int64_t>(tape->nodes.size()), variable, variable.version()};
    Node node;
    node.shape = variable.shape();
    node.dtype = variable.dtype();
    tape->nodes.push_back(std::move(node));
  }
  return leaf->second.node;
}

Tensor checked_gradient(const Operation& operation, std::size_t input, const Tensor& gradient, const Node& node) {
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
  return cpu::sum_to(gradient, node.shape);
}

void accumulate(std::unique_ptr<Tensor>& total, const Tensor& gradient) {
  if (!total) {
    total = std::make_unique<Tensor>(gradient);
  } else if (total->may_be_overwritten()) {
    add_in_place(*total, gradient);
  } else {
    *total = *total + gradient;
  }
}

// Returns the minimal bytes that a node's backward reads and writes: dy and the gradient of each input.
double backward_bytes(const Node& node, const Tensor& dy) {
  double bytes = bytes_of(dy);
  for (std::size_t i = 0; i < node.edges; ++i) {
    const std::int64_t input = tape->edges[node.first_edge + i];
    if (input < 0) continue;
    const Node& from = tape->nodes[static_cast<std::size_t>(input)];
    bytes += static_cast<double>(from.shape.numel() * size_of(from.dtype));
  }
  return bytes;
}

void check_leaves_unchanged() {
  const Leaf* first = nullptr;
  for (const auto& [number, leaf] : tape->leaves) {
    if (leaf.value.version() != leaf.version && (!first || leaf.node < first->node)) first = &leaf;
  }
  if (!first) return;
  fail(
      "backward: {} was written after it was recorded; call backward before the optimiser's step, and open a new "
      "Recording after it",
      described(first->value));
}

// Returns the index of the layer that this thread runs.
std::uint32_t layer_number() {
  const std::string& layer = LayerScope::layer();
  if (tape->layers.back() != layer) tape->layers.push_back(layer);
  return static_cast<std::uint32_t>(tape->layers.size() - 1);
}

std::string role_of(const SavedTensor& saved) {
  if (saved.input >= 0) return fmt::format("input {}", saved.input);
  return saved.input == SavedTensor::output ? "its output" : "other";
}

[[noreturn]] void fail_written(const Node& node, const SavedTensor& saved) {
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
      "{} was computed from the gradients of an earlier backward(), which are not recorded: second derivatives are not "
      "available; use the gradient's detach() as a constant",
      what);
}

}  // namespace

Recording::Recording() {
  static std::atomic<std::uint64_t> count = 0;
  if (tape) fail("Recording: one is already open on this thread; close it before opening another");
  tape = std::make_unique<Tape>();
  tape->id = ++count;
}

Recording::~Recording() { tape.reset(); }
std::int64_t Recording::size() const { return static_cast<std::int64_t>(tape->nodes.size()); }

NoRecording::NoRecording() : before_(std::exchange(silent, true)) {}
NoRecording::~NoRecording() { silent = before_; }

void Recorder::note(const Operation& operation, std::span<const Tensor* const> inputs, const Tensor& output) {
  if (paused || !is_profiling()) return;
  double bytes = bytes_of(output);
  for (const Tensor* input : inputs) {
    if (input->shares_storage(output)) return;  // views take no time
    bytes += bytes_of(*input);
  }
  note_work(operation.name(), bytes);
}

bool Recorder::is_constant(const Tensor& input) { return input.tape_node().recording == 0 && !takes_gradient(input); }

bool Recorder::follows(const Tensor& x) {
  return tape && !paused && !silent && (x.tape_node().recording == tape->id || takes_gradient(x));
}

Tensor Recorder::of_gradients(Tensor x) {
  x.tape_node_ = {0, -1};
  return x;
}

Recorder::Part Recorder::part_of(const Operation& operation, std::span<const Tensor* const> inputs) {
  if (paused) return Part::none;
  bool depends = false, has_gradients = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TapeNode node = inputs[i]->tape_node();
    if (node.recording != 0 && (!tape || node.recording != tape->id)) {
      fail("{}: input {}, of shape {}, belongs to a recording that has ended or to another thread's; use its detach()",
           operation.name(), i, to_string(inputs[i]->shape()));
    }
    depends = depends || node.recording != 0 || (tape && takes_gradient(*inputs[i]));
    has_gradients = has_gradients || node.node < 0;
  }
  if (silent || !tape) return Part::none;
  return depends ? Part::recorded : has_gradients ? Part::of_gradients : Part::none;
}

Tensor Recorder::record(const Operation& operation, std::span<const Tensor* const> inputs, const Tensor& output,
                        std::unique_ptr<const Backward> backward) {
  if (FiniteCheck::is_open()) FiniteCheck::check_output(operation, inputs, output);
  const auto is_output = [&](const Tensor* input) { return input->tape_node() == output.tape_node(); };
  if (output.tape_node_.recording != 0 && std::none_of(inputs.begin(), inputs.end(), is_output)) {
    fail("{}: the output, of shape {}, is recorded already; compute it from the detach() of each input",
         operation.name(), to_string(output.shape()));
  }
  Node node;
  node.operation = &operation;
  node.first_edge = tape->edges.size();
  node.edges = static_cast<std::uint32_t>(inputs.size());
  node.layer = layer_number();
  node.shape = output.shape();
  node.dtype = output.dtype();
  for (const Tensor* input : inputs) {
    tape->edges.push_back(takes_gradient(*input)              ? leaf_node(*input)
                          : input->tape_node().recording != 0 ? input->tape_node().node
                          : input->tape_node().node < 0       ? heed::of_gradients
                                                              : constant);
  }
  node.backward = std::move(backward);
  node.first_saved = tape->saved.size();
  tape->listed.clear();
  node.backward->list_saved(tape->listed);
  for (const Tensor* tensor : tape->listed) {
    if (!tensor->defined()) continue;
    std::int32_t input = tensor->shares_storage(output) ? SavedTensor::output : SavedTensor::other;
    for (std::size_t i = inputs.size(); i-- > 0;) {
      if (inputs[i]->shares_storage(*tensor)) input = static_cast<std::int32_t>(i);
    }
    tape->saved.push_back({tensor, static_cast<std::uint32_t>(tensor->version()), input});
  }
  node.saved = static_cast<std::uint32_t>(tape->saved.size() - node.first_saved);
  Tensor recorded = output;
  recorded.tape_node_ = {tape->id, static_cast<std::int64_t>(tape->nodes.size())};
  tape->nodes.push_back(std::move(node));
  return recorded;
}

std::vector<std::string> Recorder::saved(const Operation& operation) {
  std::vector<std::string> names;
  for (const Node& node : tape->nodes) {
    if (node.operation == &operation) for_each_saved(node, [&](auto& saved) { names.push_back(role_of(saved)); });
  }
  return names;
}

namespace {

using Take = std::function<void(const Tensor& variable, Tensor gradient)>;

// Accumulates into the gradients of `total` in place. If `take` is not empty, it gets the gradients instead.
Gradients backward_onto(Gradients total, const Tensor& output, const Tensor& cotangent, const Take& take = {}) {
  if (!output.defined() || !cotangent.defined()) fail("backward: the output or its cotangent is undefined");
  const auto check_cotangent = [&] {
    if (cotangent.shape() == output.shape() && cotangent.dtype() == output.dtype()) return;
    fail("backward: the cotangent must be {} {} like the output, got {} {}", to_string(output.dtype()),
         to_string(output.shape()), to_string(cotangent.dtype()), to_string(cotangent.shape()));
  };
  if (tape && takes_gradient(output)) {  // dv/dv
    check_cotangent();
    if (take) {
      take(output, Recorder::of_gradients(cotangent));
      return {};
    }
    Gradients own;
    own.set(output, cotangent.detach());
    return total += own;
  }
  if (output.tape_node().node < 0) fail_of_gradients("backward: the output");
  if (output.is_variable() || output.tape_node().recording == 0) {
    fail(
        "backward: the output, of shape {}, was not recorded: no Recording was open, or it depends on no variable "
        "(frozen variables do not count)",
        to_string(output.shape()));
  }
  if (!tape || output.tape_node().recording != tape->id) {
    fail("backward: the output, of shape {}, belongs to a recording that has ended or to another thread's",
         to_string(output.shape()));
  }
  check_cotangent();
  check_leaves_unchanged();
  const Pause pause;
  std::vector<std::unique_ptr<Tensor>> gradient(static_cast<std::size_t>(output.tape_node().node) + 1);
  gradient.back() = std::make_unique<Tensor>(cotangent.detach());
  for (auto& [variable, sum] : total) {
    const auto leaf = tape->leaves.find(variable.tape_node().node);
    if (leaf == tape->leaves.end() || leaf->second.node >= output.tape_node().node) continue;
    gradient[static_cast<std::size_t>(leaf->second.node)] = std::make_unique<Tensor>(std::exchange(sum, {}));
  }
  std::unordered_map<std::size_t, const Tensor*> variables;  // by their nodes
  if (take) {
    for (const auto& [number, leaf] : tape->leaves) variables[static_cast<std::size_t>(leaf.node)] = &leaf.value;
  }
  for (std::size_t n = gradient.size(); n-- > 0;) {
    const Node& node = tape->nodes[n];
    if (!gradient[n]) continue;
    if (!node.operation) {  // every operation that uses the variable comes after it
      if (take) take(*variables[n], Recorder::of_gradients(std::move(*std::exchange(gradient[n], {}))));
      continue;
    }
    const LayerScope layer(tape->layers[node.layer]);
    for_each_saved(node, [&](const SavedTensor& saved) {
      if (static_cast<std::uint32_t>(saved.tensor->version()) != saved.version) fail_written(node, saved);
    });
    const Tensor dy = *std::exchange(gradient[n], {});
    const std::int64_t* inputs = tape->edges.data() + node.first_edge;
    std::unique_ptr<Tensor>* so_far =
        node.edges == 1 && inputs[0] >= 0 ? &gradient[static_cast<std::size_t>(inputs[0])] : nullptr;
    std::vector<Tensor> dx = (*node.backward)(dy, NeedsInputGrad(inputs, so_far));
    if (dx.size() != node.edges) {
      fail("backward of {}: expected one gradient per input ({}), got {}", node.operation->name(), node.edges,
           dx.size());
    }
    for (std::size_t i = 0; i < node.edges; ++i) {
      if (inputs[i] == of_gradients)
        fail_of_gradients(fmt::format("backward of {}: input {}", node.operation->name(), i));
      if (inputs[i] == constant) continue;
      const std::size_t input = static_cast<std::size_t>(inputs[i]);
      const Tensor checked = checked_gradient(*node.operation, i, std::exchange(dx[i], {}), tape->nodes[input]);
      accumulate(gradient[input], checked);
      if (FiniteCheck::is_open()) FiniteCheck::check_gradient(*node.operation, i, *gradient[input]);
    }
    if (is_profiling()) note_work(fmt::format("{} backward", node.operation->name()), backward_bytes(node, dy));
  }

  for (const auto& [number, leaf] : tape->leaves) {
    const std::size_t n = static_cast<std::size_t>(leaf.node);
    if (n < gradient.size() && gradient[n]) total.set(leaf.value, std::move(*gradient[n]));
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

Gradients backward(const Tensor& loss) { return backward(checked_loss(loss), ones({}, loss.dtype())); }

void backward(const Tensor& loss, Gradients& total) {
  total = backward_onto(std::exchange(total, {}), checked_loss(loss), ones({}, loss.dtype()));
}

void backward(const Tensor& loss, const Take& take) {
  if (!take) fail("backward: the function that takes the gradients is empty");
  static_cast<void>(backward_onto({}, checked_loss(loss), ones({}, loss.dtype()), take));
}

Gradients backward(const Tensor& output, const Tensor& cotangent) { return backward_onto({}, output, cotangent); }

}  // namespace heed
