#include "distributed/parallel_optimizer.h"

#include "distributed/internal/flat_tensors.h"

#include <heed/autograd/error.h>
#include <heed/autograd/ops.h>

#include <algorithm>
#include <iterator>
#include <span>

namespace heed {
namespace {

Tensor part_of_tensor(const Tensor& tensor, Share part) {
  const NoRecording constants;
  return slice(reshape(tensor.detach(), {-1}), 0, part.first, part.end);
}

std::vector<Tensor> tensors_of(const NamedTensors& named) {
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : named) tensors.push_back(tensor);
  return tensors;
}

// Returns the name of a parameter's number of steps in a state.
std::string count_name(const std::string& parameter) { return parameter + ".steps"; }

// Returns the tensor of this name, or null.
const Tensor* find(const NamedTensors& state, const std::string& name) {
  const auto found = std::ranges::find(state, name, &NamedTensors::value_type::first);
  return found == state.end() ? nullptr : &found->second;
}

void broadcast(const Communicator& processes, Tensor tensor) {
  dispatch(tensor.dtype(), [&]<class T>() {
    processes.broadcast(
        std::as_writable_bytes(std::span(tensor.mutable_data<T>(), static_cast<std::size_t>(tensor.numel()))));
  });
}

}  // namespace

ParallelOptimizer::ParallelOptimizer(const Parameters& parameters, const OptimizerOptions& options,
                                     const Communicator& processes, Moments moments)
    : ParallelOptimizer(work_of(parameters, options, processes, moments), options, processes) {}

ParallelOptimizer::ParallelOptimizer(Work work, const OptimizerOptions& options, const Communicator& processes)
    : Optimizer(work.store, options), processes_(processes), work_(std::move(work)) {}

ParallelOptimizer::Work ParallelOptimizer::work_of(const Parameters& parameters, const OptimizerOptions& options,
                                                   const Communicator& processes, Moments moments) {
  Work work{.store = parameters, .pieces = {}, .trained = {}};
  for (const auto& [name, parameter] : parameters) {
    if (parameter.is_frozen()) continue;
    work.trained.emplace_back(name, parameter);
    work.numel += parameter.numel();
  }
  if (moments == Moments::all || processes.size() == 1) return work;
  if (!options.groups.empty() || options.decay_matrices_only ||
      options.missing_gradient != OptimizerOptions::MissingGradient::error) {
    fail(
        "ParallelOptimizer: Moments::part treats all parameters alike, without groups, decay_matrices_only and "
        "missing_gradient");
  }
  if (options.method == OptimizerOptions::Method::muon) {
    fail("ParallelOptimizer: muon updates whole matrices, and Moments::part cuts them; use Moments::all");
  }
  if (work.numel < processes.size()) {
    fail("ParallelOptimizer: {} processes are more than the {} numbers to share", processes.size(), work.numel);
  }
  for (const auto& [name, parameter] : work.trained) {
    if (!parameter.is_contiguous()) fail("ParallelOptimizer: parameter '{}' is a view with gaps", name);
  }
  work.store = Parameters();
  const Share own = share_of(work.numel, processes.rank(), processes.size());
  FlatTensors(tensors_of(work.trained)).pieces(own, [&](std::size_t i, Share part) {
    const auto& [name, parameter] = work.trained[i];
    work.store.add(name, variable(part_of_tensor(parameter, part)));
    work.pieces.push_back({name, parameter, work.store[name], part});
  });
  return work;
}

const Gradients& ParallelOptimizer::own_gradients(const Gradients& gradients) {
  if (is_whole()) return gradients;
  for (const Piece& piece : work_.pieces) {
    if (piece.parameter.is_frozen()) continue;
    own_.set(piece.variable, part_of_tensor(gradients[piece.parameter], piece.part));
  }
  return own_;
}

void ParallelOptimizer::on_updated() {
  if (is_whole()) return;
  own_ = {};
  const FlatTensors all(tensors_of(work_.trained));
  const int rank = processes_.rank(), size = processes_.size();
  Exchange exchange(processes_);
  for (int turn = 1; turn < size; ++turn) exchange.send(all, segment(rank), (rank + turn) % size);
  for (int from = 0; from < size; ++from) {
    if (from != rank) exchange.receive(all, segment(from), from, Arriving::replaces);
  }
  exchange.finish();
}

