#include "autograd/cpu/kernels.h"
#include "autograd/cpu/softmax_row.h"

#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

namespace heed {
namespace {

void check_rows(const char* operation, const Tensor& x) {
  if (x.rank() < 1) fail("{}: expected at least one axis, got shape ()", operation);
}

// row(i) for each row of the last axis, in parallel.
template <class Row>
void for_rows(const Tensor& x, Row row) {
  const std::int64_t n = x.size(-1), rows = n ? x.numel() / n : 0;
  cpu::parallel_for(rows, cpu::row_grain(rows, n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) row(i);
  });
}

// -infinity throughout
template <class T>
bool is_masked(const T* row, std::int64_t n) {
  return std::all_of(row, row + n, [](T v) { return v == -std::numeric_limits<T>::infinity(); });
}

std::vector<Sample> row_samples(Tensor (*f)(const Tensor&)) {
  std::vector<Sample> samples;
  for (const Shape& shape : {Shape{4}, Shape{2, 3}, Shape{2, 1, 3}, Shape{0, 3}, Shape{2, 0}, Shape{3, 20}}) {
    samples.push_back({to_string(shape), {{shape}}, [f](const std::vector<Tensor>& x) { return f(x[0]); }});
  }
  samples.push_back({"one column", {{{3, 1}}}, [f](const std::vector<Tensor>& x) { return f(x[0]); }, true});
  return samples;
}

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

}  // namespace

// y  = e^x / sum(e^x)
// dx = y * (dy - sum(dy * y))          needs y, not x
static const Operation softmax_operation("softmax", [] {
  std::vector<Sample> samples = row_samples(softmax);
  samples.push_back({"a masked row and a masked element", {{{2, 3}}}, [](const std::vector<Tensor>& x) {
                       return softmax(masked_fill(x[0], Booleans({2, 3}, {0, 1, 0, 1, 1, 1}), minus_infinity));
                     }});
  return samples;
});
Tensor softmax(const Tensor& x) {
  check_rows("softmax", x);
  const Tensor dense = contiguous(x.detach());
  Tensor y(x.shape(), x.dtype());
  const std::int64_t n = x.size(-1);
  dispatch(x.dtype(), [&]<class T>() {
    T* to = y.mutable_data<T>();
    for_rows(y, [&, from = dense.data<T>()](std::int64_t i) { cpu::softmax_row(from + i * n, to + i * n, n); });
  });
  return record(softmax_operation, {&x}, y, [y, n](const Tensor& dy) {
    const Tensor dense_dy = contiguous(dy);
    Tensor dx(y.shape(), y.dtype());
    dispatch(y.dtype(), [&]<class T>() {
      T* to = dx.mutable_data<T>();
      for_rows(y, [&, p = y.data<T>(), g = dense_dy.data<T>()](std::int64_t i) {
        cpu::softmax_row_backward(p + i * n, g + i * n, to + i * n, n, T{1});
      });
    });
    return std::vector{dx};
  });
}

// y  = x - log sum(e^x)
// dx = dy - e^y sum(dy), and 0 for a masked row
static const Operation log_softmax_operation("log_softmax", [] { return row_samples(log_softmax); });
Tensor log_softmax(const Tensor& x) {
  check_rows("log_softmax", x);
  const Tensor dense = contiguous(x.detach());
  Tensor y(x.shape(), x.dtype());
  const std::int64_t n = x.size(-1);
  dispatch(x.dtype(), [&]<class T>() {
    T* to = y.mutable_data<T>();
    for_rows(y, [&, from = dense.data<T>()](std::int64_t i) {
      const T m = cpu::max_row(from + i * n, n), log_total = cpu::softmax_row(from + i * n, to + i * n, n, m);
      for (std::int64_t j = i * n; j < (i + 1) * n; ++j) {
        to[j] = std::isinf(log_total) ? from[j] : from[j] - m - log_total;
      }
    });
  });
  return record(log_softmax_operation, {&x}, y, [y, n](const Tensor& dy) {
    const Tensor dense_dy = contiguous(dy);
    Tensor dx(y.shape(), y.dtype());
    dispatch(y.dtype(), [&]<class T>() {
      T* to = dx.mutable_data<T>();
      for_rows(y, [&, out = y.data<T>(), g = dense_dy.data<T>()](std::int64_t i) {
        const T total = static_cast<T>(cpu::sum_row(g + i * n, n));
        const bool masked = is_masked(out + i * n, n);
        for (std::int64_t j = i * n; j < (i + 1) * n; ++j)
          to[j] = masked ? T{0} : g[j] - cpu::exp_nonpositive(out[j]) * total;
      });
    });
    return std::vector{dx};
  });
}

