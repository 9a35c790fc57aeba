#include <heed/autograd/error.h>
#include <heed/autograd/random.h>

#include <algorithm>
#include <bit>
#include <charconv>
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

// Numbers of 32 bits in 64-bit lanes, whose upper halves are ignored.
#if defined(__AVX512F__)
constexpr std::uint64_t philox_lanes = 8;
typedef std::uint64_t Numbers __attribute__((vector_size(64)));
constexpr Numbers first_lanes{0, 1, 2, 3, 4, 5, 6, 7};
#else
constexpr std::uint64_t philox_lanes = 4;
typedef std::uint64_t Numbers __attribute__((vector_size(32)));
constexpr Numbers first_lanes{0, 1, 2, 3};
#endif

// Returns the 64-bit products with m.
Numbers times(Numbers x, std::uint32_t m) {
#if defined(__AVX512F__)
  return reinterpret_cast<Numbers>(_mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(x), _mm512_set1_epi64(m)));
#elif defined(__AVX2__)
  return reinterpret_cast<Numbers>(_mm256_mul_epu32(reinterpret_cast<__m256i>(x), _mm256_set1_epi64x(m)));
#else
  return (x & 0xFFFFFFFFU) * m;
#endif
}

constexpr std::size_t numbers_a_vector = 4 * philox_lanes;  // of 32 bits

// Computes the numbers of consecutive blocks of four, from `block` on. The blocks are computed in parallel lanes; with several
// vectors, each waits less for its products.
template <std::size_t vectors>
void blocks_from(std::uint64_t seed, std::uint64_t stream, std::uint64_t block, std::uint32_t* numbers) {
  Numbers c[4][vectors];
  for (std::uint64_t h = 0; h < vectors; ++h) {
    c[0][h] = block + philox_lanes * h + first_lanes;
    c[1][h] = c[0][h] >> 32;
    c[2][h] = Numbers{} + stream;
    c[3][h] = c[2][h] >> 32;
  }
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9U, k1 += 0xBB67AE85U) {
    for (std::size_t h = 0; h < vectors; ++h) {
      const Numbers p0 = times(c[0][h], 0xD2511F53U), p1 = times(c[2][h], 0xCD9E8D57U);
      c[0][h] = (p1 >> 32) ^ c[1][h] ^ k0;
      c[1][h] = p1;
      c[2][h] = (p0 >> 32) ^ c[3][h] ^ k1;
      c[3][h] = p0;
    }
  }
  for (std::size_t h = 0; h < vectors; ++h) {
    const Numbers first = (c[0][h] & 0xFFFFFFFFU) | c[1][h] << 32, second = (c[2][h] & 0xFFFFFFFFU) | c[3][h] << 32;
#if defined(__AVX512F__)
    const Numbers low = __builtin_shufflevector(first, second, 0, 8, 1, 9, 2, 10, 3, 11);
    const Numbers high = __builtin_shufflevector(first, second, 4, 12, 5, 13, 6, 14, 7, 15);
#else
    const Numbers low = __builtin_shufflevector(first, second, 0, 4, 1, 5);
    const Numbers high = __builtin_shufflevector(first, second, 2, 6, 3, 7);
#endif
    std::memcpy(numbers + numbers_a_vector * h, &low, sizeof low);
    std::memcpy(numbers + numbers_a_vector * h + numbers_a_vector / 2, &high, sizeof high);
  }
}

__extension__ typedef unsigned __int128 Wide;

