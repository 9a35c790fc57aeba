#include "distributed/parallel_reducer.h"

#include "distributed/internal/flat_tensors.h"
#include "distributed/internal/transport.h"
#include "distributed/parallel_optimizer.h"

#include <heed/autograd/error.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/profile.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace heed {
namespace {

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

// Backward finishes the last layers first, and GradientSum has the variables in that order: the first buckets travel while the last
// micro-batch's backward continues.
class ParallelGradientSum : public GradientSum {
 public:
  ParallelGradientSum(const Parameters& parameters, const std::vector<double>& counts, const Communicator& processes)
      : GradientSum(parameters, counts, own_nodes(counts, processes)),
        processes_(processes),
        parts_(static_cast<int>(counts.size())),
        workers_(std::min(parts_, processes.size())) {
    cut_into_buckets();
  }

  MeanGradients mean() override {
    finish();
    if (own_.empty()) std::ranges::for_each(buckets_, [&](Bucket& bucket) { begin_exchange(bucket); });
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
  int rank() const { return processes_.rank(); }
  static int first_rank(const Node& node, int parts, int workers) { return owner_of(node.begin, parts, workers); }
  static int last_rank(const Node& node, int parts, int workers) { return owner_of(node.end - 1, parts, workers); }
  int first_rank(const Node& node) const { return first_rank(node, parts_, workers_); }
  int last_rank(const Node& node) const { return last_rank(node, parts_, workers_); }
  bool is_here(const Node& node) const { return first_rank(node) <= rank() && rank() <= last_rank(node); }
  bool is_own(const Node& node) const { return first_rank(node) == rank() && last_rank(node) == rank(); }
  int owner(const Node& node, int segment) const {
    const int first = first_rank(node), last = last_rank(node);
    return first <= segment && segment <= last ? segment : first + segment % (last - first + 1);
  }

  // Returns the largest nodes whose micro-batches are all on this process, in their order.
  static std::vector<Node> own_nodes(const std::vector<double>& counts, const Communicator& processes) {
    const int parts = static_cast<int>(counts.size()), workers = std::min(parts, processes.size());
    const int rank = processes.rank();
    std::vector<Node> own, waiting;
    if (parts > 0) waiting.push_back({0, parts});
    while (!waiting.empty()) {
      const Node node = waiting.back();
      waiting.pop_back();
      const int first = first_rank(node, parts, workers), last = last_rank(node, parts, workers);
      if (rank < first || last < rank) continue;
      if (first == last) {
        own.push_back(node);
      } else {
        waiting.push_back(node.right());
        waiting.push_back(node.left());
      }
    }
    return own;
  }

  void on_final(std::size_t variable) override {
    if (Bucket& bucket = buckets_[bucket_of_[variable]]; --bucket.missing == 0) begin_exchange(bucket);
    advance();
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
      const auto own = std::ranges::find(own_, node.begin, &Node::begin);
      return &bucket.own[static_cast<std::size_t>(own - own_.begin())];
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

  const Communicator processes_;
  const int parts_;    // number of micro-batches
  const int workers_;  // number of processes that hold micro-batches: the first ones; the others wait
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_;  // by variable
};

}  // namespace

std::unique_ptr<GradientSum> ParallelReducer::gradient_sum(const Parameters& parameters,
                                                           const std::vector<double>& counts) const {
  if (size() == 1) return GradientReducer::gradient_sum(parameters, counts);
  return std::make_unique<ParallelGradientSum>(parameters, counts, processes_);
}

std::unique_ptr<Optimizer> ParallelReducer::optimizer(const Parameters& parameters,
                                                      const OptimizerOptions& options) const {
  if (size() == 1) return GradientReducer::optimizer(parameters, options);
  return std::make_unique<ParallelOptimizer>(parameters, options, processes_,
                                             options_.shard_optimizer ? Moments::part : Moments::all);
}

}  // namespace heed
