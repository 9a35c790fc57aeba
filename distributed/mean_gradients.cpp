#include "distributed/mean_gradients.h"

#include "distributed/internal/flat_tensors.h"
#include "distributed/internal/transport.h"

#include <heed/autograd/error.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/profile.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace heed {
namespace {

// Node [begin, end) of the tree of micro-batches has the halves [begin, middle) and [middle, end); the length of the
// left one is a power of two. Its sum is the sum of both. Addition of two numbers is commutative, so the bits depend on
// the tree alone.
struct Node {
  int begin, end;
  bool is_leaf() const { return end - begin == 1; }
  Node left() const { return {begin, middle()}; }
  Node right() const { return {middle(), end}; }

 private:
  int middle() const { return begin + static_cast<int>(std::bit_ceil(static_cast<unsigned>(end - begin)) / 2); }
};

// Consecutive variables, whose sums travel together. The elements of the sums, as one array, are cut into as many segments
// as processes hold micro-batches. One of the processes that hold a node's micro-batches owns the node's sum of a segment.
// Owners of different segments differ, so that all processes add and send at the same time.
struct Bucket {
  std::size_t first, end;         // variables [first, end)
  std::size_t missing = 0;        // number of variables whose sums are not final on this process
  std::int64_t numel = 0;         // elements of all variables
  std::deque<FlatTensors> own{};  // the sums of this process's nodes; empty until none is missing
  FlatTensors* sum = nullptr;     // the sum of all micro-batches
  std::unique_ptr<Exchange> exchange = nullptr;
  bool is_done = false;
};

// Backward finishes the last layers first. The variables are therefore taken in the reverse of the order in which they were
// made, and the first buckets travel while the last micro-batch's backward continues.
class GradientTree {
 public:
  GradientTree(const Parameters& parameters, const std::vector<double>& counts, const std::function<Tensor(int)>& loss,
               const Communicator& processes)
      : parts_(static_cast<int>(counts.size())),
        counts_(counts),
        total_(std::accumulate(counts.begin(), counts.end(), 0.0)),
        loss_(loss),
        processes_(processes),
        workers_(std::min(parts_, processes.size())) {
    for (const auto& [name, parameter] : parameters) {
      if (!parameter.is_frozen()) variables_.push_back(parameter);
    }
    std::ranges::reverse(variables_);
    for (std::size_t i = 0; i < variables_.size(); ++i) index_[variables_[i].tape_node().node] = i;
    cut_into_buckets();
    find_own_nodes({0, parts_});
  }

  MeanGradients run() {
    for (const Node& node : own_nodes_) {
      sums_.emplace_back(variables_.size());
      add_up(node, [&](std::size_t i, Tensor sum) {
        sums_.back()[i] = std::move(sum);
        if (sums_.size() < own_nodes_.size()) return;
        if (Bucket& bucket = buckets_[bucket_of_[i]]; --bucket.missing == 0) begin_exchange(bucket);
        advance();
      });
    }
    if (own_nodes_.empty()) std::ranges::for_each(buckets_, [&](Bucket& bucket) { begin_exchange(bucket); });
    await([&] { return advance(); });
    MeanGradients mean{processes_.gather(losses_), {}};
    for (const Bucket& bucket : buckets_) {
      for (std::size_t i = bucket.first; i < bucket.end; ++i) {
        mean.gradients.set(variables_[i], bucket.sum->tensors()[i - bucket.first]);
      }
    }
    note_work("(gradient exchange)");
    return mean;
  }

 private:
  using Sum = std::vector<Tensor>;  // by variable
  using Take = std::function<void(std::size_t i, Tensor tensor)>;

  int rank() const { return processes_.rank(); }
  int first_rank(const Node& node) const { return owner_of(node.begin, parts_, workers_); }
  int last_rank(const Node& node) const { return owner_of(node.end - 1, parts_, workers_); }
  bool is_here(const Node& node) const { return first_rank(node) <= rank() && rank() <= last_rank(node); }
  bool is_own(const Node& node) const { return first_rank(node) == rank() && last_rank(node) == rank(); }
  int owner(const Node& node, int segment) const {
    const int first = first_rank(node), last = last_rank(node);
    return first <= segment && segment <= last ? segment : first + segment % (last - first + 1);
  }

