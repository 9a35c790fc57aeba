#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace heed {

/// A type of numbers in GGUF files: blocks of numbers of few bits that share a scale.
struct BlockType {
  std::string_view name;  // "Q4_K"
  std::uint32_t code;     // in a file
  std::size_t numbers;    // in a block
  std::size_t bytes;      // of a block
};

/// Returns the type with this code; none for a type that heed does not read. Types: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0,
/// Q5_1, Q4_K, Q5_K and Q6_K.
std::optional<BlockType> block_type(std::uint32_t code);

/// Writes the `blocks` * type.numbers numbers of blocks to `to`.
void dequantize(const BlockType& type, const char* from, std::size_t blocks, float* to);

}  // namespace heed
