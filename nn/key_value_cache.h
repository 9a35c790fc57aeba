#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/tensor.h>

#include <exception>
#include <utility>
#include <vector>

namespace heed {

/// Keys and values of the tokens so far, for a text that is processed piece by piece. Each attention layer has its own.
///
///     KeyValueCache cache;
///     const auto [K, V] = cache.append(k, v);   // k, v (B, kv_heads, 1, d) -> (B, kv_heads, cache.length(), d)
///
/// A copy has memory of its own, so that two continuations of one text do not disturb each other.
class KeyValueCache {
 public:
  KeyValueCache() = default;
  KeyValueCache(const KeyValueCache& other);                      ///< copies the memory
  KeyValueCache(KeyValueCache&& other) noexcept { swap(other); }  ///< leaves `other` empty
  /// Takes over a copy, or an object that is moved from and left empty.
  KeyValueCache& operator=(KeyValueCache other) noexcept {
    swap(other);
    return *this;
  }

  std::int64_t length() const { return length_; }  ///< number of tokens
  /// Appends K (B, kv_heads, T, d_k) and V (B, kv_heads, T, d_v) of the next tokens. Returns those of all tokens as
  /// views, valid until the next call. Throws Error when they are recorded (use NoRecording), or have other sizes than
  /// the cached ones.
  std::pair<Tensor, Tensor> append(const Tensor& K, const Tensor& V);
  /// Removes the tokens behind the first `length`. Throws Error when it is negative. An empty cache serves any layer and number of
  /// texts.
  void truncate(std::int64_t length);
  /// Notes that the layer with this weight fills the cache. Throws Error when another one filled it.
  void take_layer(const Tensor& weight);
  /// Keeps these texts of the batch, in this order. Throws Error for one that is not there.
  void select(const Ids& texts);

 private:
  void swap(KeyValueCache& other) noexcept {
    std::swap(K_, other.K_), std::swap(V_, other.V_), std::swap(length_, other.length_),
        std::swap(layer_, other.layer_);
  }

  /// (B, kv_heads, d_k, capacity), in the order in which products with queries read them, and (B, kv_heads, capacity,
  /// d_v). The first `length_` tokens are filled.
  Tensor K_, V_;
  std::int64_t length_ = 0;
  std::int64_t layer_ = 0;  // the number of the variable that is its weight; 0: unknown
};

/// Keys and values of the tokens so far, per layer. Empty: no tokens.
using Cache = std::vector<KeyValueCache>;
/// Returns the number of tokens that `cache` holds.
inline std::int64_t length(const Cache& cache) { return cache.empty() ? 0 : cache[0].length(); }
/// Removes the tokens behind the first `length` in every layer. Throws Error when it is negative.
void truncate(Cache& cache, std::int64_t length);
/// Keeps these texts of the batch, in this order, in every layer.
inline void select(Cache& cache, const Ids& texts) {
  for (KeyValueCache& layer : cache) layer.select(texts);
}

/// Removes, if an error ends its scope, the tokens that were appended to `cache` within it.
class CacheGuard {
 public:
  /// Notes the length of the cache, which must outlive this object.
  [[nodiscard]] explicit CacheGuard(Cache& cache) : cache_(cache), length_(length(cache)) {}
  ~CacheGuard() {
    if (std::uncaught_exceptions() > errors_) truncate(cache_, length_);
  }
  CacheGuard(const CacheGuard&) = delete;
  CacheGuard& operator=(const CacheGuard&) = delete;

 private:
  Cache& cache_;
  std::int64_t length_;
  int errors_ = std::uncaught_exceptions();
};

}  // namespace heed
