#include "autograd/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace heed {
namespace {

// Spreads a name or number over 64 bits (FNV-1a, then the finaliser of SplitMix64).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return mix(h);
}

// The numbers of up to `lanes` blocks of four, from number `skipped` of the first one on: returns how many. The blocks
// are computed side by side, in loops that are vectorised.
template <std::size_t lanes>
std::size_t write_blocks(std::uint64_t seed, std::uint64_t stream, std::uint64_t block, std::uint64_t skipped,
                         std::span<std::uint32_t> bits) {
  std::array<std::array<std::uint32_t, lanes>, 4> c;
  for (std::size_t l = 0; l < lanes; ++l) {
    c[0][l] = static_cast<std::uint32_t>(block + l);
    c[1][l] = static_cast<std::uint32_t>((block + l) >> 32);
    c[2][l] = static_cast<std::uint32_t>(stream);
    c[3][l] = static_cast<std::uint32_t>(stream >> 32);
  }
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9U, k1 += 0xBB67AE85U) {
    for (std::size_t l = 0; l < lanes; ++l) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53U} * c[0][l], p1 = std::uint64_t{0xCD9E8D57U} * c[2][l];
      const std::uint32_t c1 = c[1][l], c3 = c[3][l];
      c[0][l] = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
      c[1][l] = static_cast<std::uint32_t>(p1);
      c[2][l] = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
      c[3][l] = static_cast<std::uint32_t>(p0);
    }
  }
  const std::size_t count = std::min<std::size_t>(bits.size(), 4 * lanes - skipped);
  if (count == 4 * lanes) {
    std::uint32_t* to = bits.data();
    for (std::size_t l = 0; l < lanes; ++l) {
      for (std::size_t i = 0; i < 4; ++i) to[4 * l + i] = c[i][l];
    }
    return count;
  }
  for (std::size_t i = 0; i < count; ++i) bits[i] = c[(i + skipped) % 4][(i + skipped) / 4];
  return count;
}

}  // namespace

Random Random::stream(std::string_view name) const { return Random(seed_, mix(stream_ ^ hash(name)) + 1); }

Random Random::stream(std::uint64_t number) const {
  return Random(seed_, mix(stream_ ^ mix(number + 0x9e3779b97f4a7c15U)) + 1);
}

void Random::bits_at(std::uint64_t first, std::span<std::uint32_t> bits) const {
  std::uint64_t skipped = first % 4;
  for (std::uint64_t block = first / 4; !bits.empty(); skipped = 0) {
    const std::size_t written = bits.size() >= 256 ? write_blocks<64>(seed_, stream_, block, skipped, bits)
                                                   : write_blocks<8>(seed_, stream_, block, skipped, bits);
    block += (written + skipped) / 4;
    bits = bits.subspan(written);
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

double Random::uniform(double low, double high) { return low + (high - low) * uniform(); }

double Random::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));  // Box & Muller 1958
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::int64_t Random::below(std::int64_t n) {
  const std::uint64_t range = static_cast<std::uint64_t>(n);
  const std::uint64_t limit = ~std::uint64_t{0} - ~std::uint64_t{0} % range;
  for (;;) {
    const std::uint64_t high = bits(), low = bits();
    const std::uint64_t draw = (high << 32) | low;
    if (draw < limit) return static_cast<std::int64_t>(draw % range);
  }
}

}  // namespace heed
