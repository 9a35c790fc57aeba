#include "autograd/cpu/lstm.h"

#include "autograd/cpu/kernels.h"
#include "autograd/cpu/lanes.h"
#include "autograd/cpu/subnormals.h"
#include "autograd/cpu/vector_math.h"

#include <algorithm>
#include <utility>

namespace heed::cpu {
namespace {

constexpr std::int64_t vectors = 4;                            // of a panel: its width
constexpr std::int64_t max_rows = vector_bytes == 64 ? 6 : 2;  // whose sums fit into the registers
constexpr std::int64_t summed = 256;  // products in a row, before their sum is added to the others

// A matrix (k, n) as panels of 4 vectors of columns: panel, row, vector, lane. The vectors of a panel need not be side by side.
struct Panels {
  Tensor numbers;
  std::int64_t count, k;
  template <class T>
  const T* panel(std::int64_t i) const {
    return numbers.data<T>() + i * k * vectors * lane_count<T>;
  }
};

// Copies the element (row, column(panel, vector, lane)) of a matrix, 0 where the column is negative.
template <class T, class Column>
Panels panels_of(const T* matrix, std::int64_t row_stride, std::int64_t column_stride, std::int64_t k,
                 std::int64_t count, Column column) {
  constexpr std::int64_t width = vectors * lane_count<T>;
  Panels panels{Tensor({count, k, vectors, lane_count<T>}, dtype_of<T>), count, k};
  T* const numbers = panels.numbers.mutable_data<T>();
  parallel_for(count, std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(1, k * width)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t panel = begin; panel < end; ++panel) {
                   std::int64_t from[width];
                   for (std::int64_t i = 0; i < width; ++i) {
                     const std::int64_t at = column(panel, i / lane_count<T>, i % lane_count<T>);
                     from[i] = at < 0 ? -1 : at * column_stride;
                   }
                   T* const to = numbers + panel * k * width;
                   for (std::int64_t row = 0; row < k; ++row) {
                     const T* const values = matrix + row * row_stride;
                     for (std::int64_t i = 0; i < width; ++i)
                       to[row * width + i] = from[i] < 0 ? T{0} : values[from[i]];
                   }
                 }
               });
  return panels;
}

// Adds the products of `rows` rows of A and a panel: to (rows, vectors, lanes).
template <class T, std::int64_t rows>
void multiply_rows(const T* a, std::int64_t stride, const T* panel, std::int64_t k, T* to) {
  using V = Lanes<T>;
  constexpr std::int64_t lanes = lane_count<T>;
  V total[rows][vectors] = {};
  for (std::int64_t first = 0; first < k; first += summed) {
    V sum[rows][vectors] = {};
    const std::int64_t end = std::min(k, first + summed);
    for (std::int64_t p = first; p < end; ++p) {
      const T* const from = panel + p * vectors * lanes;
      V b[vectors];
      for (std::int64_t v = 0; v < vectors; ++v) b[v] = load_lanes(from + v * lanes, 1, lanes);
      for (std::int64_t r = 0; r < rows; ++r) {
        const T factor = a[r * stride + p];
        for (std::int64_t v = 0; v < vectors; ++v) sum[r][v] += factor * b[v];
      }
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t v = 0; v < vectors; ++v) total[r][v] += sum[r][v];
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t v = 0; v < vectors; ++v) std::memcpy(to + (r * vectors + v) * lanes, &total[r][v], sizeof(V));
  }
}

// Fetches n numbers of each of the four gates, which are d apart, while products are computed.
template <class T>
void fetch_gates(const T* gates, std::int64_t n, std::int64_t d) {
  for (std::int64_t gate = 0; gate < 4; ++gate) {
    for (std::int64_t j = 0; j < n; j += lane_count<T>) __builtin_prefetch(gates + gate * d + j);
  }
}

template <class T>
void multiply(std::int64_t rows, const T* a, std::int64_t stride, const T* panel, std::int64_t k, T* to) {
  [&]<std::int64_t... r>(std::integer_sequence<std::int64_t, r...>) {
    ((rows == r + 1 ? multiply_rows<T, r + 1>(a, stride, panel, k, to) : void()), ...);
  }
  (std::make_integer_sequence<std::int64_t, max_rows>{});
}

