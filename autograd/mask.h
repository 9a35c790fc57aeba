#pragma once
#include <heed/autograd/array.h>

#include <algorithm>
#include <limits>
#include <span>

namespace heed {

// Which keys a query may attend: a boolean array that broadcasts to (B, heads, T_q, T_k), true = visible,
// and/or a band of keys around the query's own, as of a causal mask. By default everything is visible.
class Mask {
 public:
  // Where the last query is the last key (past keys come before), or the first query the first key.
  enum class Align { end, start };
  // Query i is key i + T_k - T_q or key i, and sees `before` keys before it and `after` keys after it.
  struct Band {
    std::int64_t before = unlimited, after = unlimited;
    Align align = Align::end;
    static constexpr std::int64_t unlimited = std::numeric_limits<std::int32_t>::max();

    // Keys [begin(i), end(i)) are those that query i sees.
    std::int64_t begin(std::int64_t i, std::int64_t T_q, std::int64_t T_k) const {
      return std::clamp<std::int64_t>(key(i, T_q, T_k) - before, 0, T_k);
    }
    std::int64_t end(std::int64_t i, std::int64_t T_q, std::int64_t T_k) const {
      return std::clamp<std::int64_t>(key(i, T_q, T_k) + after + 1, 0, T_k);
    }
    std::int64_t key(std::int64_t i, std::int64_t T_q, std::int64_t T_k) const {
      return align == Align::end ? i + T_k - T_q : i;
    }
  };

  Mask() = default;
  explicit Mask(Booleans visible) : visible_(std::move(visible)), has_visible_(true) {}

  // Query i sees key j when j <= i + T_k - T_q, or, aligned at the start, when j <= i.
  static Mask causal(Align align = Align::end) { return window(Band::unlimited, 0, align); }
  // A sliding window (Beltagy et al. 2020, arXiv:2004.05150): itself, `before` keys before and `after` keys after.
  static Mask window(std::int64_t before, std::int64_t after, Align align = Align::end);
  // (B, 1, 1, T): key j of sequence b is visible when j < lengths[b].
  static Mask padding(std::span<const int> lengths, int T);

  // Visible where both are. Error for bands that are aligned at different ends.
  Mask operator&(const Mask& other) const;

  // The same band with other booleans.
  Mask with_visible(Booleans visible) const {
    Mask mask(std::move(visible));
    mask.band_ = band_;
    return mask;
  }

  // What is hidden from T_q queries among T_k keys, as one array that broadcasts to (B, heads, T_q, T_k).
  Booleans hidden(std::int64_t T_q, std::int64_t T_k) const;

  // What it was made of.
  bool has_band() const { return band_.before < Band::unlimited || band_.after < Band::unlimited; }
  const Band& band() const { return band_; }
  bool has_visible() const { return has_visible_; }
  const Booleans& visible() const { return visible_; }

 private:
  Booleans visible_;
  bool has_visible_ = false;
  Band band_;
};

}  // namespace heed
