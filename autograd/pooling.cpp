#include "autograd/cpu/kernels.h"

#include <heed/autograd/convolution.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

namespace heed {
namespace {

// The windows of pooling over `planes` images of one channel.
struct Windows {
  std::int64_t planes;
  HeightWidth size, kernel, stride, padding, out;

  std::int64_t plane() const { return size.height * size.width; }
  std::int64_t positions() const { return out.height * out.width; }
  Shape flat() const { return {planes, plane()}; }
  Shape flat_out() const { return {planes, positions()}; }

  bool is_whole() const { return kernel == size && padding == HeightWidth(0); }  // the window is the image
  // Calls f(plane) for each plane, in parallel.
  void for_each_plane(auto f) const { cpu::for_rows(planes, positions() * kernel.height * kernel.width, f); }

  // Calls f(position of the output, first row, end of rows, first column, end of columns) for each window of a plane.
  [[gnu::always_inline]] inline void for_each(auto f) const {
    for (std::int64_t i = 0; i < out.height; ++i) {
      const std::int64_t top = i * stride.height - padding.height, left_of_first = -padding.width;
      const std::int64_t first = std::max<std::int64_t>(0, top), end = std::min(size.height, top + kernel.height);
      for (std::int64_t j = 0; j < out.width; ++j) {
        const std::int64_t left = left_of_first + j * stride.width;
        f(i * out.width + j, first, end, std::max<std::int64_t>(0, left), std::min(size.width, left + kernel.width));
      }
    }
  }

  // Calls f(first window, element, n, stride, together) for n windows in a row and `together` of their elements. These begin at
  // `element` in the first window, and `stride` further in each next one. Each window meets its elements in order. It is called for
  // each window alone, with the elements that lie in a row, if the window reaches beyond the image, or if a row of windows is shorter
  // than a window.
  [[gnu::always_inline]] inline void for_each_element(auto f) const {
    const std::integral_constant<std::int64_t, 1> one;
    const std::integral_constant<std::int64_t, 2> two;
    // calls each(first window, first element) for each row of windows and each row of elements in them
    const auto for_each_pair_of_rows = [&](auto each) {
      for (std::int64_t i = 0; i < out.height; ++i) {
        const std::int64_t top = i * stride.height - padding.height, end = std::min(size.height, top + kernel.height);
        for (std::int64_t row = std::max<std::int64_t>(0, top); row < end; ++row) each(i * out.width, row * size.width);
      }
    };
    const auto alone = [&](std::int64_t windows, std::int64_t elements, std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j) {
        const std::int64_t left = j * stride.width - padding.width, first = std::max<std::int64_t>(0, left);
        f(windows + j, elements + first, std::int64_t{1}, one, std::min(size.width, left + kernel.width) - first);
      }
    };
    if (out.width < kernel.width) {
      return for_each_pair_of_rows(
          [&](std::int64_t windows, std::int64_t elements) { alone(windows, elements, 0, out.width); });
    }
    const auto call = [&](auto step, auto together) {
      const std::int64_t room = size.width + padding.width - kernel.width;  // negative: every window reaches beyond
      const std::int64_t begin = std::min((padding.width + step - 1) / step, out.width);
      const std::int64_t end = std::max(begin, room < 0 ? 0 : std::min(room / step + 1, out.width));
      for_each_pair_of_rows([&](std::int64_t windows, std::int64_t elements) {
        alone(windows, elements, 0, begin);
        for (std::int64_t k = 0; k < kernel.width; k += together) {
          f(windows + begin, elements + begin * step + k - padding.width, end - begin, step, together);
        }
        alone(windows, elements, end, out.width);
      });
    };
    if (stride.width == 1) return call(one, one);
    if (stride.width != 2) return call(stride.width, one);
    kernel.width == 2 && padding.width == 0 ? call(two, two) : call(two, one);
  }
};

Windows windows_of(const char* operation, const Tensor& x, const HeightWidth& kernel, const PoolOptions& options) {
  check_defined(operation, {&x});
  if (x.rank() != 4) {
    fail("{}: expected x (B, C, H, W), got {}{}", operation, to_string(x.shape()),
         x.rank() == 3 ? ". Did you mean unsqueeze(x, 0)?" : "");
  }
  const auto windows = [&](std::int64_t size, std::int64_t k, std::int64_t stride, std::int64_t padding) {
    constexpr std::int64_t max_size = std::int64_t{1} << 31;
    if (k < 1) fail("{}: the kernel must be at least 1, got {}", operation, k);
    if (k >= max_size) fail("{}: the kernel must be below 2^31, got {}", operation, k);
    if (stride < 0) fail("{}: stride must be at least 1, got {}", operation, stride);
    if (stride >= max_size) fail("{}: stride must be below 2^31, got {}", operation, stride);
    if (padding < 0 || padding > k / 2) {
      fail("{}: padding must lie between 0 and half of the kernel, {}, got {}", operation, k / 2, padding);
    }
    if (size >= max_size) fail("{}: sizes must be below 2^31, got {}", operation, to_string(x.shape()));
    if (k > size + 2 * padding || size < 1) {
      fail("{}: the kernel covers {} elements of an axis, but x {} with its padding has {}", operation, k,
           to_string(x.shape()), size + 2 * padding);
    }
    return (size + 2 * padding - k) / (stride == 0 ? k : stride) + 1;
  };
  const HeightWidth size{x.size(2), x.size(3)}, &stride = options.stride, &padding = options.padding;
  const HeightWidth out{windows(size.height, kernel.height, stride.height, padding.height),
                        windows(size.width, kernel.width, stride.width, padding.width)};
  if (size.height * size.width >= std::int64_t{1} << 31) {
    fail("{}: images must have fewer than 2^31 elements, got {}", operation, to_string(x.shape()));
  }
  return {Shape{x.size(0), x.size(1)}.numel(operation),
          size,
          kernel,
          {stride.height == 0 ? kernel.height : stride.height, stride.width == 0 ? kernel.width : stride.width},
          padding,
          out};
}

std::vector<GradientSample> pooling_samples(Tensor (*pool)(const Tensor&, HeightWidth, const PoolOptions&)) {
  const auto sample = [pool](const Shape& x, const HeightWidth& k, const PoolOptions& o) {
    return GradientSample{fmt::format("{} kernel {} x {} stride {} x {} padding {} x {}", to_string(x), k.height,
                                      k.width, o.stride.height, o.stride.width, o.padding.height, o.padding.width),
                          {{x, Argument::Values::distinct}},
                          [=](auto& t) { return pool(t[0], k, o); }};
  };
  return {sample({2, 2, 4, 4}, 2, {}),
          sample({1, 1, 5, 6}, {3, 2}, {.stride = {2, 1}, .padding = {1, 0}}),
          sample({1, 2, 3, 3}, 2, {.stride = 1, .padding = 1}),
          sample({1, 1, 4, 4}, 1, {.stride = 3}),
          sample({1, 2, 1, 3}, {1, 3}, {}),
          sample({0, 2, 2, 2}, 2, {})};
}

Tensor max_pool(const Tensor& x, const Windows& w);
Tensor avg_pool(const Tensor& x, const Windows& w);
Tensor spread_evenly(const Tensor& dy, const Windows& w);

}  // namespace