// Calls f(panel, first row, rows) for all panels and blocks of equally many of the B rows.
void for_blocks(const Panels& panels, std::int64_t B, const auto& f) {
  const std::int64_t blocks = (B + max_rows - 1) / max_rows, height = blocks > 0 ? (B + blocks - 1) / blocks : 0;
  const std::int64_t work = std::max<std::int64_t>(1, height * panels.k * vectors * 16);
  parallel_for(panels.count * blocks, std::max<std::int64_t>(1, 262144 / work),
               [&](std::int64_t begin, std::int64_t end) {
                 const DenormalsAreZero all_normal;
                 for (std::int64_t task = begin; task < end; ++task) {
                   const std::int64_t first = task % blocks * height;
                   if (first < B) f(task / blocks, first, std::min(height, B - first));
                 }
               });
}

// Computes n units of a text in one step, from the inputs' part x of their gates, which are `x_step` apart, and the states' part p.
// Short loops of one function each vectorise.
template <class T>
[[gnu::always_inline]] inline void step(const T* x, std::int64_t x_step, const T* p, const T* before, T* gates,
                                        std::int64_t d, T* c, T* h, std::int64_t n) {
  for (std::int64_t gate = 0; gate < 4; ++gate) {
    const T *input = x + gate * x_step, *state = p + gate * lane_count<T>;
    T* const to = gates + gate * d;
    if (gate == 2) {
#pragma omp simd
      for (std::int64_t j = 0; j < n; ++j) to[j] = tanh(input[j] + state[j]);
    } else {
#pragma omp simd
      for (std::int64_t j = 0; j < n; ++j) to[j] = sigmoid(input[j] + state[j]);
    }
  }
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) {
    const T now = gates[d + j] * before[j] + gates[j] * gates[2 * d + j];
    c[j] = now;
    h[j] = gates[3 * d + j] * tanh(now);
  }
}

// The same backwards: from dh = dy + p and dc of a step's results to the gradients of its gates, and dc of the step before.
template <class T>
[[gnu::always_inline]] inline void step_backward(const T* gates, const T* c, const T* before, const T* dy, const T* p,
                                                 T* dc, T* dgates, std::int64_t n, std::int64_t d) {
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) {
    const T i = gates[j], f = gates[d + j], g = gates[2 * d + j], o = gates[3 * d + j], t = tanh(c[j]);
    const T dh = dy[j] + p[j], sum = dc[j] + dh * o * (1 - t * t);
    dgates[j] = sum * g * i * (1 - i);
    dgates[d + j] = sum * before[j] * f * (1 - f);
    dgates[2 * d + j] = sum * i * (1 - g * g);
    dgates[3 * d + j] = dh * t * o * (1 - o);
    dc[j] = sum * f;
  }
}

template <class T>
void forward_steps(const T* x, const T* U, const T* h, const T* c, LstmForward& f, std::int64_t steps, std::int64_t B,
                   std::int64_t d) {
  constexpr std::int64_t lanes = lane_count<T>;
  // A panel has the four gates of as many units as a vector has lanes.
  const Panels panels = panels_of(U, 4 * d, 1, d, (d + lanes - 1) / lanes, [=](auto panel, auto gate, auto lane) {
    const std::int64_t unit = panel * lanes + lane;
    return unit < d ? gate * d + unit : -1;
  });
  T *const states = f.result.mutable_data<T>(), *const cells = f.cells.mutable_data<T>();
  T* const gates = f.gates.defined() ? f.gates.mutable_data<T>() : nullptr;
  for (std::int64_t t = 0; t < steps; ++t) {
    const T *from = t == 0 ? h : states + (t - 1) * B * d, *before = t == 0 ? c : cells + (t - 1) * B * d;
    for_blocks(panels, B, [&](std::int64_t panel, std::int64_t first, std::int64_t rows) {
      T products[max_rows * vectors * lanes];
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t gate = (t * B + first + r) * 4 * d + panel * lanes;
        fetch_gates(x + gate, lanes, d);
        if (gates) fetch_gates(gates + gate, lanes, d);
      }
      multiply(rows, from + first * d, d, panels.panel<T>(panel), d, products);
      const std::int64_t unit = panel * lanes, n = std::min(lanes, d - unit);
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t row = t * B + first + r, at = row * d + unit, gate = row * 4 * d + unit;
        const auto units = [&](std::int64_t count) {
          T own[vectors * lanes];
          step(x + gate, d, products + r * vectors * lanes, before + (first + r) * d + unit, gates ? gates + gate : own,
               gates ? d : lanes, cells + at, states + at, count);
        };
        n == lanes ? units(lanes) : units(n);
      }
    });
  }
  std::copy_n(steps > 0 ? cells + (steps - 1) * B * d : c, B * d, states + steps * B * d);
}

