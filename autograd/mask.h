#pragma once
#include <heed/autograd/array.h>

#include <span>

namespace heed {

// Which keys a query may attend: a boolean array that broadcasts to (B, heads, T_q, T_k), true = visible,
// and/or causal (query i sees key j when j <= i + T_k - T_q). By default everything is visible.
class Mask {
 public:
  Mask() = default;
  explicit Mask(Booleans visible) : visible_(std::move(visible)), has_visible_(true) {}

  static Mask causal();  // query i sees key j when j <= i + T_k - T_q
  // (B, 1, 1, T): key j of sequence b is visible when j < lengths[b].
  static Mask padding(std::span<const int> lengths, int T);

  // Visible where both are.
  Mask operator&(const Mask& other) const;

  // What is hidden from T_q queries among T_k keys, as one array that broadcasts to (B, heads, T_q, T_k).
  Booleans hidden(std::int64_t T_q, std::int64_t T_k) const;

  // What it was made of.
  bool is_causal() const { return causal_; }
  bool has_visible() const { return has_visible_; }
  const Booleans& visible() const { return visible_; }

 private:
  Booleans visible_;
  bool has_visible_ = false;
  bool causal_ = false;
};

}  // namespace heed
