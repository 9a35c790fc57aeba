#include "tests/autograd/helpers.h"

#include <heed/autograd/convolution.h>

#include <cmath>

using namespace heed;

using NumberList = std::vector<double>;

namespace {

// The maxima of the windows of images (N, H, W), and the position of the first one of each, or of its first NaN.
struct Maxima {
  NumberList values;
  std::vector<std::size_t> places;
};
Maxima plain_maxima(const NumberList& x, std::int64_t images, HeightWidth size, HeightWidth kernel,
                    const PoolOptions& o) {
  Maxima all;
  for (std::int64_t n = 0; n < images; ++n) {
    for (std::int64_t top = -o.padding.height; top + kernel.height <= size.height + o.padding.height;
         top += o.stride.height) {
      for (std::int64_t left = -o.padding.width; left + kernel.width <= size.width + o.padding.width;
           left += o.stride.width) {
        double best = -INFINITY;
        std::size_t place = x.size();
        for (std::int64_t i = std::max<std::int64_t>(top, 0); i < std::min(top + kernel.height, size.height); ++i) {
          for (std::int64_t j = std::max<std::int64_t>(left, 0); j < std::min(left + kernel.width, size.width); ++j) {
            const std::size_t at = static_cast<std::size_t>((n * size.height + i) * size.width + j);
            if (place < x.size() && (std::isnan(best) || x[at] <= best)) continue;
            best = x[at];
            place = at;
          }
        }
        all.values.push_back(best);
        all.places.push_back(place);
      }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("max_pool2d takes the first maximum of each window, for any window") {
  Random random(3);
  for (const auto& [kernel, stride, padding] : {std::tuple<HeightWidth, HeightWidth, HeightWidth>{2, 2, 0},
                                                {2, 2, 1},
                                                {{1, 2}, {1, 2}, 0},
                                                {3, 2, 1},
                                                {{2, 3}, 1, {1, 0}},
                                                {{4, 5}, {3, 3}, {2, 1}},
                                                {1, 4, 0},
                                                {{5, 2}, {1, 2}, {2, 0}}}) {
    for (const HeightWidth size : {HeightWidth{7, 40}, {6, 5}, {5, 2}}) {
      if (kernel.width > size.width + 2 * padding.width) continue;
      // small integers, of which many are equal, infinities and NaN
      Tensor x = tensor(random_ids({2, 3, size.height, size.width}, random, 5), DType::float32);
      x = where(equal(random_ids(x.shape(), random, 20), 0), full({}, -INFINITY), x);
      x = where(equal(random_ids(x.shape(), random, 20), 0), full({}, NAN), x);
      const PoolOptions options{.stride = stride, .padding = padding};
      const Maxima expected = plain_maxima(x.to_vector(), 6, size, kernel, options);
      INFO(size.height << " x " << size.width << ", kernel " << kernel.height << " x " << kernel.width << ", stride "
                       << stride.height << " x " << stride.width << ", padding " << padding.height << " x "
                       << padding.width);
      const Tensor v = variable(x);
      const Recording recording;
      const Tensor y = max_pool2d(v, kernel, options);
      const NumberList maxima = y.to_vector();
      REQUIRE(maxima.size() == expected.values.size());
      const Tensor dy = tensor(random_ids(y.shape(), random, 100), DType::float32);
      NumberList dx(static_cast<std::size_t>(x.numel()), 0.0);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < maxima.size(); ++i) {
        wrong += maxima[i] != expected.values[i] && !(std::isnan(maxima[i]) && std::isnan(expected.values[i]));
        dx[expected.places[i]] += dy.to_vector()[i];
      }
      CHECK(wrong == 0);
      CHECK(backward(y, dy)[v].to_vector() == dx);
      CHECK(backward(y, dy, {.record = true})[v].to_vector() == dx);
    }
  }
}