  // A bucket holds at least half a message for each process.
  void cut_into_buckets() {
    const std::int64_t bytes = std::int64_t{workers_} << 19;
    std::int64_t free = 0;
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      const Tensor& variable = variables_[i];
      if (free <= 0 || variable.dtype() != variables_[i - 1].dtype()) {
        buckets_.push_back({i, i});
        free = bytes;
      }
      Bucket& bucket = buckets_.back();
      bucket_of_.push_back(buckets_.size() - 1);
      bucket.end = i + 1;
      ++bucket.missing;
      bucket.numel += variable.numel();
      free -= variable.numel() * static_cast<std::int64_t>(size_of(variable.dtype()));
    }
  }

  // Lists the largest nodes whose micro-batches are all on this process, in their order.
  void find_own_nodes(const Node& node) {
    if (is_own(node)) return own_nodes_.push_back(node);
    if (!is_here(node)) return;
    find_own_nodes(node.left());
    find_own_nodes(node.right());
  }

  // Calls take(i, sum) with the sum of each variable over the micro-batches of `node`, as soon as it is final.
  void add_up(Node node, const Take& take) {
    std::vector<Sum> left;
    for (; !node.is_leaf(); node = node.right()) {
      Sum& sum = left.emplace_back(variables_.size());
      add_up(node.left(), [&](std::size_t i, Tensor each) { sum[i] = std::move(each); });
    }
    differentiate(node.begin, [&](std::size_t i, Tensor gradient) {
      for (std::size_t k = left.size(); k-- > 0;) add_in_place(gradient, std::exchange(left[k][i], {}));
      note_work("(gradient sum)");
      take(i, std::move(gradient));
    });
  }

  // Calls take(i, gradient) with the gradient of each variable, which no other tensor shares.
  void differentiate(int part, const Take& take) {
    const double count = counts_[static_cast<std::size_t>(part)];
    if (count == 0) {
      losses_.push_back(0);
      for (std::size_t i = 0; i < variables_.size(); ++i) take(i, zeros(variables_[i].shape(), variables_[i].dtype()));
      return;
    }
    std::vector<bool> is_missing(variables_.size(), true);
    const Recording recording;
    const Tensor loss = loss_(part);
    losses_.push_back(loss.item());
    backward(parts_ == 1 ? loss : loss * (count / total_), [&](const Tensor& variable, Tensor gradient) {
      const auto found = index_.find(variable.tape_node().node);
      if (found == index_.end()) return;
      is_missing[found->second] = false;
      if (!gradient.may_be_overwritten()) gradient = gradient.clone();
      take(found->second, std::move(gradient));
    });
    const auto first = std::find(is_missing.rbegin(), is_missing.rend(), true);
    if (first == is_missing.rend()) return;
    fail("gradients: none for {}: the loss does not depend on it",
         described(variables_[static_cast<std::size_t>(is_missing.rend() - first) - 1]));
  }

  void begin_exchange(Bucket& bucket) {
    bucket.missing = 0;
    const auto first = static_cast<std::ptrdiff_t>(bucket.first), end = static_cast<std::ptrdiff_t>(bucket.end);
    for (Sum& sum : sums_) {
      bucket.own.emplace_back(
          std::vector(std::move_iterator(sum.begin() + first), std::move_iterator(sum.begin() + end)));
    }
    bucket.exchange = std::make_unique<Exchange>(processes_, static_cast<int>(&bucket - buckets_.data()));
    bucket.sum = sum_of({0, parts_}, bucket);
    share_out(bucket);
  }

  Share segment(const Bucket& bucket, int s) const { return share_of(bucket.numel, s, workers_); }

