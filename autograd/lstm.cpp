#include "autograd/cpu/lstm.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/recurrent.h>

#include <algorithm>
#include <array>

namespace heed {
namespace {

void check_shapes(const Tensor& gates, const Tensor& U, const Tensor& h, const Tensor& c) {
  check_defined("lstm", {&gates, &U, &h, &c});
  const std::int64_t d = h.rank() == 2 ? h.size(1) : 0, B = h.rank() == 2 ? h.size(0) : 0;
  if (gates.rank() != 3 || gates.size(1) != B || gates.size(2) != 4 * d || U.shape() != Shape{d, 4 * d} ||
      c.shape() != h.shape()) {
    fail("lstm: expected gates (T, B, 4 d), U (d, 4 d), h (B, d) and c (B, d), got {}, {}, {} and {}",
         to_string(gates.shape()), to_string(U.shape()), to_string(h.shape()), to_string(c.shape()));
  }
  if (h.dtype() != gates.dtype() || c.dtype() != gates.dtype()) {
    fail("lstm: gates and states must have one dtype, got {}, {} and {}", to_string(gates.dtype()),
         to_string(h.dtype()), to_string(c.dtype()));
  }
}

}  // namespace

Tensor lstm_composed(const Tensor& gates, const Tensor& U, const Tensor& h, const Tensor& c) {
  check_shapes(gates, U, h, c);
  const std::int64_t d = h.size(1);
  std::vector<Tensor> states;
  Tensor before = h, cell = c;
  for (const Tensor& x : unbind(gates)) {
    const Tensor all = x + matmul(before, U);
    const Tensor input_forget = sigmoid(slice(all, 1, 0, 2 * d)), out = sigmoid(slice(all, 1, 3 * d, 4 * d));
    cell = slice(input_forget, 1, d, 2 * d) * cell + slice(input_forget, 1, 0, d) * tanh(slice(all, 1, 2 * d, 3 * d));
    before = out * tanh(cell);
    states.push_back(before);
  }
  states.push_back(cell);
  return stack(states);
}

static const Operation lstm_operation(
    "lstm", "i, f, o = sigmoid(x_t + h U), g = tanh(x_t + h U), c = f c + i g, h = o tanh(c) at each step t",
    "backwards in t: dc += dh o (1 - tanh^2 c), the gates' gradients by their slopes, dh = dgates U^T, dU = sum h^T "
    "dgates",
    [] {
      std::vector<GradientSample> samples;
      for (const auto& [T, B, d] : {std::tuple{3, 2, 2}, {1, 1, 3}, {2, 0, 2}, {0, 2, 1}}) {
        samples.push_back({fmt::format("T {}, B {}, d {}", T, B, d),
                           {{{T, B, 4 * d}}, {{d, 4 * d}}, {{B, d}}, {{B, d}}},
                           [](auto& x) { return lstm(x[0], x[1], x[2], x[3]); }});
      }
      return samples;
    });
Tensor lstm(const Tensor& gates, const Tensor& U, const Tensor& h, const Tensor& c) {
  check_shapes(gates, U, h, c);
  const auto plain = [&](const Tensor& x) { return contiguous(x.detach().to(gates.dtype())); };
  const bool is_recorded =
      std::ranges::any_of(std::array{&gates, &U, &h, &c}, [](const Tensor* x) { return Recorder::follows(*x); });
  const cpu::LstmForward f = cpu::lstm_forward(plain(gates), plain(U), plain(h), plain(c), is_recorded);
  return record(
      lstm_operation, {&gates, &U, &h, &c}, f.result, Saved(gates, U, h, c, f.result, f.gates, f.cells),
      [](const Tensor& dy, const NeedsInputGrad& needs, auto& x, auto& matrix, auto& first, auto& cell, auto& result,
         auto& activated, auto& cells) {
        const auto dense = [&](const Tensor& t) { return contiguous(t.detach().to(x.dtype())); };
        const cpu::LstmForward of{result, activated, cells};
        const auto [dgates, dh, dc] = cpu::lstm_backward(of, dense(matrix), dense(cell), dense(dy), needs[2]);
        Tensor dU;
        if (needs[1]) {
          const std::int64_t T = activated.size(0), B = activated.size(1), d = dy.size(2);
          const Tensor before = concat({reshape(first.detach(), {1, B, d}), slice(result.detach(), 0, 0, T)}, 0);
          dU = matmul(transpose(reshape(slice(before, 0, 0, T), {T * B, d})), reshape(dgates, {T * B, 4 * d}))
                   .to(matrix.dtype());
        }
        return std::vector{dgates, dU, dh, dc};
      },
      Recordable([](const Tensor& dy, auto& x, auto& matrix, auto& first, auto& cell, const Tensor&, const Tensor&,
                    const Tensor&) {
        const auto composed = [](const std::vector<Tensor>& all) {
          return lstm_composed(all[0], all[1], all[2], all[3]);
        };
        return Recorder::gradients_of(composed, {x, matrix, first, cell}, dy);
      }));
}

}  // namespace heed
