#include "autograd/cpu/kernels.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

namespace heed {
namespace {

// Rotates each row of x by its row of angles; direction -1 rotates back.
Tensor rotated(const Tensor& x, const Tensor& cosine, const Tensor& sine, RotaryPairs pairs, int direction) {
  const Tensor dense = contiguous(x.detach());
  const std::int64_t d = x.size(-1), half = cosine.size(-1), rows = d ? x.numel() / d : 0;
  Shape angles = x.shape();
  angles[-1] = half;
  Tensor y(x.shape(), x.dtype());
  dispatch(x.dtype(), [&]<class T>() {
    const cpu::Operand<T> c_all = cpu::operand<T>(cosine, angles), s_all = cpu::operand<T>(sine, angles);
    const T *from = dense.data<T>(), *c_data = c_all.data, *s_data = s_all.data;
    T* to = y.mutable_data<T>();
    const T sign = static_cast<T>(direction);
    if (rows == 0) return;
    const int last = x.rank() - 1;
    const Shape leading = cpu::without_axis(x.shape(), last);  // of rows
    const Shape c_strides = cpu::without_axis(c_all.strides, last), s_strides = cpu::without_axis(s_all.strides, last);
    const std::int64_t c_step = c_all.strides[-1], s_step = s_all.strides[-1];
    const std::int64_t step = pairs == RotaryPairs::halves ? 1 : 2, apart = pairs == RotaryPairs::halves ? half : 1;
    const cpu::Walk<2> walk(leading, {&c_strides, &s_strides});
    const std::int64_t n = walk.size[0];
    cpu::parallel_for(rows / n, cpu::row_grain(rows / n, n * d), [&](std::int64_t begin, std::int64_t end) {
      walk.rows(begin, end, [&](std::int64_t first, const std::array<std::int64_t, 2>& offset) {
        for (std::int64_t k = 0; k < n; ++k) {
          const T *c = c_data + offset[0] + k * walk.stride[0][0], *s = s_data + offset[1] + k * walk.stride[1][0];
          const T* row = from + (first + k) * d;
          T* out = to + (first + k) * d;
          for (std::int64_t i = 0; i < half; ++i) {
            const T u = row[i * step], v = row[i * step + apart], cos = c[i * c_step], sin = sign * s[i * s_step];
            out[i * step] = u * cos - v * sin;
            out[i * step + apart] = u * sin + v * cos;
          }
          std::copy(row + 2 * half, row + d, out + 2 * half);
        }
      });
    });
  });
  return y;
}

}  // namespace

static const Operation rotary_operation(
    "rotary", "(u, v) of x becomes (u cos - v sin, u sin + v cos)", "dx = dy rotated back", [] {
      std::vector<GradientSample> samples;
      for (const RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::interleaved}) {
        for (const Shape& shape : {Shape{3, 4}, Shape{2, 3, 5}, Shape{2, 2, 3, 6}, Shape{0, 4}}) {
          samples.push_back(
              {fmt::format("{} {}", to_string(shape), pairs == RotaryPairs::halves ? "halves" : "neighbours"),
               {{shape}},
               [pairs](auto& x) {
                 const double count = static_cast<double>(2 * x[0].size(-2));
                 const Tensor angles = reshape(arange(count, x[0].dtype()), {-1, 2});
                 return rotary(x[0], cos(angles), sin(angles), pairs);
               }});
        }
      }
      return samples;
    });
Tensor rotary(const Tensor& x, const Tensor& cosine, const Tensor& sine, RotaryPairs pairs) {
  check_defined("rotary", {&x, &cosine, &sine});
  bool fits = x.rank() >= 2 && cosine.shape() == sine.shape() && cosine.rank() >= 1 && cosine.rank() <= x.rank() &&
              cosine.size(-1) <= x.size(-1) / 2 && cosine.dtype() == x.dtype() && sine.dtype() == x.dtype();
  for (int axis = 2; fits && axis <= cosine.rank(); ++axis) {
    fits = cosine.size(-axis) == x.size(-axis) || cosine.size(-axis) == 1;
  }
  if (!fits) {
    fail(
        "rotary: x {} {} needs cosine and sine of its dtype that broadcast to (..., {}, r / 2), r <= {}; got {} and {}",
        to_string(x.dtype()), to_string(x.shape()), x.rank() < 2 ? "T" : std::to_string(x.size(-2)),
        x.rank() < 1 ? "d" : std::to_string(x.size(-1)), to_string(cosine.shape()), to_string(sine.shape()));
  }
  for (const Tensor* angle : {&cosine, &sine}) {
    if (angle->is_variable() || angle->tape_node().recording != 0) fail("rotary: cosine and sine must be constants");
  }
  return record(
      rotary_operation, {&x}, rotated(x, cosine, sine, pairs, 1), Saved(cosine, sine),
      [pairs](const Tensor& dy, auto& c, auto& s) { return std::vector{rotated(dy, c, s, pairs, -1)}; },
      Recordable([pairs](const Tensor& dy, auto& c, auto& s) { return std::vector{rotary(dy, c, -s, pairs)}; }));
}

}  // namespace heed
