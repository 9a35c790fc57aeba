#include <heed/autograd/error.h>
#include <heed/autograd/random.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace heed {
namespace {

// Mixes the bits of a number: the finaliser of SplitMix64.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// Four numbers of 32 bits in 64-bit lanes, whose upper halves are ignored.
typedef std::uint64_t Four __attribute__((vector_size(32)));

// Returns the 64-bit products with m.
Four times(Four x, std::uint32_t m) {
#if defined(__AVX2__)
  return reinterpret_cast<Four>(_mm256_mul_epu32(reinterpret_cast<__m256i>(x), _mm256_set1_epi64x(m)));
#else
  return (x & 0xFFFFFFFFU) * m;
#endif
}

// Returns the numbers of eight consecutive blocks of four, from `block` on. The blocks are computed in parallel lanes.
std::array<std::uint32_t, 32> eight_blocks(std::uint64_t seed, std::uint64_t stream, std::uint64_t block) {
  Four c[4][2];
  for (std::uint64_t h = 0; h < 2; ++h) {
    c[0][h] = block + 4 * h + Four{0, 1, 2, 3};
    c[1][h] = c[0][h] >> 32;
    c[2][h] = Four{} + stream;
    c[3][h] = c[2][h] >> 32;
  }
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9U, k1 += 0xBB67AE85U) {
    for (std::size_t h = 0; h < 2; ++h) {
      const Four p0 = times(c[0][h], 0xD2511F53U), p1 = times(c[2][h], 0xCD9E8D57U);
      c[0][h] = (p1 >> 32) ^ c[1][h] ^ k0;
      c[1][h] = p1;
      c[2][h] = (p0 >> 32) ^ c[3][h] ^ k1;
      c[3][h] = p0;
    }
  }
  std::array<std::uint32_t, 32> numbers;
  for (std::size_t h = 0; h < 2; ++h) {
    const Four first = (c[0][h] & 0xFFFFFFFFU) | c[1][h] << 32, second = (c[2][h] & 0xFFFFFFFFU) | c[3][h] << 32;
    const Four low = __builtin_shufflevector(first, second, 0, 4, 1, 5);
    const Four high = __builtin_shufflevector(first, second, 2, 6, 3, 7);
    std::memcpy(&numbers[16 * h], &low, sizeof low);
    std::memcpy(&numbers[16 * h + 8], &high, sizeof high);
  }
  return numbers;
}

}  // namespace

std::uint64_t fnv1a(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

Random Random::stream(std::string_view name) const { return Random(seed_, mix(stream_ ^ mix(fnv1a(name))) + 1); }

Random Random::stream(std::uint64_t number) const {
  return Random(seed_, mix(stream_ ^ mix(number + 0x9e3779b97f4a7c15U)) + 1);
}

void Random::bits_at(std::uint64_t first, std::span<std::uint32_t> bits) const {
  std::uint64_t skipped = first % 4;
  for (std::uint64_t block = first / 4; !bits.empty(); block += 8, skipped = 0) {
    const std::array<std::uint32_t, 32> numbers = eight_blocks(seed_, stream_, block);
    const std::size_t count = std::min<std::size_t>(bits.size(), 32 - skipped);
    std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(skipped), count, bits.begin());
    bits = bits.subspan(count);
  }
}

std::uint32_t Random::bits_at(std::uint64_t index) const {
  std::uint32_t bits = 0;
  bits_at(index, std::span(&bits, 1));
  return bits;
}

std::uint32_t Random::bits() {
  const std::uint64_t block = position_ - position_ % buffer_.size();
  if (block != buffered_) {
    bits_at(block, buffer_);
    buffered_ = block;
  }
  return buffer_[position_++ - block];
}

double Random::uniform() {
  const std::uint64_t high = bits(), low = bits();
  return static_cast<double>(((high << 32) | low) >> 11) * 0x1p-53;
}

double Random::uniform(double low, double high) {
  if (!(low <= high)) [[unlikely]]
    fail("Random::uniform: low must be at most high, got {} and {}", low, high);
  return low + (high - low) * uniform();
}

double Random::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));  // Box & Muller 1958
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::int64_t Random::below(std::int64_t n) {
  if (n < 1) [[unlikely]]
    fail("Random::below: expected a number above 0, got {}", n);
  const std::uint64_t range = static_cast<std::uint64_t>(n);
  const std::uint64_t limit = ~std::uint64_t{0} - ~std::uint64_t{0} % range;
  for (;;) {
    const std::uint64_t high = bits(), low = bits();
    const std::uint64_t draw = (high << 32) | low;
    if (draw < limit) return static_cast<std::int64_t>(draw % range);
  }
}

}  // namespace heed
