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

inline void check_twins(const Set& set) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (set[i].twin < 0) continue;
    const Example& twin = set.at(static_cast<std::size_t>(set[i].twin));
    REQUIRE(twin.twin == static_cast<int>(i));
    REQUIRE(twin.answer != set[i].answer);
    REQUIRE(twin.query == set[i].query);
    int differences = 0;
    for (std::size_t t = 0; t < twin.tokens.size(); ++t) differences += twin.tokens[t] != set[i].tokens[t];
    REQUIRE(differences == 1);
  }
}

}  // namespace heed::test