static const Operation max_pool_operation("max_pool2d", "y = max of x over a window",
                                          "dx = at the first maximum of each window, the sum of dy",
                                          [] { return pooling_samples(max_pool2d); });
static const Operation avg_pool_operation("avg_pool2d", "y = sum of x over a window / size of the window",
                                          "dx = sum of dy over the windows / size of a window",
                                          [] { return pooling_samples(avg_pool2d); });
static const Operation avg_pool_transposed_operation(
    "avg_pool2d transposed", "x = sum of y over the windows / size of a window", "dy = avg_pool2d(dx)", [] {
      return std::vector<GradientSample>{{"(2, 3, 2)", {{{2, 6}}}, [](auto& y) {
                                            return spread_evenly(y[0], {2, {4, 3}, {2, 2}, {1, 1}, 0, {3, 2}});
                                          }}};
    });

namespace {

// The greater number, the first of two equal ones; NaN if one is NaN.
template <class T>
[[gnu::always_inline]] inline T greater(T a, T b) {
  return static_cast<int>(b > a) | static_cast<int>(b != b) ? b : a;  // || would be a branch
}

// The position of the first maximum of each window, or of its first NaN, in its plane: x (planes, height width) -> (planes, out)
Ids places_of_maxima(const Tensor& x, const Windows& w) {
  const Tensor dense = contiguous(x.detach());
  const auto places = cpu::unset_values<std::int32_t>("max_pool2d", w.flat_out());
  dispatch(x.dtype(), [&]<class T>() {
    const T* const all = dense.data<T>();
    w.for_each_plane([&](std::int64_t plane) {
      const T* const from = all + plane * w.plane();
      std::int32_t* const to = places.get() + plane * w.positions();
      w.for_each([=](std::int64_t at, std::int64_t top, std::int64_t bottom, std::int64_t left, std::int64_t right) {
        std::int64_t best = top * w.size.width + left;
        T greatest = from[best];
        for (std::int64_t i = top; i < bottom; ++i) {
          for (std::int64_t j = i * w.size.width + left; j < i * w.size.width + right; ++j) {
            const bool is_better = !(from[j] <= greatest) && !std::isnan(greatest);
            best = is_better ? j : best;
            greatest = is_better ? from[j] : greatest;
          }
        }
        to[at] = static_cast<std::int32_t>(best);
      });
    });
  });
  return Ids(w.flat_out(), places);
}

// Computes the maximum of `width` numbers, 2 or 3, for each of n windows that begin `stride` apart.
template <std::int64_t stride, std::int64_t width, class T>
void find_maxima_of_row(const T* x, std::int64_t n, T* y) {
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) y[j] = greater(x[j * stride], x[j * stride + 1]);
  if (width == 2) return;
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) y[j] = greater(y[j], x[j * stride + 2]);
}

