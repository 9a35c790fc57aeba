#include "autograd/cpu/kernels.h"

#include <heed/autograd/mask.h>

namespace heed {
namespace {

Booleans operator&(const Booleans& a, const Booleans& b) {
  const Shape shape = broadcast_shapes("mask", a.shape(), b.shape());
  std::vector<std::uint8_t> values(static_cast<std::size_t>(shape.numel()));
  cpu::map(
      shape, values.data(), [](std::uint8_t u, std::uint8_t v) { return static_cast<std::uint8_t>(u && v); },
      cpu::operand<std::uint8_t>(a, shape), cpu::operand<std::uint8_t>(b, shape));
  return Booleans(shape, std::move(values));
}

}  // namespace

Mask Mask::causal() {
  Mask mask;
  mask.causal_ = true;
  return mask;
}

Mask Mask::padding(std::span<const int> lengths, int T) {
  std::vector<std::uint8_t> visible;
  visible.reserve(lengths.size() * static_cast<std::size_t>(T));
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] < 0 || lengths[b] > T) {
      fail("Mask::padding: length {} of sequence {} lies outside [0, {}]", lengths[b], b, T);
    }
    for (int j = 0; j < T; ++j) visible.push_back(j < lengths[b]);
  }
  return Mask(Booleans({static_cast<std::int64_t>(lengths.size()), 1, 1, T}, std::move(visible)));
}

Mask Mask::operator&(const Mask& other) const {
  Mask both = *this;
  both.causal_ = causal_ || other.causal_;
  if (!has_visible_) {
    both.visible_ = other.visible_;
    both.has_visible_ = other.has_visible_;
  } else if (other.has_visible_) {
    both.visible_ = visible_ & other.visible_;
  }
  return both;
}

Booleans Mask::hidden(std::int64_t T_q, std::int64_t T_k) const {
  Booleans shown = has_visible_ ? visible_ : Booleans({}, {1});
  if (causal_) {
    std::vector<std::uint8_t> past;
    for (std::int64_t i = 0; i < T_q; ++i) {
      for (std::int64_t j = 0; j < T_k; ++j) past.push_back(j <= i + T_k - T_q);
    }
    shown = shown & Booleans({T_q, T_k}, std::move(past));
  }
  std::vector<std::uint8_t> values;
  for (std::int64_t i = 0; i < shown.numel(); ++i) values.push_back(!shown[i]);
  return Booleans(shown.shape(), std::move(values));
}

}  // namespace heed
