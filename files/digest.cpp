#include "files/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace heed {
namespace {

constexpr std::uint64_t P1 = 11400714785074694791u, P2 = 14029467366897019727u, P3 = 1609587929392839161u,
                        P4 = 9650029242287828579u, P5 = 2870177450012600261u;

template <class T>
T take(std::string_view& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

std::uint64_t mix(std::uint64_t lane, std::uint64_t input) { return std::rotl(lane + input * P2, 31) * P1; }

}  // namespace

Xxh64::Xxh64(std::uint64_t seed) : seed_(seed), lanes_{seed + P1 + P2, seed + P2, seed, seed - P1} {
  static_assert(std::endian::native == std::endian::little);
}

void Xxh64::add(std::string_view bytes) {
  length_ += bytes.size();
  const auto add_blocks = [&](std::string_view blocks) {
    std::array<std::uint64_t, 4> lanes = lanes_;  // a local copy stays in registers
    while (blocks.size() >= 32) {
      for (std::uint64_t& lane : lanes) lane = mix(lane, take<std::uint64_t>(blocks));
    }
    lanes_ = lanes;
    return blocks;
  };
  if (!rest_.empty()) {
    const std::size_t count = std::min(32 - rest_.size(), bytes.size());
    rest_ += bytes.substr(0, count);
    bytes.remove_prefix(count);
    rest_ = add_blocks(rest_);
  }
  if (!bytes.empty()) rest_ = add_blocks(bytes);
}

std::uint64_t Xxh64::value() const {
  std::uint64_t hash = seed_ + P5;
  if (length_ >= 32) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) hash = (hash ^ mix(0, lane)) * P1 + P4;
  }
  hash += length_;
  std::string_view bytes = rest_;
  while (bytes.size() >= 8) hash = std::rotl(hash ^ mix(0, take<std::uint64_t>(bytes)), 27) * P1 + P4;
  if (bytes.size() >= 4) hash = std::rotl(hash ^ take<std::uint32_t>(bytes) * P1, 23) * P2 + P3;
  while (!bytes.empty()) hash = std::rotl(hash ^ take<unsigned char>(bytes) * P5, 11) * P1;
  hash = (hash ^ hash >> 33) * P2;
  hash = (hash ^ hash >> 29) * P3;
  return hash ^ hash >> 32;
}

std::uint64_t xxh64(std::string_view bytes, std::uint64_t seed) {
  Xxh64 hash(seed);
  hash.add(bytes);
  return hash.value();
}

std::string hexadecimal(std::uint64_t value) { return fmt::format("{:016x}", value); }

}  // namespace heed
