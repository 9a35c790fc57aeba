#include "distributed/internal/flat_tensors.h"

#include "distributed/internal/transport.h"

#include <heed/autograd/error.h>
#include <heed/autograd/machine.h>

#include <cstring>

namespace heed {
namespace {

constexpr std::int64_t bytes_per_message = 1 << 20;

std::int64_t elements_per_message(const FlatTensors& flat) {
  return bytes_per_message / static_cast<std::int64_t>(size_of(flat.tensors()[0].dtype()));
}

// Returns the memory of a part of one tensor.
std::span<std::byte> bytes_of(const Tensor& tensor, Share part) {
  const auto size = static_cast<std::int64_t>(size_of(tensor.dtype()));
  Tensor written = tensor;
  std::byte* const data =
      dispatch(tensor.dtype(), [&]<class T>() { return reinterpret_cast<std::byte*>(written.mutable_data<T>()); });
  return {data + part.first * size, static_cast<std::size_t>((part.end - part.first) * size)};
}

void copy_out(const FlatTensors& from, Share range, std::byte* to) {
  from.pieces(range, [&](std::size_t i, Share part) {
    const auto bytes = bytes_of(from.tensors()[i], part);
    std::memcpy(to, bytes.data(), bytes.size());
    to += bytes.size();
  });
}

void add_numbers(DType dtype, std::span<std::byte> total, const std::byte* more) {
  dispatch(dtype, [&]<class T>() {
    T* const sum = reinterpret_cast<T*>(total.data());
    const T* const terms = reinterpret_cast<const T*>(more);
    constexpr std::int64_t grain = 16384;
    parallel_for(std::ssize(total) / static_cast<std::int64_t>(sizeof(T)), grain, [=](std::int64_t b, std::int64_t e) {
      for (std::int64_t i = b; i < e; ++i) sum[i] += terms[i];
    });
  });
}

void take_in(const FlatTensors& into, Share range, const std::byte* from, Arriving how) {
  into.pieces(range, [&](std::size_t i, Share part) {
    const auto bytes = bytes_of(into.tensors()[i], part);
    how == Arriving::is_added ? add_numbers(into.tensors()[i].dtype(), bytes, from)
                              : static_cast<void>(std::memcpy(bytes.data(), from, bytes.size()));
    from += bytes.size();
  });
}

// Returns the memory of the elements if one tensor holds all of them, else an empty span.
std::span<std::byte> in_one_tensor(const FlatTensors& flat, Share range) {
  std::span<std::byte> bytes;
  if (flat.tensor_at(range.first) != flat.tensor_at(range.end - 1)) return bytes;
  flat.pieces(range, [&](std::size_t i, Share part) { bytes = bytes_of(flat.tensors()[i], part); });
  return bytes;
}

std::size_t bytes_in(const FlatTensors& flat, Share range) {
  return static_cast<std::size_t>(range.end - range.first) * size_of(flat.tensors()[0].dtype());
}

}  // namespace

FlatTensors::FlatTensors(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {
  std::int64_t end = 0;
  for (const Tensor& tensor : tensors_) {
    if (tensor.dtype() != tensors_[0].dtype()) fail("ParallelOptimizer: the parameters must have one dtype");
    ends_.push_back(end += tensor.numel());
  }
}

std::size_t FlatTensors::tensor_at(std::int64_t i) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(ends_, i) - ends_.begin());
}

void Exchange::send(const FlatTensors& from, Share range, int to) {
  steps_.push_back([=, this, &from] {
    const std::int64_t most = elements_per_message(from);
    for (Share part = range; part.first < range.end; part.first = part.end) {
      part.end = std::min(range.end, part.first + most);
      Message& message = sent_.emplace_back(Message{part, {}, {}});
      std::span<const std::byte> bytes = in_one_tensor(from, part);
      if (bytes.empty()) {
        message.bytes.resize(bytes_in(from, part));
        copy_out(from, part, message.bytes.data());
        bytes = message.bytes;
      }
      message.transfer = processes_.send(bytes, to, channel_);
    }
    return true;
  });
}

void Exchange::receive(const FlatTensors& into, Share range, int from, Arriving how) {
  steps_.push_back([=, this, &into, ahead = std::make_shared<std::deque<Message>>()]() mutable {
    constexpr std::size_t max_ahead = 4;
    const std::int64_t most = elements_per_message(into);
    while (range.first < range.end || !ahead->empty()) {
      while (range.first < range.end && ahead->size() < max_ahead) {
        const Share part{range.first, std::min(range.end, range.first + most)};
        Message& message = ahead->emplace_back(Message{part, {}, {}});
        std::span<std::byte> bytes;
        if (how == Arriving::replaces) bytes = in_one_tensor(into, part);
        if (bytes.empty()) {
          message.bytes.resize(bytes_in(into, part));
          bytes = message.bytes;
        }
        message.transfer = processes_.receive(bytes, from, channel_);
        range.first = part.end;
      }
      const Message& first = ahead->front();
      if (!first.transfer->is_done()) return false;
      if (!first.bytes.empty()) take_in(into, first.part, first.bytes.data(), how);
      ahead->pop_front();
    }
    return true;
  });
}

void Exchange::add(const FlatTensors& total, const FlatTensors& more, Share range) {
  steps_.push_back([=, &total, &more] {
    total.pieces(range, [&](std::size_t i, Share part) {
      const Tensor& sum = total.tensors()[i];
      add_numbers(sum.dtype(), bytes_of(sum, part), bytes_of(more.tensors()[i], part).data());
    });
    return true;
  });
}

void Exchange::await_sent() {
  steps_.push_back([this] { return is_sent(); });
}

bool Exchange::is_sent() {
  while (!sent_.empty() && sent_.front().transfer->is_done()) sent_.pop_front();
  return sent_.empty();
}

bool Exchange::advance() {
  while (!steps_.empty() && steps_.front()()) steps_.pop_front();
  return steps_.empty() && is_sent();
}

void Exchange::finish() {
  await([this] { return advance(); });
}

}  // namespace heed
