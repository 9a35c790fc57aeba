#include "distributed/mean_gradients.h"

#include "distributed/flat_tensors.h"

#include <heed/autograd/error.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/profile.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace heed {
namespace {

// Node [begin, end) of the tree of micro-batches has the halves [begin, middle) and [middle, end); the length of the
// left one is a power of two. Its sum is the sum of both. The elements of all gradients, as one array, are cut into as
// many segments as processes hold micro-batches. One of the processes that hold the node's micro-batches owns the sum
// of a segment. Owners of different segments differ, so that all processes add and send at the same time. Addition of
// two numbers is commutative, so the bits depend on the tree alone.
struct Node {
  int begin, end;
  bool is_leaf() const { return end - begin == 1; }
  Node left() const { return {begin, middle()}; }
  Node right() const { return {middle(), end}; }

 private:
  int middle() const { return begin + static_cast<int>(std::bit_ceil(static_cast<unsigned>(end - begin)) / 2); }
};

class GradientTree {
 public:
  GradientTree(const Parameters& parameters, int parts, const std::function<Tensor(int)>& loss,
               const Communicator& processes)
      : parts_(parts), loss_(loss), processes_(processes), workers_(std::min(parts, processes.size())) {
    for (const auto& [name, parameter] : parameters) {
      if (parameter.is_frozen()) continue;
      variables_.push_back(parameter);
      numel_ += parameter.numel();
    }
  }

  MeanGradients run() {
    FlatTensors sum = sum_of({0, parts_});
    note_work("(gradient sum)");
    share_out(sum);
    MeanGradients mean{processes_.gather(losses_), {}};
    for (std::size_t i = 0; i < variables_.size(); ++i) mean.gradients.set(variables_[i], sum.tensors()[i]);
    note_work("(gradient exchange)");
    return mean;
  }

 private:
  int rank() const { return processes_.rank(); }
  int first_rank(const Node& node) const { return owner_of(node.begin, parts_, workers_); }
  int last_rank(const Node& node) const { return owner_of(node.end - 1, parts_, workers_); }
  int owner(const Node& node, int segment) const {
    const int first = first_rank(node), last = last_rank(node);
    return first <= segment && segment <= last ? segment : first + segment % (last - first + 1);
  }

  Share segment(int s) const { return share_of(numel_, s, workers_); }

  // Returns the node's sum; only the segments that this process owns are defined. Returns an empty result when all of the
  // node's micro-batches are on other processes.
  FlatTensors sum_of(const Node& node) {
    const int first = first_rank(node), last = last_rank(node);
    if (rank() < first || rank() > last) return {};
    if (node.is_leaf()) return gradients_of(node.begin);
    FlatTensors left = sum_of(node.left()), right = sum_of(node.right());
    if (first != last) return combined(node, std::move(left), std::move(right));
    add(left, right, {0, numel_});
    return left;
  }

  FlatTensors gradients_of(int part) {
    Gradients gradients;
    {
      const Recording recording;
      const Tensor loss = loss_(part);
      losses_.push_back(loss.item());
      gradients = backward(parts_ == 1 ? loss : loss * (1.0 / parts_));
    }
    std::vector<Tensor> tensors;
    for (const Tensor& variable : variables_) tensors.push_back(gradients[variable]);
    gradients = {};
    for (Tensor& tensor : tensors) {
      if (!tensor.may_be_overwritten()) tensor = tensor.clone();
    }
    return FlatTensors(std::move(tensors));
  }

  // Returns the sum of a node. `left` and `right` are the sums of its halves; each is empty when this process owns no
  // part of it.
  FlatTensors combined(const Node& node, FlatTensors left, FlatTensors right) {
    struct Step {
      Share range;
      int own, left, right;  // owners of the sum and of its terms
    };
    std::vector<Step> steps;
    for (int s = 0; s < workers_; ++s) {
      steps.push_back({segment(s), owner(node, s), owner(node.left(), s), owner(node.right(), s)});
    }
    Sending sending(processes_);
    for (const Step& step : steps) {
      if (step.own == rank()) continue;
      if (step.left == rank()) sending.send(left, step.range, step.own);
      if (step.right == rank()) sending.send(right, step.range, step.own);
    }
    FlatTensors& total = left.empty() ? right : left;
    for (const Step& step : steps) {
      if (step.own != rank()) continue;
      const bool has_left = step.left == rank(), has_right = step.right == rank();
      if (has_right && &total == &right) {
        receive(processes_, total, step.range, step.left, Arriving::is_added);
        continue;
      }
      if (!has_left) receive(processes_, total, step.range, step.left, Arriving::replaces);
      has_right ? add(total, right, step.range)
                : receive(processes_, total, step.range, step.right, Arriving::is_added);
    }
    sending.wait();
    return std::move(total);
  }

  // Gives each process the segments that it does not own.
  void share_out(FlatTensors& sum) {
    const Node root{0, parts_};
    if (sum.empty()) {
      std::vector<Tensor> tensors;
      for (const Tensor& variable : variables_) tensors.emplace_back(variable.shape(), variable.dtype());
      sum = FlatTensors(std::move(tensors));
    }
    Sending sending(processes_);
    for (int turn = 1; turn < processes_.size(); ++turn) {
      for (int s = 0; s < workers_; ++s) {
        if (owner(root, s) == rank()) sending.send(sum, segment(s), (rank() + turn) % processes_.size());
      }
    }
    for (int s = 0; s < workers_; ++s) {
      if (const int from = owner(root, s); from != rank()) {
        receive(processes_, sum, segment(s), from, Arriving::replaces);
      }
    }
    sending.wait();
  }

  const int parts_;
  const std::function<Tensor(int)>& loss_;
  const Communicator& processes_;
  const int workers_;  // number of processes that hold micro-batches: the first ones; the others wait
  std::vector<Tensor> variables_;
  std::int64_t numel_ = 0;
  std::vector<double> losses_;  // of this process's micro-batches
};

}  // namespace

MeanGradients mean_gradients(const Parameters& parameters, int parts, const std::function<Tensor(int part)>& loss,
                             const Communicator& processes) {
  if (parts < 1) fail("mean_gradients: expected at least 1 micro-batch, got {}", parts);
  if (parts > 1 || processes.size() > 1) return GradientTree(parameters, parts, loss, processes).run();
  const Recording recording;
  const Tensor only = loss(0);
  return {{only.item()}, backward(only)};
}

}  // namespace heed
