#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace heed::tokenizers {

/// Byte strings with a value each, found by their prefixes.
class Trie {
 public:
  static constexpr std::uint32_t root = 0, none = 0xffffffff;

  Trie() = default;
  /// When strings are equal, the last value counts. Values are not negative.
  explicit Trie(std::vector<std::pair<std::string_view, int>> entries);

  /// Returns the node behind `node` and `byte`, or `none`.
  std::uint32_t next(std::uint32_t node, unsigned char byte) const;
  /// Returns the value of the string that ends at a node, or -1.
  int value(std::uint32_t node) const { return nodes_[node].value; }

 private:
  struct Node {
    std::uint32_t first_child = 0;
    std::uint16_t children = 0;
    unsigned char byte = 0;  // that leads here
    int value = -1;
  };
  std::vector<Node> nodes_{Node{}};  // children of one node are neighbours, in the order of their bytes
};

}  // namespace heed::tokenizers