// Computes the maximum of each window of a plane: of the columns over the rows of the window, then of the window's columns.
template <class T>
void find_maxima(const T* x, const Windows& w, T* y) {
  const std::int64_t width = w.size.width, n = w.out.width, kernel = w.kernel.width, stride = w.stride.width;
  std::vector<T> columns(static_cast<std::size_t>(width + 2 * w.padding.width), -std::numeric_limits<T>::infinity());
  T *const all = columns.data(), *const inside = all + w.padding.width;
  for (std::int64_t i = 0; i < w.out.height; ++i, y += n) {
    const std::int64_t top = i * w.stride.height - w.padding.height,
                       end = std::min(w.size.height, top + w.kernel.height);
    const T* row = x + std::max<std::int64_t>(0, top) * width;
    std::copy_n(row, width, inside);
    for (row += width; row < x + end * width; row += width) {
#pragma omp simd
      for (std::int64_t j = 0; j < width; ++j) inside[j] = greater(inside[j], row[j]);
    }
    if (kernel == 2 && stride == 2) {
      find_maxima_of_row<2, 2>(all, n, y);
    } else if (kernel == 3 && stride == 2) {
      find_maxima_of_row<2, 3>(all, n, y);
    } else if (kernel == 3 && stride == 1) {
      find_maxima_of_row<1, 3>(all, n, y);
    } else {
      for (std::int64_t j = 0; j < n; ++j) {
        y[j] = all[j * stride];
        for (std::int64_t k = 1; k < kernel; ++k) y[j] = greater(y[j], all[j * stride + k]);
      }
    }
  }
}

// Adds the gradient of each window of a plane to its first maximum. `left` holds the gradients; at the end it holds zeros.
template <class T>
void spread_to_maxima(const T* x, const T* y, const Windows& w, T* left, T* dx) {
  w.for_each_element([=](std::int64_t at, std::int64_t from, std::int64_t n, auto stride, auto together) {
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t k = 0; k < together; ++k) {
        const T v = x[from + j * stride + k], gradient = left[at + j];
        const bool is_maximum = static_cast<int>(v == y[at + j]) | static_cast<int>(v != v);
        dx[from + j * stride + k] += is_maximum ? gradient : 0;
        left[at + j] = is_maximum ? 0 : gradient;
      }
    }
  });
}

// x (planes, height width) -> (planes, out)
Tensor max_pool(const Tensor& x, const Windows& w) {
  const auto find = [&w](const auto* from, auto* to) {
    w.for_each_plane([&](std::int64_t p) { find_maxima(from + p * w.plane(), w, to + p * w.positions()); });
  };
  const Tensor y = cpu::computed(x, w.flat_out(), find, "max_pool2d");
  return record(
      max_pool_operation, {&x}, y, Saved(x, y),
      [w](const Tensor& dy, const Tensor& X, const Tensor& Y) {
        const Tensor dense_x = contiguous(X);
        Tensor dx = zeros(w.flat(), dy.dtype()), left = contiguous(dy).clone();
        dispatch(dy.dtype(), [&]<class T>() {
          const T *const from = dense_x.data<T>(), *const maxima = Y.data<T>();
          T *const gradients = left.mutable_data<T>(), *const to = dx.mutable_data<T>();
          w.for_each_plane([&](std::int64_t p) {
            const std::int64_t plane = p * w.plane(), out = p * w.positions();
            spread_to_maxima(from + plane, maxima + out, w, gradients + out, to + plane);
          });
        });
        return std::vector{dx};
      },
      Recordable([w](const Tensor& dy, const Tensor& X, const Tensor&) {
        return std::vector{scatter_add(zeros(w.flat(), dy.dtype()), places_of_maxima(X, w), dy, 1)};
      }));
}

