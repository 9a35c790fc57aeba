#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/random.h>
#include <heed/explain/studies/assignment.h>

#include <algorithm>
#include <numeric>

using namespace heed;

TEST_CASE("best_assignment has the largest sum of all permutations") {
  Random random(3);
  for (int n = 0; n <= 6; ++n) {
    for (int time = 0; time < 20; ++time) {
      std::vector<std::vector<double>> value(static_cast<std::size_t>(n),
                                             std::vector<double>(static_cast<std::size_t>(n)));
      // Few different values, so that many are equal; some negative.
      for (auto& row : value) {
        for (double& x : row) x = static_cast<double>(random.below(time % 2 ? 4 : 1000)) - 2;
      }
      const auto sum = [&](const std::vector<int>& p) {
        double all = 0;
        for (std::size_t i = 0; i < p.size(); ++i) all += value[i][static_cast<std::size_t>(p[i])];
        return all;
      };
      std::vector<int> p(static_cast<std::size_t>(n));
      std::iota(p.begin(), p.end(), 0);
      double best = sum(p);
      while (std::next_permutation(p.begin(), p.end())) best = std::max(best, sum(p));
      std::vector<int> found = best_assignment(value);
      CHECK(sum(found) == Approx(best));
      std::ranges::sort(found);
      std::ranges::sort(p);
      CHECK(found == p);  // each column once
    }
  }
  CHECK(message([] {
          best_assignment({{1, 2}});
        }) == "best_assignment: expected rows of 1, as many values as rows, got a row of 2");
}
