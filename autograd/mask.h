#pragma once
#include <heed/autograd/array.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string>

namespace heed {

/// The keys that each query may attend to: a boolean array, true = visible, and/or a band of keys around the query's own
/// position, such as a causal mask. By default every key is visible.
///
/// The array broadcasts to the weights, (B, heads, T_q, T_k) in layers: (T_q, T_k) is one for all, (B, 1, T_q, T_k) one per
/// text, (1, heads, T_q, T_k) one per head. attention() throws Error for three axes there, which may be either. For weights
/// (B, T_q, T_k), without heads, (B, T_q, T_k) and (B, 1, T_q, T_k) are one per text.
///
///     const Mask mask = Mask::causal() & Mask::padding(lengths, 12);   // lengths: tokens per text
///     const AttentionResult y = attention(Q, K, V, {.mask = mask});
class Mask {
 public:
  /// `end`: the last query is at the position of the last key (past keys come first). `start`: the first query is at the
  /// first key.
  enum class Align { end, start };
  /// Query i is at key position i + T_k - T_q (end) or i (start). It sees `before` keys before it and `after` keys after
  /// it.
  struct Band {
    std::int64_t before = unlimited, after = unlimited;
    Align align = Align::end;
    static constexpr std::int64_t unlimited = std::numeric_limits<std::int32_t>::max();

    /// Query i sees the keys [begin(i), end(i)).
    std::int64_t begin(std::int64_t i, std::int64_t T_q, std::int64_t T_k) const {
      return std::clamp<std::int64_t>(key(i, T_q, T_k) - before, 0, T_k);
    }
    /// Returns the end of the visible keys.
    std::int64_t end(std::int64_t i, std::int64_t T_q, std::int64_t T_k) const {
      return std::clamp<std::int64_t>(key(i, T_q, T_k) + after + 1, 0, T_k);
    }
    /// Returns the key position of query i.
    std::int64_t key(std::int64_t i, std::int64_t T_q, std::int64_t T_k) const {
      return align == Align::end ? i + T_k - T_q : i;
    }
  };

  Mask() = default;
  /// True: visible; the shapes are those above.
  explicit Mask(Booleans visible) : visible_(std::move(visible)), has_visible_(true) {}

  /// Returns a causal mask: query i sees key j when j <= i + T_k - T_q (end) or j <= i (start).
  static Mask causal(Align align = Align::end) { return window(Band::unlimited, 0, align); }
  /// Returns a sliding window (Beltagy et al. 2020, arXiv:2004.05150): the query's own key, `before` keys before it and
  /// `after` keys after it.
  static Mask window(std::int64_t before, std::int64_t after, Align align = Align::end);
  /// Returns a mask (B, 1, 1, T): key j of sequence b is visible when j < lengths[b].
  static Mask padding(std::span<const int> lengths, int T);

  /// Returns a mask of the keys that both masks show. Throws Error when their bands have different alignments, or when one has three
  /// axes and the other four.
  Mask operator&(const Mask& other) const;

  /// Returns a mask with the same band and other booleans.
  Mask with_visible(Booleans visible) const {
    Mask mask(std::move(visible));
    mask.band_ = band_;
    return mask;
  }

  /// Returns the hidden keys of T_q queries among T_k keys as one array that broadcasts to (B, heads, T_q, T_k). Throws Error for
  /// booleans of other numbers of queries or keys.
  Booleans hidden(std::int64_t T_q, std::int64_t T_k) const;

  /// Return the parts of the mask.
  bool has_band() const { return band_.before < Band::unlimited || band_.after < Band::unlimited; }
  const Band& band() const& { return band_; }            ///< the band
  Band band() && { return band_; }                       ///< of a temporary: a copy
  bool has_visible() const { return has_visible_; }      ///< whether it has booleans
  const Booleans& visible() const& { return visible_; }  ///< the booleans
  Booleans visible() && { return visible_; }             ///< of a temporary: a handle

 private:
  Booleans visible_;
  bool has_visible_ = false;
  Band band_;
};

namespace detail {
/// Says, for messages, which shapes a mask of three axes may have: "the shape (2, 1, 3, 3) for one per text, or ...".
std::string four_axes(const Shape& three);
}  // namespace detail

}  // namespace heed
