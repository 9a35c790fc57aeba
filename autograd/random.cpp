#include "autograd/random.h"

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

}  // namespace

Random Random::stream(std::string_view name) const { return Random(seed_, mix(stream_ ^ hash(name)) + 1); }

Random Random::stream(std::uint64_t number) const {
  return Random(seed_, mix(stream_ ^ mix(number + 0x9e3779b97f4a7c15U)) + 1);
}

void Random::bits_at(std::uint64_t first, std::span<std::uint32_t> bits) const {
  constexpr std::size_t lanes = 8;  // blocks of four numbers, side by side so that the compiler can vectorise
  using Lane = std::array<std::uint32_t, lanes>;
  const std::uint64_t skipped = first % 4;
  std::size_t written = 0;
  for (std::uint64_t block = first / 4; written < bits.size(); block += lanes) {
    std::array<Lane, 4> c;
    for (std::size_t l = 0; l < lanes; ++l) {
      c[0][l] = static_cast<std::uint32_t>(block + l);
      c[1][l] = static_cast<std::uint32_t>((block + l) >> 32);
      c[2][l] = static_cast<std::uint32_t>(stream_);
      c[3][l] = static_cast<std::uint32_t>(stream_ >> 32);
    }
    std::uint32_t k0 = static_cast<std::uint32_t>(seed_), k1 = static_cast<std::uint32_t>(seed_ >> 32);
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
    for (std::uint64_t i = written == 0 ? skipped : 0; i < 4 * lanes && written < bits.size(); ++i) {
      bits[written++] = c[i % 4][i / 4];
    }
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