// Returns the number in [0, 1) of 53 bits that two draws of 32 make: all of the first, then the upper bits of the second.
double uniform_of(const std::uint32_t* draws) {
  std::uint64_t pair;
  std::memcpy(&pair, draws, sizeof pair);
  // each part becomes the lowest bits of 2^52 + part, as few processors convert vectors of integers
  constexpr std::uint64_t bits_of_two_to_52 = 0x4330000000000000U;
  const auto number = [](std::uint64_t part) { return std::bit_cast<double>(bits_of_two_to_52 | part) - 0x1p52; };
  return number(pair & 0xFFFFFFFFU) * 0x1p-32 + number(pair >> 43) * 0x1p-53;  // exact
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

std::string Random::state() const { return fmt::format("{}:{}:{}", seed_, stream_, position_); }

Random Random::restored(std::string_view state) {
  std::uint64_t numbers[3]{};
  const char *at = state.data(), *const end = at + state.size();
  for (std::uint64_t& number : numbers) {
    const auto [next, error] = std::from_chars(at, end, number);
    const bool is_last = &number == &numbers[2];
    if (error != std::errc() || (is_last ? next != end : next == end || *next != ':')) {
      fail("Random: expected a state such as '1:0:57', got '{}'", state.substr(0, 80));
    }
    at = is_last ? next : next + 1;
  }
  Random random(numbers[0], numbers[1]);
  random.position_ = numbers[2];
  return random;
}

void Random::bits_at(std::uint64_t first, std::span<std::uint32_t> bits) const {
  constexpr std::size_t vectors = 4, together = vectors * numbers_a_vector;
  std::uint64_t block = first / 4;
  std::size_t skipped = first % 4;
  for (; skipped == 0 && bits.size() >= together; block += together / 4, bits = bits.subspan(together)) {
    blocks_from<vectors>(seed_, stream_, block, bits.data());
  }
  for (; !bits.empty(); block += numbers_a_vector / 4, skipped = 0) {
    std::array<std::uint32_t, numbers_a_vector> numbers;
    blocks_from<1>(seed_, stream_, block, numbers.data());
    const std::size_t count = std::min<std::size_t>(bits.size(), numbers.size() - skipped);
    std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(skipped), count, bits.begin());
    bits = bits.subspan(count);
  }
}

std::uint32_t Random::bits_at(std::uint64_t index) const {
  std::uint32_t bits = 0;
  bits_at(index, std::span(&bits, 1));
  return bits;
}

void Random::refill() {
  buffered_ = position_ - position_ % buffer_.size();
  bits_at(buffered_, buffer_);
}

void Random::bits(std::span<std::uint32_t> numbers) {
  bits_at(position_, numbers);
  position_ += numbers.size();
}

double Random::uniform() {
  const std::uint32_t high = bits(), draws[]{high, bits()};
  return uniform_of(draws);
}

void Random::uniform(std::span<double> numbers) {
  std::array<std::uint32_t, 256> drawn;
  while (!numbers.empty()) {
    const std::size_t count = std::min(numbers.size(), drawn.size() / 2);
    bits(std::span(drawn).first(2 * count));
    for (std::size_t i = 0; i < count; ++i) numbers[i] = uniform_of(&drawn[2 * i]);
    numbers = numbers.subspan(count);
  }
}

void Random::below(std::int32_t n, std::span<std::int32_t> numbers) {
  if (n < 1) fail_below(n);
  const std::uint64_t range = static_cast<std::uint64_t>(n), inverse = ~std::uint64_t{0} / range;
  std::array<std::uint32_t, 256> drawn;
  while (!numbers.empty()) {
    const std::size_t count = std::min(numbers.size(), drawn.size() / 2);
    bits(std::span(drawn).first(2 * count));
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t draw = std::uint64_t{drawn[2 * i]} << 32 | drawn[2 * i + 1];
      const auto quotient = static_cast<std::uint64_t>((static_cast<Wide>(draw) * inverse) >> 64);  // or one less
      const std::uint64_t rest = draw - quotient * range;
      numbers[kept] = static_cast<std::int32_t>(rest < range ? rest : rest - range);
      kept += is_unbiased(draw, range);
    }
    numbers = numbers.subspan(kept);
  }
}

double Random::uniform(double low, double high) {
  if (!(low <= high)) [[unlikely]]
    fail("Random::uniform: low must be at most high, got {} and {}", low, high);
  const double value = low + (high - low) * uniform();
  return value < high || low == high ? value : std::nextafter(high, low);  // the sum may be rounded up to the bound
}

double Random::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));  // Box & Muller 1958
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

void Random::fail_below(std::int64_t n) { fail("Random::below: expected a number above 0, got {}", n); }

}  // namespace heed
