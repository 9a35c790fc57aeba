#pragma once
#include "tests/catch.h"
#include "tests/data/helpers.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

// Shared by the tests of tasks that generate their sentences.
namespace heed::test {

using Pairs = std::set<std::pair<std::string, std::string>>;
using Set = std::vector<Example>;

inline std::set<std::string> texts(const Set& set) {
  std::set<std::string> all;
  for (const Example& e : set) all.insert(fmt::format("{} @{}", text(e), e.query));
  return all;
}

inline bool share(const Pairs& a, const Pairs& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& pair) { return b.count(pair) > 0; });
}

inline std::string token(const Example& e, int index) { return e.tokens.at(static_cast<std::size_t>(index)); }

inline void check_counterparts(const Set& set) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (set[i].counterpart < 0) continue;
    const Example& counterpart = set.at(static_cast<std::size_t>(set[i].counterpart));
    REQUIRE(counterpart.counterpart == static_cast<int>(i));
    REQUIRE(counterpart.answer != set[i].answer);
    REQUIRE(counterpart.query == set[i].query);
    int differences = 0;
    for (std::size_t t = 0; t < counterpart.tokens.size(); ++t)
      differences += counterpart.tokens[t] != set[i].tokens[t];
    REQUIRE(differences == 1);
  }
}

}  // namespace heed::test