// loss = mean over counted rows of (1 - e) (-log p[label]) + e / C sum(-log p), p = softmax(logits)
// dlogits = dy / count (p - (1 - e) onehot(label) - e / C)
static const Operation cross_entropy_operation("cross_entropy", [] {
  const auto loss = [](const Ids& labels, double smoothing) {
    return [=](const std::vector<Tensor>& x) {
      return cross_entropy(x[0], labels, {.ignored_label = -1, .label_smoothing = smoothing});
    };
  };
  return std::vector<Sample>{{"(3, 4)", {{{3, 4}}}, loss(Ids({3}, {1, 0, 3}), 0)},
                             {"an ignored label", {{{3, 4}}}, loss(Ids({3}, {1, -1, 3}), 0)},
                             {"smoothed", {{{3, 4}}}, loss(Ids({3}, {1, -1, 3}), 0.1)},
                             {"all ignored", {{{2, 4}}}, loss(Ids({2}, {-1, -1}), 0), true},
                             {"no rows", {{{0, 4}}}, loss(Ids({0}, {}), 0)},
                             {"one class", {{{2, 1}}}, loss(Ids({2}, {0, 0}), 0), true}};
});
Tensor cross_entropy(const Tensor& logits, const Ids& labels, const CrossEntropyOptions& options) {
  if (logits.rank() != 2 || labels.shape() != Shape{logits.size(0)}) {
    fail("cross_entropy: expected logits (N, C) and labels (N), got {} and {}", to_string(logits.shape()),
         to_string(labels.shape()));
  }
  const double e = options.label_smoothing;
  if (!(e >= 0 && e < 1)) fail("cross_entropy: label_smoothing must lie in [0, 1), got {}", e);
  const std::int64_t rows = logits.size(0), classes = logits.size(1);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (labels[i] == options.ignored_label) continue;
    if (labels[i] < 0 || labels[i] >= classes) {
      fail("cross_entropy: label {} of row {} lies outside [0, {})", labels[i], i, classes);
    }
    ++count;
  }
  const Tensor dense = contiguous(logits.detach());
  Tensor dlogits(logits.shape(), logits.dtype()), y({}, logits.dtype());  // the gradient, but for dy
  std::vector<double> losses(static_cast<std::size_t>(rows), 0.0);
  dispatch(logits.dtype(), [&]<class T>() {
    const T weight = 1 / static_cast<T>(std::max<std::int64_t>(count, 1));
    const T spread = static_cast<T>(e / static_cast<double>(classes)), rest = static_cast<T>(1 - e);
    T* to = dlogits.mutable_data<T>();
    for_rows(dlogits, [&, from = dense.data<T>()](std::int64_t i) {
      const T* row = from + i * classes;
      T* g = to + i * classes;
      const std::int32_t label = labels[i];
      if (label == options.ignored_label) return std::fill_n(g, classes, T{0}), void();
      const T m = cpu::max_row(row, classes), log_rest = cpu::softmax_row(row, g, classes, m);
      if (std::isinf(log_rest)) std::fill_n(g, classes, std::numeric_limits<T>::quiet_NaN());  // 0 / 0: no distribution
      const double rest_of_log = std::isinf(log_rest) ? std::nan("") : static_cast<double>(log_rest);
      // -log p = (m - x) + log sum e^(x - m), in this order: the second part would be lost beside a large m
      double loss = rest_of_log + (1 - e) * (static_cast<double>(m) - static_cast<double>(row[label]));
      if (e > 0) {
        loss +=
            e / static_cast<double>(classes) * cpu::sum_terms<T>(classes, [=](std::int64_t c) { return m - row[c]; });
      }
      losses[static_cast<std::size_t>(i)] = loss;
      for (std::int64_t c = 0; c < classes; ++c) g[c] = (g[c] - spread) * weight;
      g[label] -= rest * weight;
    });
    *y.mutable_data<T>() =
        count ? static_cast<T>(cpu::sum_row(losses.data(), rows) / static_cast<double>(count)) : T{0};
  });
  return record(cross_entropy_operation, {&logits}, y,
                [dlogits](const Tensor& dy) { return std::vector{dy.item() == 1 ? dlogits : dlogits * dy}; });
}

}  // namespace heed
