#pragma once
#include "distributed/communicator.h"

#include <heed/autograd/tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
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

enum class Arriving { replaces, is_added };

/// Sends, receives and additions of elements of FlatTensors. They happen in order, each as soon as it need not wait. The other
/// processes ask for the same messages, in the same order and on the same channel. The FlatTensors stay until all is done.
///
///   Exchange exchange(processes);
///   exchange.send(mine, {0, 100}, 1);
///   exchange.receive(sum, {100, 200}, 1, Arriving::is_added);
///   exchange.finish();
class Exchange {
 public:
  explicit Exchange(const Communicator& processes, int channel = 0) : processes_(processes), channel_(channel) {}
  Exchange(const Exchange&) = delete;

  /// Elements that are sent must not change before all is done, or before the end of await_sent().
  void send(const FlatTensors& from, Share range, int to);
  void await_sent();
  void receive(const FlatTensors& into, Share range, int from, Arriving how);
  void add(const FlatTensors& total, const FlatTensors& more, Share range);

  /// Does what is possible without waiting. Returns whether all is done.
  bool advance();
  /// Returns when all is done.
  void finish();

 private:
  struct Message {
    Share part;
    std::vector<std::byte> bytes;  // empty: the message is in the tensors' own memory
    std::unique_ptr<Transfer> transfer;
  };
  bool is_sent();

  const Communicator processes_;
  const int channel_;
  std::deque<std::function<bool()>> steps_;  // each returns whether it is done
  std::deque<Message> sent_;
};

}  // namespace heed
