#include "tokenizers/pipeline/trie.h"

#include <algorithm>

namespace heed::tokenizers {

Trie::Trie(std::vector<std::pair<std::string_view, int>> entries) {
  std::ranges::stable_sort(entries, {}, &std::pair<std::string_view, int>::first);
  struct Open {
    std::uint32_t node;
    std::size_t begin, end, depth;  // entries with this prefix
  };
  std::vector<Open> open{{root, 0, entries.size(), 0}};
  for (std::size_t i = 0; i < open.size(); ++i) {
    auto [node, begin, end, depth] = open[i];
    for (; begin < end && entries[begin].first.size() == depth; ++begin) nodes_[node].value = entries[begin].second;
    nodes_[node].first_child = static_cast<std::uint32_t>(nodes_.size());
    while (begin < end) {
      const char byte = entries[begin].first[depth];
      std::size_t same = begin;
      while (same < end && entries[same].first[depth] == byte) ++same;
      open.push_back({static_cast<std::uint32_t>(nodes_.size()), begin, same, depth + 1});
      nodes_.push_back({.byte = static_cast<unsigned char>(byte)});
      ++nodes_[node].children;
      begin = same;
    }
  }
}

std::uint32_t Trie::next(std::uint32_t node, unsigned char byte) const {
  const auto first = nodes_.begin() + nodes_[node].first_child;
  const auto last = first + nodes_[node].children;
  const auto found = std::ranges::lower_bound(first, last, byte, {}, &Node::byte);
  return found != last && found->byte == byte ? static_cast<std::uint32_t>(found - nodes_.begin()) : none;
}

}  // namespace heed::tokenizers