  // Appends the sum of a node to the bucket's exchange. Returns where it will be: only the segments that this process owns are
  // defined. Returns null when all of the node's micro-batches are on other processes.
  FlatTensors* sum_of(const Node& node, Bucket& bucket) const {
    if (!is_here(node)) return nullptr;
    if (is_own(node)) {
      const auto own = std::ranges::find(own_nodes_, node.begin, &Node::begin);
      return &bucket.own[static_cast<std::size_t>(own - own_nodes_.begin())];
    }
    FlatTensors* const left = sum_of(node.left(), bucket);
    FlatTensors* const right = sum_of(node.right(), bucket);
    FlatTensors& total = left ? *left : *right;
    struct Step {
      Share range;
      int own, left, right;  // owners of the sum and of its terms
    };
    std::vector<Step> steps;
    for (int s = 0; s < workers_; ++s) {
      steps.push_back({segment(bucket, s), owner(node, s), owner(node.left(), s), owner(node.right(), s)});
    }
    Exchange& exchange = *bucket.exchange;
    for (const Step& step : steps) {
      if (step.own == rank()) continue;
      if (step.left == rank()) exchange.send(*left, step.range, step.own);
      if (step.right == rank()) exchange.send(*right, step.range, step.own);
    }
    for (const Step& step : steps) {
      if (step.own != rank()) continue;
      const bool has_left = step.left == rank(), has_right = step.right == rank();
      if (has_right && &total == right) {
        exchange.receive(total, step.range, step.left, Arriving::is_added);
        continue;
      }
      if (!has_left) exchange.receive(total, step.range, step.left, Arriving::replaces);
      has_right ? exchange.add(total, *right, step.range)
                : exchange.receive(total, step.range, step.right, Arriving::is_added);
    }
    exchange.await_sent();
    return &total;
  }

  // Appends to the bucket's exchange that each process gets the segments that it does not own.
  void share_out(Bucket& bucket) const {
    const Node root{0, parts_};
    if (!bucket.sum) {
      std::vector<Tensor> tensors;
      for (std::size_t i = bucket.first; i < bucket.end; ++i) {
        tensors.emplace_back(variables_[i].shape(), variables_[i].dtype());
      }
      bucket.sum = &bucket.own.emplace_back(std::move(tensors));
    }
    for (int turn = 1; turn < processes_.size(); ++turn) {
      for (int s = 0; s < workers_; ++s) {
        if (owner(root, s) != rank()) continue;
        bucket.exchange->send(*bucket.sum, segment(bucket, s), (rank() + turn) % processes_.size());
      }
    }
    for (int s = 0; s < workers_; ++s) {
      if (const int from = owner(root, s); from != rank()) {
        bucket.exchange->receive(*bucket.sum, segment(bucket, s), from, Arriving::replaces);
      }
    }
  }

  // Does what is possible without waiting. Returns whether all processes have all sums. The first buckets that are not
  // done are the same ones on all processes sooner or later, so that no process waits for ever; their number limits the
  // memory for messages.
  bool advance() {
    int most = 8;
    for (Bucket& bucket : buckets_) {
      if (bucket.is_done) continue;
      if (bucket.missing == 0) bucket.is_done = bucket.exchange->advance();
      if (--most == 0) break;
    }
    note_work("(gradient exchange)");
    return std::ranges::all_of(buckets_, &Bucket::is_done);
  }

  const int parts_;
  const std::vector<double>& counts_;  // by micro-batch: the number of its predictions
  const double total_;                 // of all micro-batches
  const std::function<Tensor(int)>& loss_;
  const Communicator& processes_;
  const int workers_;  // number of processes that hold micro-batches: the first ones; the others wait
  std::vector<Tensor> variables_;
  std::unordered_map<std::int64_t, std::size_t> index_;  // of a variable, by its number
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_;  // by variable
  std::vector<Node> own_nodes_;
  std::vector<Sum> sums_;       // of own_nodes_, the last one in the making
  std::vector<double> losses_;  // of this process's micro-batches
};

}  // namespace

MeanGradients mean_gradients(const Parameters& parameters, const std::vector<double>& counts,
                             const std::function<Tensor(int part)>& loss, const Communicator& processes) {
  if (counts.empty()) fail("mean_gradients: expected at least 1 micro-batch, got 0");
  for (const double count : counts) {
    if (count >= 0 && std::isfinite(count)) continue;
    fail("mean_gradients: the number of predictions of each micro-batch must be finite and at least 0, got {}", count);
  }
  if (counts.size() > 1 || processes.size() > 1) return GradientTree(parameters, counts, loss, processes).run();
  const Recording recording;
  const Tensor only = loss(0);
  return {{only.item()}, backward(only)};
}

double mean_over_parts(const std::vector<double>& means, const std::vector<double>& counts) {
  if (means.size() != counts.size()) fail("mean_over_parts: got {} means and {} counts", means.size(), counts.size());
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  double mean = 0;
  for (std::size_t i = 0; i < means.size(); ++i) {
    if (counts[i] > 0) mean += means[i] / (total / counts[i]);
  }
  return mean;
}

}  // namespace heed
