#pragma once
#include "distributed/communicator.h"

#include <heed/autograd/tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace heed {

/// Contiguous tensors of one dtype as one long array: the elements of the first tensor, then those of the second, and
/// so on.
class FlatTensors {
 public:
  FlatTensors() = default;
  explicit FlatTensors(std::vector<Tensor> tensors);
  bool empty() const { return tensors_.empty(); }
  std::int64_t numel() const { return ends_.empty() ? 0 : ends_.back(); }
  const std::vector<Tensor>& tensors() const { return tensors_; }

  /// Calls f(i, part) for the elements of `range`, tensor by tensor. `part` is the share in tensor i, counted from its
  /// first.
  template <class F>
  void pieces(Share range, F&& f) const {
    for (std::size_t i = tensor_at(range.first); range.first < range.end; ++i) {
      const std::int64_t before = ends_[i] - tensors_[i].numel(), stop = std::min(range.end, ends_[i]);
      f(i, Share{range.first - before, stop - before});
      range.first = stop;
    }
  }
  /// Returns the index of the tensor that holds element i.
  std::size_t tensor_at(std::int64_t i) const;

 private:
  std::vector<Tensor> tensors_;
  std::vector<std::int64_t> ends_;
};

/// Sends elements of FlatTensors in messages of at most 1 MiB, without waiting. The elements must not change until
/// wait().
class Sending {
 public:
  explicit Sending(const Communicator& processes) : processes_(processes) {}
  void send(const FlatTensors& from, Share range, int to);
  void wait();

 private:
  const Communicator& processes_;
  std::deque<std::vector<std::byte>> packed_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
};

/// Receives the messages of Sending::send(), several ahead.
enum class Arriving { replaces, is_added };
void receive(const Communicator& processes, const FlatTensors& into, Share range, int from, Arriving how);

/// Adds the elements of `range` to those of `total`.
void add(const FlatTensors& total, const FlatTensors& more, Share range);

}  // namespace heed
