#include "autograd/cpu/int8_product.h"

#include "autograd/cpu/units.h"
#include "autograd/half.h"
#include "tests/catch.h"

#include <heed/autograd/random.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

using namespace heed;
using cpu::Unit;

namespace {

constexpr std::array int8_types = {DType::q8_0, DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::iq4_nl,
                                   DType::q2_k, DType::q3_k, DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_xs};

// W (k x n) in columns of random blocks, `gap` blocks apart, whose first lies `gap` blocks after the beginning.
struct RandomBlocks {
  std::int64_t k, n, stride;
  DType type;
  std::vector<unsigned char> bytes;
  std::int64_t first;

  RandomBlocks(std::int64_t rows, std::int64_t columns, std::int64_t gap, DType kind, Random& random)
      : k(rows), n(columns), type(kind) {
    const cpu::BlockLayout layout = cpu::block_layout(type);
    const std::int64_t blocks = k / layout.numbers + gap;
    stride = blocks * layout.numbers;
    first = gap * layout.numbers;
    for (std::int64_t block = 0; block < blocks * n + gap; ++block) {
      std::vector<unsigned char> one(static_cast<std::size_t>(layout.bytes));
      for (unsigned char& byte : one) byte = static_cast<unsigned char>(random.below(256));
      const auto set = [&](std::int64_t place) {
        const std::uint16_t bits = to_f16(static_cast<float>(random.normal() * 0.1));
        one[static_cast<std::size_t>(place)] = static_cast<unsigned char>(bits & 255U);
        one[static_cast<std::size_t>(place) + 1] = static_cast<unsigned char>(bits >> 8U);
      };
      set(layout.scale);
      if (layout.minimum >= 0) set(layout.minimum);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
  }
  cpu::Matrix<cpu::Blocks> matrix() const { return {{type, bytes.data(), first}, 1, stride}; }
  std::vector<float> column(std::int64_t j) const {
    std::vector<float> values(static_cast<std::size_t>(k));
    cpu::widen(matrix().data + j * stride, values.data(), k);
    return values;
  }
};

// Returns the numbers as int8_product() rounds them.
std::vector<double> rounded_by_blocks(const float* from, std::int64_t k) {
  std::vector<double> values;
  for (std::int64_t b = 0; b < k; b += 32) {
    float largest = 0;
    for (std::int64_t i = b; i < b + 32; ++i) largest = std::max(largest, std::abs(from[i]));
    const float inverse = 127 / largest;
    for (std::int64_t i = b; i < b + 32; ++i) {
      values.push_back(largest == 0 ? 0.0 : double(largest / 127) * double(std::nearbyint(from[i] * inverse)));
    }
  }
  return values;
}

std::vector<float> product_of(std::int64_t m, const std::vector<float>& x, std::int64_t ldx, const RandomBlocks& W,
                              const float* bias) {
  std::vector<float> y(static_cast<std::size_t>(m * W.n));
  cpu::int8_product(m, W.n, W.k, cpu::Matrix<float>{x.data(), ldx, 1}, W.matrix(), bias, y.data());
  return y;
}

}  // namespace

TEST_CASE("int8_product multiplies rounded rows by blocks, with the same bits by any instructions") {
  Random random(7);
  for (int draw = 0; draw < 132; ++draw) {
    const DType type = int8_types[static_cast<std::size_t>(draw) % int8_types.size()];
    const std::int64_t unit = cpu::block_layout(type).numbers,
                       k = unit * (1 + static_cast<std::int64_t>(random.below(6)) + (draw % 7 == 0 ? 40 : 0));
    const std::int64_t m = 1 + static_cast<std::int64_t>(draw % 3 == 0 ? 0 : random.below(130));
    const std::int64_t n = 16 + static_cast<std::int64_t>(random.below(115)), gap = draw % 4, ldx = k + draw % 5;
    const RandomBlocks W(k, n, gap, type, random);
    std::vector<float> x(static_cast<std::size_t>(m * ldx)), bias(static_cast<std::size_t>(n));
    for (float& value : x) value = static_cast<float>(random.normal());
    for (float& value : bias) value = static_cast<float>(random.normal());
    std::fill_n(x.begin(), 32, 0.0F);
    const float* const b = draw % 2 ? bias.data() : nullptr;
    INFO(to_string(type) << ", " << m << " x " << k << " x " << n << ", draw " << draw);
    REQUIRE(cpu::is_int8_product(k, n, W.matrix()));
    const std::vector<float> y = product_of(m, x, ldx, W, b);
    for (std::int64_t j = 0; j < n; j += draw % 3 + 1) {
      const std::vector<float> column = W.column(j);
      for (std::int64_t i = 0; i < m; i += 1 + m / 8) {
        const std::vector<double> row = rounded_by_blocks(x.data() + i * ldx, k);
        double sum = b ? double(b[j]) : 0, size = std::abs(sum);
        for (std::int64_t p = 0; p < k; ++p) {
          const double term = row[static_cast<std::size_t>(p)] * double(column[static_cast<std::size_t>(p)]);
          sum += term;
          size += std::abs(term);
        }
        REQUIRE(std::abs(double(y[static_cast<std::size_t>(i * n + j)]) - sum) <= 3e-7 * size);
      }
    }
    {
      const cpu::WithoutUnits avx2{Unit::avx512_vnni};
      CHECK(product_of(m, x, ldx, W, b) == y);
    }
    {
      const cpu::WithoutUnits plain{Unit::avx512_vnni, Unit::avx2};
      CHECK(product_of(m, x, ldx, W, b) == y);
    }
    const std::int64_t last = m - 1;  // alone
    const std::vector<float> row(x.begin() + last * ldx, x.end()), alone = product_of(1, row, ldx, W, b);
    CHECK(std::equal(alone.begin(), alone.end(), y.begin() + last * n));
  }
}

TEST_CASE("int8_product keeps the largest integers, infinities, NaN and subnormal numbers apart") {
  Random random(8);
  constexpr std::int64_t k = 64, n = 20;
  const float infinity = std::numeric_limits<float>::infinity(), tiny = std::numeric_limits<float>::denorm_min();
  for (const DType type : {DType::q8_0, DType::q4_0, DType::q4_1}) {
    RandomBlocks W(k, n, 0, type, random);
    const cpu::BlockLayout layout = cpu::block_layout(type);
    for (std::size_t block = 0; block < n * k / 32; ++block) {  // -128 where there is such a number
      std::fill_n(W.bytes.begin() + static_cast<std::ptrdiff_t>(block) * layout.bytes + layout.bytes - 16, 16,
                  static_cast<unsigned char>(type == DType::q8_0 ? 128 : 255));
    }
    std::vector<float> x(6 * k, -3.0F);
    x[k] = infinity;
    x[2 * k + 40] = -std::numeric_limits<float>::quiet_NaN();
    std::fill_n(x.begin() + 3 * k, k, tiny);
    std::fill_n(x.begin() + 4 * k, k, 1e30F);
    std::fill_n(x.begin() + 5 * k, k, 1e-33F);
    for (int hidden = 0; hidden < 3; ++hidden) {
      std::optional<cpu::WithoutUnits> no_vnni, no_avx2;
      if (hidden > 0) no_vnni.emplace(std::initializer_list<Unit>{Unit::avx512_vnni});
      if (hidden > 1) no_avx2.emplace(std::initializer_list<Unit>{Unit::avx2});
      const std::vector<float> y = product_of(6, x, k, W, nullptr);
      for (std::int64_t j = 0; j < n; ++j) {
        const std::vector<float> column = W.column(j);
        double sum = 0, size = 0;
        for (const float w : column) sum += double(w), size += std::abs(double(w));
        const auto at = [&](std::int64_t row) { return double(y[static_cast<std::size_t>(row * n + j)]); };
        CHECK(std::abs(at(0) + 3 * sum) <= 1e-6 * size);
        CHECK(std::isnan(at(1)));
        CHECK(std::isnan(at(2)));
        CHECK(at(3) == 0);
        CHECK(std::abs(at(4) - 1e30 * sum) <= 1e24 * size);
        CHECK(std::abs(at(5) - 1e-33 * sum) <= 1e-39 * size);
      }
    }
  }
}

TEST_CASE("int8_product leaves matrices that it cannot read to others") {
  Random random(9);
  const RandomBlocks W(512, 32, 1, DType::q4_k, random);
  const cpu::Matrix<cpu::Blocks> matrix = W.matrix();
  CHECK(cpu::is_int8_product(512, 32, matrix));
  CHECK_FALSE(cpu::is_int8_product(512, 15, matrix));                           // few columns
  CHECK_FALSE(cpu::is_int8_product(256 + 32, 32, matrix));                      // part of a block
  CHECK_FALSE(cpu::is_int8_product(256, 32, {matrix.data + 32, 1, W.stride}));  // begins within a block
  CHECK_FALSE(cpu::is_int8_product(256, 32, {matrix.data, W.stride, 1}));       // blocks along n
}
