#include "autograd/cpu/kernels.h"

#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

namespace heed {
namespace {

Booleans pattern(const Shape& shape) {  // 1 0 1 1 0 1 1 0 ...
  std::vector<std::uint8_t> values;
  for (std::int64_t i = 0; i < shape.numel(); ++i) values.push_back(i % 3 != 1);
  return Booleans(shape, values);
}

}  // namespace

static std::vector<GradientSample> where_samples() {
  std::vector<GradientSample> samples = broadcast_samples(
      [](auto& a, auto& b) { return where(pattern(broadcast_shapes("where", a.shape(), b.shape())), a, b); });
  samples.push_back({"condition broadcasts", {{{2, 3}}, {{3}}}, [](auto& x) {
                       return where(pattern({4, 1, 3}), x[0], x[1]);
                     }});
  return samples;
}
static const Operation where_operation("where", "y = condition ? a : b",
                                       "da = condition ? dy : 0, db = condition ? 0 : dy", where_samples,
                                       {.broadcasts = true});
Tensor where(const Booleans& condition, const Tensor& a, const Tensor& b) {
  cpu::check_one_dtype("where", a, b);
  const Shape shape = broadcast_shapes("where", broadcast_shapes("where", a.shape(), b.shape()), condition.shape());
  Tensor y(shape, a.dtype(), "where");
  dispatch(a.dtype(), [&]<class T>() {
    cpu::map(
        shape, y.mutable_data<T>(), [](std::uint8_t c, T u, T v) { return c ? u : v; },
        cpu::operand<std::uint8_t>(condition, shape), cpu::operand<T>(a, shape), cpu::operand<T>(b, shape));
  });
  return record(where_operation, {&a, &b}, y, Saved(condition),
                Recordable([](const Tensor& dy, const Booleans& chosen) {
                  return std::vector{masked_fill(dy, !chosen, 0), masked_fill(dy, chosen, 0)};
                }));
}

Tensor where(const Booleans& condition, const Tensor& a, double b) {
  return where(condition, a, full({}, b, a.dtype()));
}

Tensor where(const Booleans& condition, double a, const Tensor& b) {
  check_defined("where", {&b});
  return where(condition, full({}, a, b.dtype()), b);
}

Tensor where(const Booleans& condition, double a, double b, DType dtype) {
  return where(condition, full({}, a, dtype), full({}, b, dtype));
}

Ids where(const Booleans& condition, const Ids& a, const Ids& b) {
  const Shape shape = broadcast_shapes("where", broadcast_shapes("where", a.shape(), b.shape()), condition.shape());
  const auto values = cpu::unset_values<std::int32_t>("where", shape);
  cpu::map(
      shape, values.get(), [](std::uint8_t c, std::int32_t u, std::int32_t v) { return c ? u : v; },
      cpu::operand(condition, shape), cpu::operand(a, shape), cpu::operand(b, shape));
  return Ids(shape, values);
}
Ids where(const Booleans& condition, const Ids& a, std::int32_t b) { return where(condition, a, full_ids({}, b)); }
Ids where(const Booleans& condition, std::int32_t a, const Ids& b) { return where(condition, full_ids({}, a), b); }

static std::vector<GradientSample> masked_fill_samples() {
  std::vector<GradientSample> samples;
  for (const auto& [x, mask] : broadcast_pairs()) {
    samples.push_back({to_string(x) + " by " + to_string(mask), {{x}}, [m = mask](auto& t) {
                         return masked_fill(t[0], !pattern(m), 0.5);
                       }});
  }
  return samples;
}
static const Operation masked_fill_operation("masked_fill", "y = mask ? value : x", "dx = mask ? 0 : dy",
                                             masked_fill_samples, {.broadcasts = true});
Tensor masked_fill(const Tensor& x, const Booleans& mask, double value) {
  check_defined("masked_fill", {&x});
  const Shape shape = broadcast_shapes("masked_fill", x.shape(), mask.shape());
  Tensor y(shape, x.dtype(), "masked_fill");
  dispatch(x.dtype(), [&]<class T>() {
    cpu::map(
        shape, y.mutable_data<T>(), [v = static_cast<T>(value)](std::uint8_t m, T u) { return m ? v : u; },
        cpu::operand<std::uint8_t>(mask, shape), cpu::operand<T>(x, shape));
  });
  return record(masked_fill_operation, {&x}, y, Saved(mask), Recordable([](const Tensor& dy, const Booleans& filled) {
                  return std::vector{masked_fill(dy, filled, 0)};
                }));
}

}  // namespace heed