std::vector<std::string> ParallelOptimizer::kinds() const {
  std::vector<std::string> kinds;
  for (const auto& [name, tensor] : Optimizer::state()) {
    const std::string kind = name.substr(name.rfind('.') + 1);
    if (kind != "steps" && std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
  }
  return kinds;
}

std::vector<double> ParallelOptimizer::counts() const {
  const NamedTensors own = complete_state();
  std::vector<double> counts;
  for (const auto& [name, parameter] : work_.trained) {
    const Tensor* const count = find(own, count_name(name));
    counts.push_back(count ? count->item() : 0);  // of another process
  }
  const std::vector<double> all = processes_.gather(counts);
  for (std::size_t i = 0; i < all.size(); ++i) {
    double& count = counts[i % counts.size()];
    count = std::max(count, all[i]);
  }
  return counts;
}

NamedTensors ParallelOptimizer::blank_state(const std::vector<bool>& has_count) const {
  NamedTensors state;
  for (const auto& [name, parameter] : work_.trained) {
    for (const std::string& kind : kinds()) {
      state.emplace_back(name + "." + kind, zeros(parameter.shape(), parameter.dtype()));
    }
  }
  for (std::size_t i = 0; i < has_count.size(); ++i) {
    if (has_count[i]) state.emplace_back(count_name(work_.trained[i].first), zeros({}, DType::float64));
  }
  state.push_back(Optimizer::state().back());  // the number of steps
  return state;
}

NamedTensors ParallelOptimizer::state() const {
  if (is_whole()) return Optimizer::state();
  const std::vector<double> counts = this->counts();
  NamedTensors all;
  if (processes_.rank() == 0) {
    std::vector<bool> differs;
    for (const double count : counts) differs.push_back(count != static_cast<double>(steps()));
    all = blank_state(differs);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (differs[i]) find(all, count_name(work_.trained[i].first))->copy_from(full({}, counts[i], DType::float64));
    }
  }
  exchange_moments(all, To::first);
  return all;
}

void ParallelOptimizer::load_state(const NamedTensors& state, const std::string& source) {
  const bool is_first = processes_.rank() == 0;
  if (is_whole()) {
    if (is_first) Optimizer::load_state(state, source);
    const NamedTensors own = complete_state();
    for (const auto& [name, tensor] : own) broadcast(processes_, tensor);
    Optimizer::load_state(own, source);  // its moments are there; it takes the numbers of steps
    return;
  }
  NamedTensors all;
  const Tensor counts({std::ssize(work_.trained) + 1}, DType::float64);  // of each parameter, and of the optimiser
  if (is_first) {
    std::vector<bool> is_given;
    for (const auto& [name, parameter] : work_.trained) is_given.push_back(find(state, count_name(name)) != nullptr);
    all = blank_state(is_given);
    copy_by_name(state, all, source);
    counts.copy_from(broadcast_to(all.back().second, counts.shape()));
    for (std::size_t i = 0; i < is_given.size(); ++i) {
      if (is_given[i]) counts[static_cast<std::int64_t>(i)].copy_from(*find(all, count_name(work_.trained[i].first)));
    }
  }
  broadcast(processes_, counts);
  exchange_moments(all, To::owners);
  const NamedTensors own = complete_state();
  for (std::size_t i = 0; i < work_.trained.size(); ++i) {
    const Tensor* const count = find(own, count_name(work_.trained[i].first));
    if (count) count->copy_from(counts[static_cast<std::int64_t>(i)]);
  }
  own.back().second.copy_from(counts[-1]);
  Optimizer::load_state(own, source);
}

void ParallelOptimizer::exchange_moments(const NamedTensors& all, To to) const {
  const auto of_kind = [](const NamedTensors& state, const std::string& kind) {
    NamedTensors found;
    std::ranges::copy_if(state, std::back_inserter(found),
                         [&](const auto& each) { return each.first.ends_with("." + kind); });
    return FlatTensors(tensors_of(found));
  };
  for (const std::string& kind : kinds()) {
    const FlatTensors own = of_kind(Optimizer::state(), kind), whole = of_kind(all, kind);
    Exchange exchange(processes_);
    if (processes_.rank() > 0) {
      to == To::first ? exchange.send(own, {0, own.numel()}, 0)
                      : exchange.receive(own, {0, own.numel()}, 0, Arriving::replaces);
    } else {
      for (std::size_t i = 0; i < work_.pieces.size(); ++i) {
        Tensor there = part_of_tensor(whole.tensors()[i], work_.pieces[i].part), here = own.tensors()[i];
        to == To::first ? there.copy_from(here) : here.copy_from(there);
      }
      for (int rank = 1; rank < processes_.size(); ++rank) {
        to == To::first ? exchange.receive(whole, segment(rank), rank, Arriving::replaces)
                        : exchange.send(whole, segment(rank), rank);
      }
    }
    exchange.finish();
  }
}

}  // namespace heed
