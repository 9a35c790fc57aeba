#include "autograd/cpu/kernels.h"
#include "autograd/cpu/softmax_columns.h"
#include "autograd/cpu/softmax_row.h"
#include "autograd/internal/adjoints.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

namespace heed {
namespace {

void check_rows(const char* operation, const Tensor& x) {
  check_defined(operation, {&x});
  if (x.rank() < 1) fail("{}: expected at least one axis, got shape ()", operation);
}

// Returns a tensor of x's shape. row(from, to, begin) computes each row of the last axis, whose elements are those of x from
// `begin` on, in parallel.
Tensor by_rows(const Tensor& x, auto row) {
  const std::int64_t n = x.size(-1), rows = n ? x.numel() / n : 0;
  return cpu::computed(x, x.shape(), [&](const auto* from, auto* to) {
    cpu::parallel_for(rows, cpu::row_grain(rows, n), [&](std::int64_t begin, std::int64_t end) {
      const cpu::StreamScope scope;
      for (std::int64_t i = begin * n; i < end * n; i += n) row(from + i, to + i, i);
    });
  });
}

// The shape of a tensor around one of its axes: (outer, n, inner).
struct Around {
  std::int64_t outer = 1, n, inner = 1;
  Around(const Shape& shape, int axis) : n(shape.begin()[axis]) {
    for (int a = 0; a < shape.rank(); ++a) (a < axis ? outer : inner) *= a == axis ? 1 : shape.begin()[a];
  }
};

// Returns a tensor of x's shape. columns(from, to, begin, count) computes `count` columns along `axis`, at most
// cpu::columns_together, whose first elements are those of x from `begin` on, in parallel.
Tensor by_columns(const Tensor& x, const Around& around, auto columns) {
  return cpu::computed(x, x.shape(), [&]<class T>(const T* from, T* to) {
    if (x.numel() == 0) return;
    constexpr std::int64_t width = cpu::columns_together<T>;
    const std::int64_t blocks = (around.inner + width - 1) / width, tasks = around.outer * blocks;
    cpu::for_rows(tasks, width * around.n, [&](std::int64_t task) {
      const std::int64_t column = task % blocks * width;
      const std::int64_t first = task / blocks * around.n * around.inner + column;
      columns(from + first, to + first, first, std::min(width, around.inner - column));
    });
  });
}

std::vector<GradientSample> row_samples(Tensor (*f)(const Tensor&, int)) {
  std::vector<GradientSample> samples;
  for (const Shape& shape : {Shape{4}, Shape{2, 3}, Shape{2, 1, 3}, Shape{0, 3}, Shape{2, 0}, Shape{3, 20}}) {
    samples.push_back({to_string(shape), {{shape}}, [f](auto& x) { return f(x[0], -1); }});
  }
  samples.push_back({"one column", {{{3, 1}}}, [f](auto& x) { return f(x[0], -1); }, true});
  samples.push_back({"first axis", {{{3, 2}}}, [f](auto& x) { return f(x[0], 0); }});
  samples.push_back({"middle axis", {{{2, 3, 9}}}, [f](auto& x) { return f(x[0], 1); }});
  return samples;
}

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

// The backward of softmax along an axis, in operations.
auto softmax_gradient(int axis) {
  return [axis](const Tensor& dy, const Tensor& Y) {
    const Tensor weighted = dy * Y;
    return std::vector{weighted - Y * sum(weighted, {axis}, true)};
  };
}

}  // namespace

static const Operation softmax_operation("softmax", "y = e^x / sum(e^x)", "dx = y (dy - sum(dy y))", [] {
  std::vector<GradientSample> samples = row_samples(softmax);
  samples.push_back({"a masked row and a masked element", {{{2, 3}}}, [](auto& x) {
                       return softmax(masked_fill(x[0], Booleans({2, 3}, {0, 1, 0, 1, 1, 1}), minus_infinity));
                     }});
  return samples;
});
Tensor softmax(const Tensor& x, int axis) {
  check_rows("softmax", x);
  if (const int a = checked_axis("softmax", axis, x.rank()); a != x.rank() - 1) {
    const Around around(x.shape(), a);
    const Tensor y = by_columns(x, around, [=]<class T>(const T* from, T* to, std::int64_t, std::int64_t count) {
      cpu::softmax_columns(from, to, around.n, around.inner, count);
    });
    return record(
        softmax_operation, {&x}, y, Saved(y),
        [around](const Tensor& dy, const Tensor& Y) {
          return std::vector{
              by_columns(dy, around, [&]<class T>(const T* g, T* to, std::int64_t begin, std::int64_t count) {
                cpu::softmax_columns_backward(Y.data<T>() + begin, g, to, around.n, around.inner, count);
              })};
        },
        Recordable(softmax_gradient(a)));
  }
  const std::int64_t n = x.size(-1), all = x.numel();
  const Tensor y = by_rows(x, [=]<class T>(const T* from, T* to, std::int64_t) {
    const cpu::Part<T> row(to, n, all);
    cpu::softmax_row(from, row.data(), n);
  });
  return record(
      softmax_operation, {&x}, y, Saved(y),
      [n, all](const Tensor& dy, const Tensor& Y) {
        return std::vector{by_rows(dy, [&]<class T>(const T* g, T* to, std::int64_t begin) {
          const cpu::Part<T> row(to, n, all);
          cpu::softmax_row_backward(Y.data<T>() + begin, g, row.data(), n, T{1});
        })};
      },
      Recordable(softmax_gradient(-1)));
}

Tensor cpu::known_softmax(const Tensor& x, const Tensor& y, int axis) {
  return record(softmax_operation, {&x}, y, Saved(y), Recordable(softmax_gradient(axis)));
}

static const Operation log_softmax_operation("log_softmax", "y = x - ln sum(e^x)",
                                             "dx = dy - e^y sum(dy), 0 in a fully masked row",
                                             [] { return row_samples(log_softmax); });
Tensor log_softmax(const Tensor& x, int axis) {
  check_rows("log_softmax", x);
  const int a = checked_axis("log_softmax", axis, x.rank());
  const auto recordable = Recordable([a](const Tensor& dy, const Tensor& Y) {
    const Tensor dx = dy - exp(Y) * sum(dy, {a}, true);
    if (Y.size(a) == 0) return std::vector{dx};
    return std::vector{masked_fill(dx, equal(max(Y.detach(), {a}, true), minus_infinity), 0)};
  });
  if (a != x.rank() - 1) {
    const Around around(x.shape(), a);
    const Tensor y = by_columns(x, around, [=]<class T>(const T* from, T* to, std::int64_t, std::int64_t count) {
      cpu::softmax_columns<true>(from, to, around.n, around.inner, count);
    });
    const auto backward = [around](const Tensor& dy, const Tensor& Y) {
      return std::vector{
          by_columns(dy, around, [&]<class T>(const T* g, T* to, std::int64_t begin, std::int64_t count) {
            cpu::log_softmax_columns_backward(Y.data<T>() + begin, g, to, around.n, around.inner, count);
          })};
    };
    return record(log_softmax_operation, {&x}, y, Saved(y), backward, recordable);
  }
  const std::int64_t n = x.size(-1);
  const Tensor y = by_rows(x, [=]<class T>(const T* from, T* to, std::int64_t) {
    const T m = cpu::max_row(from, n), log_total = cpu::softmax_row(from, to, n, m);
    for (std::int64_t j = 0; j < n; ++j) to[j] = std::isinf(log_total) ? from[j] : from[j] - m - log_total;
  });
  const auto backward = [n](const Tensor& dy, const Tensor& Y) {
    return std::vector{by_rows(dy, [&]<class T>(const T* g, T* to, std::int64_t begin) {
      const T* out = Y.data<T>() + begin;
      const T total = static_cast<T>(cpu::sum_row(g, n));
      const bool masked = std::all_of(out, out + n, [](T v) { return static_cast<double>(v) == minus_infinity; });
      cpu::exp_row(out, to, n, T{0});
      for (std::int64_t j = 0; j < n; ++j) to[j] = masked ? T{0} : g[j] - to[j] * total;
    })};
  };
  return record(log_softmax_operation, {&x}, y, Saved(y), backward, recordable);
}

}  // namespace heed
