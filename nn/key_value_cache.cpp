#include <heed/autograd/ops.h>
#include <heed/nn/key_value_cache.h>

#include <algorithm>

namespace heed {
namespace {

// Writes `x`, of the tokens from `length` on, into `buffer`, which grows where it is too small.
Tensor appended(Tensor& buffer, const Tensor& x, std::int64_t length) {
  const std::int64_t B = x.size(0), heads = x.size(1), T = x.size(2), d = x.size(3), end = length + T;
  const bool fits = !buffer.defined() || (buffer.size(0) == B && buffer.size(1) == heads && buffer.size(3) == d &&
                                          buffer.dtype() == x.dtype());
  if (!fits)
    fail("KeyValueCache: {} does not follow what is held, {}", to_string(x.shape()), to_string(buffer.shape()));
  if (!buffer.defined() || end > buffer.size(2)) {
    Tensor larger({B, heads, std::max<std::int64_t>(2 * length, end + 64), d}, x.dtype());
    if (length > 0) {
      const Tensor held = slice(buffer, 2, 0, length);
      buffer = {};
      appended(larger, held, 0);
    }
    buffer = larger;
  }
  const Tensor dense = contiguous(x.detach());
  dispatch(x.dtype(), [&]<class T_>() {
    const T_* from = dense.data<T_>();
    T_* to = buffer.mutable_data<T_>();
    for (std::int64_t row = 0; row < B * heads; ++row) {
      std::copy_n(from + row * T * d, T * d, to + (row * buffer.size(2) + length) * d);
    }
  });
  return slice(buffer, 2, 0, end);
}

}  // namespace

std::pair<Tensor, Tensor> KeyValueCache::append(const Tensor& K, const Tensor& V) {
  for (const Tensor* x : {&K, &V}) {
    if (x->rank() != 4) fail("KeyValueCache: expected (B, kv_heads, T, d), got {}", to_string(x->shape()));
    if (x->trace().recording != 0) fail("KeyValueCache: keys and values that are recorded; open a NoRecording");
  }
  std::pair<Tensor, Tensor> all{appended(K_, K, length_), appended(V_, V, length_)};
  length_ += K.size(2);
  return all;
}

}  // namespace heed
