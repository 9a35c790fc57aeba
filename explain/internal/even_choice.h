#pragma once
#include <cstddef>

namespace heed {

// Returns whether the next of `all` items is taken, where `passed` were looked at and `taken` of them taken, so that `most` of them are
// taken evenly from first to last.
constexpr bool is_due(std::size_t taken, std::size_t passed, std::size_t most, std::size_t all) {
  return taken * all <= passed * most;
}

}  // namespace heed
