#include <heed/autograd/ops.h>
#include <heed/nn/key_value_cache.h>

#include <algorithm>

namespace heed {
namespace {

// Both (B, kv_heads, T, d), with any T.
void check_follows(const Tensor& held, const Tensor& x) {
  const bool fits = held.size(0) == x.size(0) && held.size(1) == x.size(1) && held.size(3) == x.size(3);
  if (fits && held.dtype() == x.dtype()) return;
  fail("KeyValueCache: {} {} does not follow what is held, {} ({}, {}, T, {})", to_string(x.dtype()),
       to_string(x.shape()), to_string(held.dtype()), held.size(0), held.size(1), held.size(3));
}

void check_length(std::int64_t length) {
  if (length < 0) fail("KeyValueCache::truncate: expected a length of at least 0, got {}", length);
}

// Writes `x`, the tokens from `length` on along `axis`, into `buffer`, which grows if necessary.
Tensor appended(Tensor& buffer, const Tensor& x, int axis, std::int64_t length) {
  const std::int64_t T = x.size(axis), end = length + T;
  if (!buffer.defined() || end > buffer.size(axis)) {
    Shape shape = x.shape();
    shape[axis] = std::max<std::int64_t>(2 * length, end + 64);
    Tensor larger(shape, x.dtype());
    if (length > 0) {
      const Tensor held = slice(buffer, axis, 0, length);
      buffer = {};
      static_cast<void>(appended(larger, held, axis, 0));
    }
    buffer = larger;
  }
  const Tensor dense = contiguous(x.detach());
  const std::int64_t inner = buffer.strides()[axis], rows = dense.numel() / std::max<std::int64_t>(1, T * inner);
  dispatch(x.dtype(), [&]<class T_>() {
    const T_* from = dense.data<T_>();
    T_* to = buffer.mutable_data<T_>();
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy_n(from + row * T * inner, T * inner, to + (row * buffer.size(axis) + length) * inner);
    }
  });
  return slice(buffer, axis, 0, end);
}

}  // namespace

KeyValueCache::KeyValueCache(const KeyValueCache& other) : length_(other.length_), layer_(other.layer_) {
  if (other.K_.defined()) K_ = other.K_.clone(), V_ = other.V_.clone();
}

void KeyValueCache::truncate(std::int64_t length) {
  check_length(length);
  length_ = std::min(length_, length);
  if (length_ == 0) *this = {};
}

void KeyValueCache::take_layer(const Tensor& weight) {
  const std::int64_t layer = weight.tape_node().node;
  if (layer_ != 0 && layer_ != layer) {
    fail(
        "KeyValueCache: it holds keys and values of another layer or model; give each its own, or truncate(0) this "
        "one");
  }
  layer_ = layer;
}

void truncate(Cache& cache, std::int64_t length) {
  check_length(length);
  for (KeyValueCache& layer : cache) layer.truncate(length);
}

void KeyValueCache::select(const Ids& texts) {
  if (!K_.defined()) fail("KeyValueCache::select: there are no texts yet");
  K_ = index_select(K_, texts), V_ = index_select(V_, texts);
}

std::pair<Tensor, Tensor> KeyValueCache::append(const Tensor& K, const Tensor& V) {
  for (const Tensor* x : {&K, &V}) {
    if (x->rank() != 4) fail("KeyValueCache: expected (B, kv_heads, T, d), got {}", to_string(x->shape()));
    if (x->tape_node().recording != 0) {
      fail(
          "KeyValueCache: it holds constants, and these keys and values are recorded; append within a NoRecording, or "
          "pass whole "
          "texts without a cache");
    }
  }
  if (K_.defined()) check_follows(transpose(K_), K), check_follows(V_, V);
  std::pair<Tensor, Tensor> all{transpose(appended(K_, transpose(K), 3, length_)), appended(V_, V, 2, length_)};
  length_ += K.size(2);
  return all;
}

}  // namespace heed