Tensor avg_pool(const Tensor& x, const Windows& w) {
  const auto find_means = [&w]<class T>(const T* all, T* results) {
    const double share = 1.0 / static_cast<double>(w.kernel.height * w.kernel.width);
    w.for_each_plane([&](std::int64_t plane) {
      const T* const from = all + plane * w.plane();
      T* const to = results + plane * w.positions();
      std::vector<double> sums(static_cast<std::size_t>(w.positions()));
      w.for_each_element(
          [=, totals = sums.data()](std::int64_t at, std::int64_t first, std::int64_t n, auto stride, auto together) {
#pragma omp simd
            for (std::int64_t j = 0; j < n; ++j) {
              for (std::int64_t k = 0; k < together; ++k)
                totals[at + j] += static_cast<double>(from[first + j * stride + k]);
            }
          });
      std::ranges::transform(sums, to, [share](double total) { return static_cast<T>(total * share); });
    });
  };
  const Tensor y = cpu::computed(x, w.flat_out(), find_means, "avg_pool2d");
  return record(avg_pool_operation, {&x}, y, Saved(),
                Recordable([w](const Tensor& dy) { return std::vector{spread_evenly(dy, w)}; }));
}

// (planes, out) -> (planes, height width)
Tensor spread_evenly(const Tensor& dy, const Windows& w) {
  const Tensor dense = contiguous(dy.detach());
  Tensor x = zeros(w.flat(), dy.dtype());
  dispatch(dy.dtype(), [&]<class T>() {
    const T* const all = dense.data<T>();
    T* const results = x.mutable_data<T>();
    const T share = static_cast<T>(1.0 / static_cast<double>(w.kernel.height * w.kernel.width));
    w.for_each_plane([&](std::int64_t plane) {
      const T* const from = all + plane * w.positions();
      T* const to = results + plane * w.plane();
      w.for_each_element([=](std::int64_t at, std::int64_t first, std::int64_t n, auto stride, auto together) {
#pragma omp simd
        for (std::int64_t j = 0; j < n; ++j) {
          for (std::int64_t k = 0; k < together; ++k) to[first + j * stride + k] += from[at + j] * share;
        }
      });
    });
  });
  return record(avg_pool_transposed_operation, {&dy}, x, Saved(),
                Recordable([w](const Tensor& dx) { return std::vector{avg_pool(dx, w)}; }));
}

// (B, C, H, W) -> (B, C, H', W')
Tensor pooled(const Tensor& x, const Windows& w, Tensor (*pool)(const Tensor&, const Windows&)) {
  return reshape(pool(reshape(x, w.flat()), w), {x.size(0), x.size(1), w.out.height, w.out.width});
}

// (B, C, L) -> (B, C, L')
Tensor pooled_1d(const char* operation, const Tensor& x, std::int64_t kernel, const PoolOptions& o,
                 Tensor (*pool)(const Tensor&, const Windows&)) {
  check_defined(operation, {&x});
  if (x.rank() != 3) fail("{}: expected x (B, C, L), got {}", operation, to_string(x.shape()));
  for (const auto& [name, option] : {std::pair{"stride", o.stride}, std::pair{"padding", o.padding}}) {
    if (option.height != option.width) {
      fail("{}: {} must be one number, got {} and {}", operation, name, option.height, option.width);
    }
  }
  const Tensor image = unsqueeze(x, 2);
  const Windows w = windows_of(operation, image, {1, kernel}, {{1, o.stride.width}, {0, o.padding.width}});
  return squeeze(pooled(image, w, pool), 2);
}

}  // namespace

Tensor max_pool2d(const Tensor& x, HeightWidth kernel, const PoolOptions& options) {
  const Windows w = windows_of("max_pool2d", x, kernel, options);
  return w.is_whole() ? max(x, {2, 3}, true) : pooled(x, w, max_pool);
}
Tensor max_pool1d(const Tensor& x, std::int64_t kernel, const PoolOptions& options) {
  return pooled_1d("max_pool1d", x, kernel, options, max_pool);
}
Tensor avg_pool2d(const Tensor& x, HeightWidth kernel, const PoolOptions& options) {
  const Windows w = windows_of("avg_pool2d", x, kernel, options);
  return w.is_whole() ? mean(x, {2, 3}, true) : pooled(x, w, avg_pool);
}
Tensor avg_pool1d(const Tensor& x, std::int64_t kernel, const PoolOptions& options) {
  return pooled_1d("avg_pool1d", x, kernel, options, avg_pool);
}

}  // namespace heed
