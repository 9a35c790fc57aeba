#pragma once
#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

namespace heed {

/// Sets of the numbers below a count, which are joined one by one.
///
///     JoinedSets sets(4);
///     sets.join(3, 1);
///     sets.first(3);   // 1
class JoinedSets {
 public:
  /// Begins with a set for each number.
  explicit JoinedSets(std::size_t count) : before_(count) { std::iota(before_.begin(), before_.end(), 0); }

  /// Returns the least number of the set of i.
  int first(int i) {
    for (; at(i) != i; i = at(i)) at(i) = at(at(i));  // halves the path of later calls
    return i;
  }
  void join(int a, int b) {
    a = first(a), b = first(b);
    at(std::max(a, b)) = std::min(a, b);
  }
  /// Joins the numbers i with equal key(i).
  template <class KeyOf>
  void join_equal(KeyOf key) {
    std::map<decltype(key(0)), int> first_with;
    for (int i = 0; i < std::ssize(before_); ++i) join(i, first_with.try_emplace(key(i), i).first->second);
  }

 private:
  int& at(int i) { return before_[static_cast<std::size_t>(i)]; }

  std::vector<int> before_;  // a smaller number of the same set, or itself
};

}  // namespace heed