template <class T>
void backward_steps(const LstmForward& f, const T* U, const T* c, const T* dy, LstmBackward& g, std::int64_t steps,
                    std::int64_t B, std::int64_t d) {
  constexpr std::int64_t lanes = lane_count<T>, width = vectors * lanes;
  // A panel of U^T (4 d, d) has as many units as four vectors have lanes.
  const Panels panels = panels_of(U, 1, 4 * d, 4 * d, (d + width - 1) / width, [=](auto panel, auto vector, auto lane) {
    const std::int64_t unit = panel * width + vector * lanes + lane;
    return unit < d ? unit : -1;
  });
  const T *gates = f.gates.data<T>(), *cells = f.cells.data<T>();
  T *dgates = g.dgates.mutable_data<T>(), *dc = g.dc.mutable_data<T>();
  T* const dh = g.dh.defined() ? g.dh.mutable_data<T>() : nullptr;
  for (std::int64_t t = steps; t-- > (dh ? -1 : 0);) {  // step -1: the first state
    for_blocks(panels, B, [&](std::int64_t panel, std::int64_t first, std::int64_t rows) {
      T products[max_rows * width] = {};
      if (t + 1 < steps) {
        multiply(rows, dgates + ((t + 1) * B + first) * 4 * d, 4 * d, panels.panel<T>(panel), 4 * d, products);
      }
      const std::int64_t unit = panel * width, n = std::min(width, d - unit);
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t row = t * B + first + r, at = row * d + unit, gate = row * 4 * d + unit;
        const std::int64_t state = (first + r) * d + unit;
        if (t < 0) {
          std::copy_n(products + r * width, n, dh + state);
        } else {
          step_backward(gates + gate, cells + at, t == 0 ? c + state : cells + at - B * d, dy + at,
                        products + r * width, dc + state, dgates + gate, n, d);
        }
      }
    });
  }
}

}  // namespace

LstmForward lstm_forward(const Tensor& x, const Tensor& U, const Tensor& h, const Tensor& c, bool keeps_gates) {
  const std::int64_t steps = x.size(0), B = h.size(0), d = h.size(1);
  LstmForward f{Tensor({steps + 1, B, d}, x.dtype()), keeps_gates ? Tensor(x.shape(), x.dtype()) : Tensor(),
                Tensor({steps, B, d}, x.dtype())};
  dispatch(x.dtype(),
           [&]<class T>() { forward_steps(x.data<T>(), U.data<T>(), h.data<T>(), c.data<T>(), f, steps, B, d); });
  return f;
}

LstmBackward lstm_backward(const LstmForward& f, const Tensor& U, const Tensor& c, const Tensor& dy, bool wants_dh) {
  const std::int64_t steps = f.cells.size(0), B = dy.size(1), d = dy.size(2);
  LstmBackward g{Tensor(f.gates.shape(), dy.dtype()), wants_dh ? Tensor({B, d}, dy.dtype()) : Tensor(),
                 dy[steps].clone()};
  dispatch(dy.dtype(), [&]<class T>() { backward_steps(f, U.data<T>(), c.data<T>(), dy.data<T>(), g, steps, B, d); });
  return g;
}

}  // namespace heed::cpu
