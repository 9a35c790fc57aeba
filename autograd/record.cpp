// The tape: a vector of nodes in the order of computation, which is a topological order. backward() is one loop from the end to the
// start, and a recording ends as a vector does. Frameworks that link nodes to their inputs (PyTorch, micrograd) sort them first, and
// must not recurse over a long chain when they sort, differentiate or free it. Here a chain of 1,000,000 operations needs a stack of
// 256 KiB, and a graph of 1,000,000 scalars takes a twentieth of PyTorch's time. The price: a node, and what it saved, stays until the
// recording ends, even if its output is no longer used.
//
// Second derivatives need no other tape: a recorded backward appends to this one (backward.cpp). A saved output gets its place on the
// tape when it is saved, so that the backward differentiates through it; a saved input has it.
//
// The tape keeps handles to saved tensors with the versions of their memory; backward() refuses a tensor that was written since. Copies
// of the numbers would be safe as well, but take the memory of a step's activations again. Before, backward functions captured tensors, and
// the recorder found these by copying each function while a hook in Tensor's copy constructor listed the copies: every copy of a
// tensor then read a thread-local pointer, and an operation that saved too much was not seen.
//
// NeedsInputGrad reads the node's edges: a vector of booleans for each node cost a graph of scalars a tenth of its
// time. The embedding of a table that also makes the logits adds its rows to their gradient (take_total()); a gradient of its own took
// GPT-2 154 MB more. A binary tree of sums for the parts of a batch is no more exact, and took GPT-2 in four parts 2.89 GB, not 2.37.

#include "autograd/internal/open_recordings.h"
#include "autograd/internal/tape.h"

#include <heed/autograd/autocast.h>
#include <heed/autograd/profile.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace heed {

constinit thread_local tape::Thread tape::thread;

namespace {

using tape::SavedTensor, tape::Tape, tape::takes_gradient, tape::thread;

double bytes_of(const Tensor& x) { return x.defined() ? static_cast<double>(x.bytes()) : 0; }

std::int64_t leaf_node(const Tensor& variable) {
  if (is_stored_only(variable.dtype())) {
    fail("record: {} is {}, which cannot have gradients; load the model with float32 weights, or freeze this parameter",
         variable.name().empty() ? "a variable" : "'" + variable.name() + "'", to_string(variable.dtype()));
  }
  Tape& tape = *thread.tape;
  const auto [leaf, is_new] = tape.leaves.try_emplace(variable.tape_node().node);
  if (is_new) {
    leaf->second = {tape.size(), variable, variable.version()};
    tape::Node node;
    node.shape = variable.shape();
    node.dtype = variable.dtype();
    tape.nodes.push_back(std::move(node));
  }
  return leaf->second.node;
}

// Returns the index of the layer that this thread runs.
std::uint32_t layer_number(Tape& tape) {
  const std::string& layer = LayerScope::layer();
  if (tape.layers.back() != layer) tape.layers.push_back(layer);
  return static_cast<std::uint32_t>(tape.layers.size() - 1);
}

// Appends the inputs of an operation that depend on a variable to those that were noticed before.
void notice(std::span<const Tensor* const> inputs) {
  for (const Tensor* input : inputs) {
    if (input->tape_node().recording == 0 && !takes_gradient(*input)) continue;
    const auto same = [&](const Tensor& x) { return x.tape_node() == input->tape_node(); };
    if (std::ranges::none_of(*thread.noticed, same)) thread.noticed->push_back(*input);
  }
}

}  // namespace

std::int64_t tape::node_of(const Tensor& input) {
  const TapeNode node = input.tape_node();
  return takes_gradient(input) ? leaf_node(input)
         : node.recording != 0 ? node.node
         : node.node < 0       ? of_gradients
                               : constant;
}

std::string tape::role_of(const SavedTensor& saved) {
  if (saved.input >= 0) return fmt::format("input {}", saved.input);
  return saved.input == SavedTensor::output ? "its output" : "other";
}

Recording::Recording() {
  static std::atomic<std::uint64_t> count = 0;
  if (thread.tape && !thread.paused) {
    fail("Recording: one is already open on this thread; close it before opening another");
  }
  own_ = new Tape;
  own_->id = ++count;
  tape::note_opened(own_->id);
  own_->outer = std::exchange(thread.tape, own_);
  thread.paused = false;
}

Recording::~Recording() {
  Tape** at = &thread.tape;
  while (*at && *at != own_) at = &(*at)->outer;  // Python may close them in any order
  if (!*at) return;                               // another thread's, which still uses it
  if (at == &thread.tape) thread.paused = own_->outer != nullptr;
  *at = own_->outer;
  tape::note_ended(own_->id);
  delete own_;
}

std::int64_t Recording::size() const { return own_->size(); }
bool Recording::is_open() { return thread.tape != nullptr; }

NoRecording::NoRecording() : before_(std::exchange(thread.silent, true)) {}
NoRecording::~NoRecording() { thread.silent = before_; }

void Recorder::note(const Operation& operation, std::span<const Tensor* const> inputs, const Tensor& output) {
  if (thread.paused || !is_profiling()) return;
  double bytes = bytes_of(output);
  for (const Tensor* input : inputs) {
    if (input->shares_storage(output)) return;  // views take no time
    bytes += bytes_of(*input);
  }
  note_work(operation.name(), bytes);
}

