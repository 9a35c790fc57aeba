#pragma once
#include <heed/autograd/autocast.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/record.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

// The tape and the state of a thread, which record.cpp, backward.cpp, partial_backward.cpp and checkpoint.cpp share.
namespace heed::tape {

struct Node {
  static constexpr std::uint32_t forgotten = ~0U;  // as the layer: the node is no longer part of the recording

  const Operation* operation = nullptr;  // null for a variable, and if it is forgotten
  std::unique_ptr<Backward> backward;
  std::size_t first_edge = 0, first_saved = 0;
  Shape shape;
  DType dtype = DType::float32;
  Precision precision = Precision::float32;       // of the products of its backward
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

// Inputs without a node. The second kind was computed from gradients that were not recorded: backward() refuses it.
constexpr std::int64_t constant = -1, of_gradients = -2;

struct Tape {
  std::uint64_t id = 0;
  Tape* outer = nullptr;  // whose backward, which is paused, computes with this one
  std::vector<Node> nodes;
  std::vector<std::int64_t> edges;                // the inputs' nodes, `constant` or `of_gradients`
  std::deque<SavedTensor> saved;                  // of the nodes, in order; a deque does not over-allocate
  std::vector<Tensor*> listed;                    // the saved tensors of the operation that is being recorded
  std::deque<std::string> layers{""};             // names of the layers that recorded operations, in order of first use
  std::unordered_map<std::int64_t, Leaf> leaves;  // by the variable's number

  std::int64_t size() const { return static_cast<std::int64_t>(nodes.size()); }
  Node& operator[](std::int64_t node) { return nodes[static_cast<std::size_t>(node)]; }
  void for_each_saved(const Node& node, const auto& use) const {
    for (std::size_t k = node.first_saved; k < node.first_saved + node.saved; ++k) use(saved[k]);
  }
};

struct Thread {
  Tape* tape = nullptr;                    // of the open Recording
  bool paused = false;                     // backward computes with recorded tensors, but records nothing
  bool silent = false;                     // a NoRecording is open
  std::vector<Tensor>* noticed = nullptr;  // takes the tensors that operations would have been recorded for
};
extern constinit thread_local Thread thread;

// Sets a variable until the end of the scope.
template <class T>
class Set {
 public:
  [[nodiscard]] Set(T& variable, T value) : variable_(variable), before_(std::exchange(variable, value)) {}
  ~Set() { variable_ = before_; }
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;

 private:
  T& variable_;
  T before_;
};

inline bool takes_gradient(const Tensor& x) { return x.is_variable() && !x.is_frozen(); }

// Returns the node of an input in the open recording, `constant` or `of_gradients`. Appends a node for a new variable.
std::int64_t node_of(const Tensor& input);

// Returns the role of a saved tensor for messages: "input 0", "its output" or "other".
std::string role_of(const SavedTensor& saved);

// Returns the gradients of sum(output * cotangent) at these nodes, recorded; undefined where the output does not depend on one.
std::vector<Tensor> recorded_gradients(const Tensor& output, const Tensor& cotangent,
                                       const std::vector<std::int64_t>& at);

// Records y = f() on the open tape, and returns the gradients of sum(dy y) at the nodes `at`, which precede f's; undefined where y
// does not depend on one. In a recorded backward they are recorded, else the tape forgets what f recorded.
std::vector<Tensor> gradients_at(const std::vector<std::int64_t>& at, const Tensor& dy,
                                 const std::function<Tensor()>& f);

}  // namespace heed::tape
