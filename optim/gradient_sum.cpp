#include <heed/autograd/error.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/profile.h>
#include <heed/optim/gradient_sum.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

namespace heed {
namespace {

std::vector<double> checked_counts(std::vector<double> counts) {
  if (counts.empty()) fail("mean_gradients: expected at least 1 micro-batch, got 0");
  for (const double count : counts) {
    if (count >= 0 && std::isfinite(count)) continue;
    fail("mean_gradients: the number of predictions of each micro-batch must be finite and at least 0, got {}", count);
  }
  return counts;
}

}  // namespace

int GradientSum::Node::middle() const {
  return begin + static_cast<int>(std::bit_ceil(static_cast<unsigned>(end - begin)) / 2);
}

GradientSum::GradientSum(const Parameters& parameters, std::vector<double> counts)
    : GradientSum(parameters, counts, std::vector<Node>{{0, static_cast<int>(counts.size())}}, counts.size() == 1) {}

GradientSum::GradientSum(const Parameters& parameters, std::vector<double> counts, std::vector<Node> own, bool is_whole)
    : counts_(checked_counts(std::move(counts))),
      own_(std::move(own)),
      is_whole_(is_whole),
      total_(std::accumulate(counts_.begin(), counts_.end(), 0.0)),
      next_(own_.empty() ? 0 : own_[0].begin) {
  for (const auto& [name, parameter] : parameters) {
    if (!parameter.is_frozen()) variables_.push_back(parameter);
  }
  std::ranges::reverse(variables_);
  for (std::size_t i = 0; i < variables_.size(); ++i) index_[variables_[i].tape_node().node] = i;
}

std::vector<int> GradientSum::parts() const {
  std::vector<int> parts;
  for (const Node& node : own_) {
    for (int part = node.begin; part < node.end; ++part) {
      if (counts_[static_cast<std::size_t>(part)] > 0 || is_whole_) parts.push_back(part);
    }
  }
  return parts;
}

void GradientSum::backward(const Tensor& loss) {
  skip_empty();
  if (node_ == own_.size()) fail("GradientSum: backward() was called for more micro-batches than parts() has");
  losses_.push_back(loss.item());
  begin_part();
  if (is_whole_) {
    whole_ = heed::backward(loss);
    return end_part();
  }
  const double count = counts_[static_cast<std::size_t>(next_)];
  std::vector<bool> is_missing(variables_.size(), true);
  heed::backward(counts_.size() == 1 ? loss : loss * (count / total_), [&](const Tensor& variable, Tensor gradient) {
    const auto found = index_.find(variable.tape_node().node);
    if (found == index_.end()) return;
    is_missing[found->second] = false;
    if (!gradient.may_be_overwritten()) gradient = gradient.clone();
    take(found->second, std::move(gradient));
  });
  const auto first = std::find(is_missing.rbegin(), is_missing.rend(), true);
  if (first != is_missing.rend()) {
    fail("gradients: none for {}: the loss does not depend on it",
         described(variables_[static_cast<std::size_t>(is_missing.rend() - first) - 1]));
  }
  end_part();
}

MeanGradients GradientSum::mean() {
  finish();
  if (is_whole_) return {losses_, std::move(whole_)};
  MeanGradients mean{losses_, {}};
  for (std::size_t i = 0; i < variables_.size(); ++i) mean.gradients.set(variables_[i], sums_[0][i]);
  return mean;
}

void GradientSum::finish() {
  skip_empty();
  if (node_ < own_.size()) fail("GradientSum: expected the loss of micro-batch {} before mean()", next_);
}

// Micro-batches without predictions have gradients of 0.
void GradientSum::skip_empty() {
  while (!is_whole_ && node_ < own_.size() && counts_[static_cast<std::size_t>(next_)] == 0) {
    losses_.push_back(0);
    begin_part();
    for (std::size_t i = 0; i < variables_.size(); ++i) take(i, zeros(variables_[i].shape(), variables_[i].dtype()));
    end_part();
  }
}

// The sums of left halves form a binary counter: micro-batch i of a node completes as many as i has trailing ones in binary, the
// last one completes all.
void GradientSum::begin_part() {
  const Node& node = own_[node_];
  if (next_ == node.begin) sums_.emplace_back(variables_.size());
  merged_ = next_ == node.end - 1
                ? left_.size()
                : static_cast<std::size_t>(std::countr_one(static_cast<unsigned>(next_ - node.begin)));
  part_ = Sum(variables_.size());
}

void GradientSum::take(std::size_t variable, Tensor gradient) {
  for (std::size_t k = 0; k < merged_; ++k) {
    add_in_place(gradient, std::exchange(left_[left_.size() - 1 - k][variable], {}));
  }
  note_work("(gradient sum)");
  const bool is_last = next_ == own_[node_].end - 1;
  (is_last ? sums_.back() : part_)[variable] = std::move(gradient);
  if (is_last && node_ + 1 == own_.size()) on_final(variable);
}

void GradientSum::end_part() {
  const Node& node = own_[node_];
  if (next_ == node.end - 1) {
    left_.clear();
    if (++node_ < own_.size()) next_ = own_[node_].begin;
  } else {
    left_.resize(left_.size() - merged_);
    left_.push_back(std::move(part_));
    ++next_;
  }
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
