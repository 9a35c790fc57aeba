#include "tests/catch.h"

#include <heed/autograd/random.h>
#include <heed/explain/studies/verdict.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace heed;

namespace {

using Kind = Verdict::Kind;

// Sentences of which `most` have the answer that is always given.
struct Mostly {
  std::vector<double> before, after;
  std::vector<int> answers, groups;
};

// One of two answers is right with probability `most`. A model is right before with a probability that lies `advantage` of the way
// from chance to 1, and the intervention takes the share `lost` of that advantage. Nested: what it answers before includes all
// sentences in which the most frequent answer is right. Falls back: after the intervention it gives the most frequent answer in
// place of its own, else its answers are independent of those before. Repeated: each sentence occurs twice, in one group.
struct TruthOfMost {
  double most, advantage, lost;
  bool is_nested, falls_back, is_repeated;

  double before() const { return most + advantage * (1 - most); }
  double after() const { return before() - lost * (before() - most); }

  Mostly draw(int count, Random& random) const {
    Mostly drawn;
    for (int i = 0; i < count; ++i) {
      if (is_repeated && i % 2 == 1) {
        for (std::vector<double>* values : {&drawn.before, &drawn.after}) values->push_back(values->back());
        drawn.answers.push_back(drawn.answers.back());
      } else {
        const bool by_most = random.uniform() < most;
        const bool right = is_nested ? by_most || random.uniform() < advantage : random.uniform() < before();
        drawn.answers.push_back(!by_most);
        drawn.before.push_back(right);
        drawn.after.push_back(!falls_back ? random.uniform() < after() : random.uniform() < lost ? by_most : right);
      }
      drawn.groups.push_back(is_repeated ? i / 2 : i);
    }
    return drawn;
  }
};

// The largest share of data sets, over truths, with a false strong verdict, by the rule and by a chance of 1/2; and the coverage.
struct RatesBesideMost {
  double all = 0, part = 0, none = 0, by_half = 0, coverage = 1;
};

RatesBesideMost rates_beside_most(int count, double most, bool is_repeated, int sets, Random random) {
  RatesBesideMost worst;
  for (const double advantage : {0.5, 1.0}) {
    for (const double lost : {0.0, none_lost, all_lost, 1.0}) {
      for (const auto& [is_nested, falls_back] :
           {std::pair(false, false), {false, true}, {true, false}, {true, true}}) {
        const TruthOfMost truth{most, advantage, lost, is_nested, falls_back, is_repeated};
        const auto is_false = [&](Kind kind) {
          return (kind == Kind::all && lost <= all_lost) || (kind == Kind::none && lost >= none_lost) ||
                 (kind == Kind::part && (lost <= none_lost || lost >= all_lost));
        };
        double all = 0, part = 0, none = 0, by_half = 0, holds = 0;
        for (int set = 0; set < sets; ++set) {
          const Mostly drawn = truth.draw(count, random);
          const auto verdict = [&](const Chance& chance) {
            return verdict_of(drawn.before, drawn.after, drawn.groups, chance);
          };
          const Verdict found = verdict(chance_of(drawn.answers, 0.5));
          all += found.kind == Kind::all && is_false(found.kind);
          part += found.kind == Kind::part && is_false(found.kind);
          none += found.kind == Kind::none && is_false(found.kind);
          by_half += is_false(verdict({0.5}).kind);
          holds += found.kind == Kind::no_answers || (found.lost.low <= lost + 1e-9 && lost - 1e-9 <= found.lost.high);
        }
        worst.all = std::max(worst.all, all / sets);
        worst.part = std::max(worst.part, part / sets);
        worst.none = std::max(worst.none, none / sets);
        worst.by_half = std::max(worst.by_half, by_half / sets);
        worst.coverage = std::min(worst.coverage, holds / sets);
      }
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("chance_of takes one answer where it is right more often than a fair choice") {
  CHECK((chance_of({7, 2, 7, 7}, 0.5).share == 0.75));
  CHECK(chance_of({7, 2, 7, 7}, 0.5).constant == std::vector<double>{1, 0, 1, 1});
  CHECK((chance_of({7, 2}, 0.5).share == 0.5 && chance_of({7, 2}, 0.5).constant.empty()));
  CHECK(chance_of({1, 1, 2, 3, 4}, 1.0 / 3).share == Approx(0.4));
  CHECK(std::isnan(chance_of({1, 1, 2, 3}, std::nan("")).share));
  CHECK(chance_of({1, 1, 2}, std::nan("")).share == Approx(2.0 / 3));
  CHECK(chance_of({7, 2, 7, 7}, 0.5, 2).share == 0.5);
  CHECK(chance_of({}, 0.5).share == 0.5);
}

TEST_CASE(
    "A model that always gives the most frequent answer has no advantage, and falls to it with all of its advantage") {
  std::vector<int> answers(1000, 0);
  std::fill_n(answers.begin(), 80, 1);
  const Chance chance = chance_of(answers, 0.5);
  REQUIRE(chance.share == 0.92);
  const std::vector<double> all(1000, 1.0);
  const Verdict constant = verdict_of(chance.constant, chance.constant, {}, chance);
  CHECK((constant.kind == Kind::no_answers && constant.is_constant && constant.needed == 0));
  CHECK(verdict_of(chance.constant, chance.constant, {}, {0.5}).kind == Kind::none);  // an advantage of 42 points
  CHECK(verdict_of(all, chance.constant, {}, chance).kind == Kind::all);
  CHECK(verdict_of(all, chance.constant, {}, {0.5}).kind == Kind::none);  // 16 % of the same
  CHECK(verdict_of(all, all, {}, chance).kind == Kind::none);
}

TEST_CASE("A strong verdict beside the most frequent answer is false in at most 5 of 100 data sets") {
  for (const double most : {0.5, 0.7, 0.92}) {
    for (const bool is_repeated : {false, true}) {
      const RatesBesideMost found = rates_beside_most(100, most, is_repeated, 200, Random(1).stream("chance"));
      INFO(most << " " << is_repeated);
      CHECK(std::max({found.all, found.part, found.none}) <= 0.05);
      CHECK(found.coverage >= 0.91);
    }
  }
}

// The table of docs/explanation/causal-methods.md: build/inspect_test "[chance-table]"
TEST_CASE("Table of the rates of false verdicts beside the most frequent answer", "[.][chance-table]") {
  fmt::print(
      "| sentences | most frequent answer | repeated | false: all | part | none | coverage | false with a chance of "
      "1/2 "
      "|\n|---|---|---|---|---|---|---|---|\n");
  for (const int count : {20, 50, 100, 200, 1000}) {
    for (const double most : {0.5, 0.6, 0.75, 0.92}) {
      for (const bool is_repeated : {false, true}) {
        const RatesBesideMost r = rates_beside_most(count, most, is_repeated, 1000, Random(1).stream("chance"));
        fmt::print("| {} | {:.0f} % | {} | {:.1f} % | {:.1f} % | {:.1f} % | {:.1f} % | {:.1f} % |\n", count, 100 * most,
                   is_repeated ? "yes" : "no", 100 * r.all, 100 * r.part, 100 * r.none, 100 * r.coverage,
                   100 * r.by_half);
        std::fflush(stdout);
      }
    }
  }
}
