#include "autograd/cpu/stream.h"

#include "tests/autograd/helpers.h"

using namespace heed;

TEST_CASE("Part writes exactly its range, streamed or not") {
  constexpr std::int64_t small = 1000, large = (cpu::max_cached_bytes / 4) + 1;
  for (const std::int64_t all : {small, large}) {
    for (const std::int64_t first : {0, 1, 4, 7}) {
      for (const std::int64_t n : {0, 1, 3, 4, 17, 256, 4095, 4096, 4097}) {
        std::vector<float> y(static_cast<std::size_t>(first + n + 8), -1.0F);
        {
          const cpu::StreamScope scope;
          const cpu::Part<float> part(y.data() + first, n, all);
          CHECK((part.data() == y.data() + first || (all == large && n <= 4096)));
          for (std::int64_t i = 0; i < n; ++i) part.data()[i] = static_cast<float>(i);
        }
        bool right = true;
        for (std::int64_t i = 0; i < std::ssize(y); ++i) {
          const bool written = i >= first && i < first + n;
          right = right && y[static_cast<std::size_t>(i)] == (written ? static_cast<float>(i - first) : -1.0F);
        }
        CHECK(right);
      }
    }
  }
}

TEST_CASE("Operations give the same bits for tensors larger than the caches as for small ones") {
  const std::int64_t rows = 9001, n = 1001;  // 36 MB; rows begin off the 16 bytes that are streamed at once
  Random random(3);
  const Tensor few = uniform({8, n}, random, DType::float32, -4, 4), gain = uniform({n}, random, DType::float32);
  Tensor many({rows, n}, DType::float32);
  for (std::int64_t i = 0; i < rows; ++i) {
    std::copy_n(few.data<float>() + i % 8 * n, n, many.mutable_data<float>() + i * n);
  }
  const auto same = [&](const Tensor& small, const Tensor& large) {
    for (std::int64_t i = 0; i < rows; ++i) {
      if (!same_bits(slice(small, 0, i % 8, i % 8 + 1), slice(large, 0, i, i + 1))) return false;
    }
    return true;
  };
  CHECK(same(gelu(few), gelu(many)));
  CHECK(same(few * 3.0, many * 3.0));
  CHECK(same(softmax(few), softmax(many)));
  CHECK(same(layer_norm(few, gain, gain), layer_norm(many, gain, gain)));
  const auto gradient = [](const Tensor& x, auto&& f) {
    const Tensor v = variable(x);
    const Recording recording;
    return backward(sum(f(v) * 2.0))[v];
  };
  for (Tensor (*f)(const Tensor&) :
       {+[](const Tensor& x) { return gelu(x); }, +[](const Tensor& x) { return softmax(x) * x; },
        +[](const Tensor& x) { return layer_norm(x, {}, {}) * x; }}) {
    CHECK(same(gradient(few, f), gradient(many, f)));
  }
}