bool Recorder::is_constant(const Tensor& input) { return input.tape_node().recording == 0 && !takes_gradient(input); }

bool Recorder::is_of_other_thread(const Tensor& x) {
  const std::uint64_t id = x.tape_node().recording;
  if (id == 0) return false;
  for (const Tape* tape = thread.tape; tape; tape = tape->outer) {
    if (tape->id == id) return false;
  }
  return tape::is_open(id);
}

bool Recorder::follows(const Tensor& x) {
  return thread.tape && !thread.paused &&
         (!thread.silent || thread.noticed) &&  // checkpoint() notices what it does not record
         (x.tape_node().recording == thread.tape->id || takes_gradient(x));
}

Tensor Recorder::of_gradients(Tensor x) {
  x.tape_node_ = {0, -1};
  return x;
}

Tensor Recorder::at_node(std::int64_t node) {
  Tensor x;
  if (node >= 0) x.tape_node_ = {thread.tape->id, node};
  return x;
}

Recorder::Part Recorder::part_of(const Operation& operation, std::span<const Tensor* const> inputs) {
  if (thread.paused) return Part::none;
  const Tape* const tape = thread.tape;
  bool depends = false, has_gradients = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TapeNode node = inputs[i]->tape_node();
    if (node.recording != 0 && (!tape || node.recording != tape->id)) {
      fail(
          "{}: input {}, of shape {}, belongs to a recording that has ended or to another thread's; use its detach(), "
          "or item()",
          operation.name(), i, to_string(inputs[i]->shape()));
    }
    depends = depends || node.recording != 0 || (tape && takes_gradient(*inputs[i]));
    has_gradients = has_gradients || node.node < 0;
  }
  if (thread.silent || !tape) {
    if (thread.noticed) [[unlikely]]
      notice(inputs);
    return Part::none;
  }
  return depends ? Part::recorded : has_gradients ? Part::of_gradients : Part::none;
}

Tensor Recorder::record(const Operation& operation, std::span<const Tensor* const> inputs, const Tensor& output,
                        std::unique_ptr<Backward> backward) {
  if (FiniteCheck::is_open()) FiniteCheck::check_output(operation, inputs, output);
  const auto is_output = [&](const Tensor* input) { return input->tape_node() == output.tape_node(); };
  if (output.tape_node_.recording != 0 && std::none_of(inputs.begin(), inputs.end(), is_output)) {
    fail(
        "{}: the output, of shape {}, is recorded already; compute it from the detach() of each input, and make each "
        "variable that it uses an input",
        operation.name(), to_string(output.shape()));
  }
  const auto is_same_view = [](const Tensor& a, const Tensor& b) {
    return a.offset_ == b.offset_ && a.shape_ == b.shape_ && a.strides_ == b.strides_ && a.dtype_ == b.dtype_;
  };
  Tape& tape = *thread.tape;
  tape::Node node;
  node.operation = &operation;
  node.first_edge = tape.edges.size();
  node.edges = static_cast<std::uint32_t>(inputs.size());
  node.layer = layer_number(tape);
  node.precision = Autocast::precision();
  node.shape = output.shape();
  node.dtype = output.dtype();
  for (const Tensor* input : inputs) tape.edges.push_back(tape::node_of(*input));
  Tensor recorded = output;
  recorded.tape_node_ = {tape.id, tape.size()};
  node.backward = std::move(backward);
  node.first_saved = tape.saved.size();
  tape.listed.clear();
  node.backward->list_saved(tape.listed);
  for (Tensor* tensor : tape.listed) {
    if (!tensor->defined()) continue;
    std::int32_t role = tensor->shares_storage(output) ? SavedTensor::output : SavedTensor::other;
    int sharing = 0;  // inputs with this memory
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i]->shares_storage(*tensor)) continue;
      if (++sharing == 1 || inputs[i]->tape_node() == tensor->tape_node_) role = static_cast<std::int32_t>(i);
    }
    // A recorded backward differentiates through the saved output, and through an input that was saved without its place.
    if (role != SavedTensor::other && tensor->tape_node_ == TapeNode{}) {
      const Tensor* const source = role == SavedTensor::output ? &recorded : inputs[static_cast<std::size_t>(role)];
      if (sharing < 2 && is_same_view(*tensor, *source)) tensor->tape_node_ = source->tape_node_;
    }
    tape.saved.push_back({tensor, static_cast<std::uint32_t>(tensor->version()), role});
  }
  node.saved = static_cast<std::uint32_t>(tape.saved.size() - node.first_saved);
  tape.nodes.push_back(std::move(node));
  return recorded;
}

std::vector<std::string> Recorder::saved(const Operation& operation) {
  std::vector<std::string> names;
  for (const tape::Node& node : thread.tape->nodes) {
    if (node.operation != &operation) continue;
    thread.tape->for_each_saved(node, [&](auto& saved) { names.push_back(role_of(saved)); });
  }
  return names;
}

bool Recorder::can_record_backward(const Operation& operation) {
  return std::ranges::none_of(thread.tape->nodes, [&](const tape::Node& node) {
    return node.operation == &operation && node.backward->record() == Backward::Record::never;
  });
}

}  // namespace heed
