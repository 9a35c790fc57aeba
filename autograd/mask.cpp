#include "autograd/cpu/kernels.h"

#include <heed/autograd/mask.h>
#include <heed/autograd/ops.h>

namespace heed {
Mask Mask::window(std::int64_t before, std::int64_t after, Align align) {
  if (before < 0 || after < 0)
    fail("Mask::window: expected numbers of keys of at least 0, got {} and {}", before, after);
  Mask mask;
  mask.band_ = {std::min(before, Band::unlimited), std::min(after, Band::unlimited), align};
  return mask;
}

Mask Mask::padding(std::span<const int> lengths, int T) {
  const Shape shape{static_cast<std::int64_t>(lengths.size()), 1, 1, T};
  std::vector<std::uint8_t> visible = cpu::new_values<std::uint8_t>("Mask::padding", shape);
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] < 0 || lengths[b] > T) {
      fail("Mask::padding: length {} of sequence {} lies outside [0, {}]", lengths[b], b, T);
    }
    std::fill_n(visible.begin() + static_cast<std::ptrdiff_t>(b) * T, lengths[b], std::uint8_t{1});
  }
  return Mask(Booleans(shape, std::move(visible)));
}

std::string detail::four_axes(const Shape& three) {
  return fmt::format("the shape {} for one per text, or {} for one per head",
                     to_string(Shape{three[0], 1, three[1], three[2]}),
                     to_string(Shape{1, three[0], three[1], three[2]}));
}

Mask Mask::operator&(const Mask& other) const {
  Mask both = *this;
  if (has_band() && other.has_band() && band_.align != other.band_.align) {
    fail("mask: cannot combine bands with different alignments, one at the start and one at the end");
  }
  both.band_ = {std::min(band_.before, other.band_.before), std::min(band_.after, other.band_.after),
                has_band() ? band_.align : other.band_.align};
  if (!has_visible_) {
    both.visible_ = other.visible_;
    both.has_visible_ = other.has_visible_;
  } else if (other.has_visible_) {
    const int fewer = std::min(visible_.rank(), other.visible_.rank());
    if (fewer == 3 && visible_.rank() != other.visible_.rank()) {
      const Shape& three = (visible_.rank() == 3 ? visible_ : other.visible_).shape();
      fail("mask: cannot combine masks of shapes {} and {}. Give the one of three axes {}", to_string(visible_.shape()),
           to_string(other.visible_.shape()), detail::four_axes(three));
    }
    broadcast_shapes("mask", visible_.shape(), other.visible_.shape());
    both.visible_ = visible_ & other.visible_;
  }
  return both;
}

Booleans Mask::hidden(std::int64_t T_q, std::int64_t T_k) const {
  checked_numel("Mask::hidden", {T_q, T_k});
  const Shape& own = visible_.shape();
  const auto fits = [&](int axis, std::int64_t size) {
    return own.rank() < axis || own[-axis] == 1 || own[-axis] == size;
  };
  if (has_visible_ && !(fits(1, T_k) && fits(2, T_q))) {
    fail("Mask::hidden: a mask of shape {} does not fit scores of shape {}", to_string(own),
         to_string(Shape{T_q, T_k}));
  }
  Booleans shown = has_visible_ ? visible_ : Booleans({}, {1});
  if (has_band()) {
    std::vector<std::uint8_t> inside = cpu::new_values<std::uint8_t>("Mask::hidden", {T_q, T_k});
    for (std::int64_t i = 0; i < T_q && T_k > 0; ++i) {
      const std::int64_t begin = band_.begin(i, T_q, T_k), end = band_.end(i, T_q, T_k);
      if (begin < end) std::fill(inside.begin() + i * T_k + begin, inside.begin() + i * T_k + end, std::uint8_t{1});
    }
    shown = shown & Booleans({T_q, T_k}, std::move(inside));
  }
  return !shown;
}

}  // namespace heed
