#include "tests/catch.h"

#include <heed/autograd/random.h>
#include <heed/explain/studies/verdict.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace heed;

namespace {

using Kind = Verdict::Kind;

struct Answered {
  std::vector<double> before, after, after_other;  // of two interventions that lose the same share
  std::vector<int> groups;
};

// Sentences that are right with probability `before` and `after`, in pairs or alone. The answers of a pair have
// correlation 1 or -1 with probability |pair|, else 0; those before and after have it in the same way with |overlap|.
struct Truth {
  double before, after, overlap, pair;
  bool in_pairs;

  // The probability of being right both before and after.
  double both() const {
    return overlap > 0 ? overlap * std::min(before, after) + (1 - overlap) * before * after
                       : -overlap * std::max(0.0, before + after - 1) + (1 + overlap) * before * after;
  }

  // Calls use(group, is right before, is right after) for each sentence.
  template <class Use>
  void draw(int count, Random& random, Use use) const {
    const double right_in_both = both();
    double last = 0;
    for (int i = 0; i < count; ++i) {
      const bool is_second = in_pairs && i % 2 == 1;
      const double u = !is_second || random.uniform() >= std::abs(pair) ? random.uniform() : pair > 0 ? last : 1 - last;
      last = u;
      use(in_pairs ? i / 2 : i, u < before, u < right_in_both || (u >= before && u < before + after - right_in_both));
    }
  }

  Answered answers(int count, Random& random, Random& other) const {
    Answered drawn;
    draw(count, random, [&](int group, bool right_before, bool right_after) {
      const double kept = right_before ? both() / before : (after - both()) / (1 - before);
      drawn.before.push_back(right_before);
      drawn.after.push_back(right_after);
      drawn.after_other.push_back(other.uniform() < kept);
      drawn.groups.push_back(group);
    });
    return drawn;
  }
};

constexpr double chance_level = 0.5;

// Calls use(truth, share lost) for each truth of a table.
template <class Use>
void for_truths(const std::vector<double>& accuracies, bool in_pairs, double pair, Use use) {
  for (const double before : accuracies) {
    for (const double lost : {0.0, none_lost, 0.5, all_lost, 1.0, 1.4}) {
      for (const double overlap : {-1.0, 0.0, 1.0}) {
        const Truth truth{before, before - lost * (before - chance_level), overlap, pair, in_pairs};
        if (truth.after >= 0) use(truth, lost);
      }
    }
  }
}

// The smallest share of data sets, over truths, whose interval holds the truth.
struct Coverage {
  double lost = 1, share = 1, change = 1;  // of the share lost, of accuracy, of before minus after

  void include(double sets, double holds_lost, double holds_share, double holds_change) {
    lost = std::min(lost, holds_lost / sets);
    share = std::min(share, holds_share / sets);
    change = std::min(change, holds_change / sets);
  }
};

// The largest share of data sets, over truths, in which a verdict is false (the truth lies on a margin), or two verdicts differ
// on interventions that lose the same share; and the coverage.
struct Rates {
  double all = 0, part = 0, none = 0, disagreement = 0;
  Coverage coverage;
};

Rates rates_of(int count, bool in_pairs, double pair, const std::vector<double>& accuracies, int sets, Random random) {
  Rates worst;
  Random other = random.stream("other");
  for_truths(accuracies, in_pairs, pair, [&](const Truth& truth, double lost) {
    double all = 0, part = 0, none = 0, differ = 0, holds = 0, holds_share = 0, holds_change = 0;
    for (int set = 0; set < sets; ++set) {
      const Answered drawn = truth.answers(count, random, other);
      const Verdict found = verdict_of(drawn.before, drawn.after, drawn.groups, {chance_level});
      all += found.kind == Kind::all && lost <= all_lost;
      none += found.kind == Kind::none && lost >= none_lost;
      part += found.kind == Kind::part && (lost <= none_lost || lost >= all_lost);
      if (found.is_strong()) {
        const Verdict second = verdict_of(drawn.before, drawn.after_other, drawn.groups, {chance_level});
        differ += second.is_strong() && second.kind != found.kind;
      }
      const auto within = [](const Interval& interval, double truth_is) {
        return interval.low <= truth_is + 1e-9 && truth_is - 1e-9 <= interval.high;
      };
      holds += found.kind == Kind::no_answers || within(found.lost, lost);
      holds_share += within(interval_of(drawn.after, drawn.groups, share_scale), truth.after);
      std::vector<double> change;
      for (std::size_t i = 0; i < drawn.before.size(); ++i) change.push_back(drawn.before[i] - drawn.after[i]);
      holds_change += within(interval_of(change, drawn.groups, difference_scale), truth.before - truth.after);
    }
    worst.all = std::max(worst.all, all / sets);
    worst.part = std::max(worst.part, part / sets);
    worst.none = std::max(worst.none, none / sets);
    worst.disagreement = std::max(worst.disagreement, differ / sets);
    worst.coverage.include(sets, holds, holds_share, holds_change);
  });
  return worst;
}

// Returns the coverage by the test that defines the intervals. It is fast enough for many data sets.
Coverage coverage_of(int count, bool in_pairs, double pair, const std::vector<double>& accuracies, int sets,
                     Random random) {
  Coverage worst;
  const double z = z_of(0.05), size = in_pairs ? 2 : 1;
  for_truths(accuracies, in_pairs, pair, [&](const Truth& truth, double lost) {
    const auto value_lost = [&](double n, double before, double after) {
      return (before - after) - lost * (before - n * chance_level);
    };
    const auto [low, high] =
        std::minmax({value_lost(1, 0, 0), value_lost(1, 0, 1), value_lost(1, 1, 0), value_lost(1, 1, 1)});
    const ScoreScale scale_lost{low, high, 1};
    double holds = 0, holds_share = 0, holds_change = 0;
    for (int set = 0; set < sets; ++set) {
      double counts[3][3]{};  // groups, by how many of their sentences are right before and after
      int before = 0, after = 0, sentences = 0;
      truth.draw(count, random, [&](int, bool right_before, bool right_after) {
        before += right_before, after += right_after;
        if (++sentences < size) return;
        ++counts[before][after];
        before = after = sentences = 0;
      });
      const auto is_held = [&](ScoreScale scale, double mean, auto value) {
        std::vector<Group> groups;
        for (int b = 0; b <= size; ++b) {
          for (int a = 0; a <= size; ++a) {
            if (counts[b][a] > 0) groups.push_back({static_cast<double>(value(b, a)), size, counts[b][a]});
          }
        }
        return std::abs(score_of(groups, scale, mean)) <= z;
      };
      holds += is_held(scale_lost, 0, [&](int b, int a) { return value_lost(size, b, a); });
      holds_share += is_held(share_scale, truth.after, [](int, int a) { return a; });
      holds_change += is_held(difference_scale, truth.before - truth.after, [](int b, int a) { return b - a; });
    }
    worst.include(sets, holds, holds_share, holds_change);
  });
  return worst;
}

// The sentences of which the first `before` are right before, and `after` of them after.
Verdict verdict(int before, int after, int count, double chance = 0.5) {
  Answered answered;
  for (int i = 0; i < count; ++i) {
    answered.before.push_back(i < before);
    answered.after.push_back(i < after);
  }
  return verdict_of(answered.before, answered.after, {}, {chance});
}

}  // namespace

TEST_CASE("verdict_of is strong only if the interval of the share lost lies beyond a margin") {
  // toy.yaml, seed 1: 61 % are right after the cut, so 78 % of the advantage is lost.
  CHECK(verdict(1000, 611, 1000).kind == Kind::at_least_part);
  CHECK(verdict(200, 122, 200).kind == Kind::at_least_part);
  CHECK(verdict(80, 49, 80).kind == Kind::at_least_part);
  CHECK(verdict(20, 12, 20).kind == Kind::at_least_part);
  CHECK(verdict(8, 5, 8).kind == Kind::unknown);
  const Verdict most = verdict(1000, 513, 1000);  // 51.3 % are right
  CHECK(most.kind == Kind::all);
  CHECK(most.lost.share == Approx(0.974));
  CHECK(most.lost.low == Approx(0.91).margin(0.01));
  CHECK(most.needed == 0);
  CHECK(verdict(1000, 523, 1000).kind == Kind::all);
  CHECK(verdict(1000, 750, 1000).kind == Kind::part);
  CHECK(verdict(1000, 1000, 1000).kind == Kind::none);
  CHECK(verdict(6, 6, 6).kind == Kind::unknown);
  CHECK(verdict(100, 92, 100).kind == Kind::at_most_part);
  CHECK(verdict(500, 300, 1000).kind == Kind::no_answers);
  CHECK(std::isnan(verdict(500, 300, 1000).lost.share));
  CHECK(verdict(0, 0, 0).kind == Kind::no_answers);
  CHECK(verdict(1000, 0, 1000).lost.share == 2);
  // Without a known chance level it is a share of the accuracy.
  CHECK(verdict(1000, 513, 1000, std::nan("")).lost.share == Approx(0.487));
  CHECK(verdict(1000, 513, 1000, std::nan("")).kind == Kind::part);
}

TEST_CASE(
    "Fewer sentences of the same shares never give a stronger verdict, and Verdict::needed tells how many are enough") {
  for (const double after : {0.5, 0.55, 0.58, 0.61, 0.7, 0.8, 0.88, 0.91, 0.95, 1.0}) {
    bool was_strong = false;
    for (const int count : {20, 40, 100, 200, 500, 1000, 4000}) {
      const Verdict found = verdict(count, static_cast<int>(std::lround(after * count)), count);
      INFO(after << " " << count);
      CHECK((!was_strong || found.is_strong()));
      was_strong = found.is_strong();
    }
  }
  const Verdict few = verdict(40, 22, 40);
  REQUIRE(few.kind == Kind::at_least_part);
  const int needed = static_cast<int>(few.needed / 40) * 40;
  CHECK(few.needed > 40);
  CHECK(verdict(2 * needed, 2 * needed * 22 / 40, 2 * needed).kind == Kind::all);
  CHECK_FALSE(verdict(needed / 2, needed / 2 * 22 / 40, needed / 2).kind == Kind::all);
  const Verdict unsure = verdict(6, 6, 8);  // 75 % of 8 are not shown to be above chance
  REQUIRE(unsure.kind == Kind::no_answers);
  CHECK(unsure.needed > 8);
  const int more = static_cast<int>(unsure.needed / 4) * 4;
  CHECK(verdict(2 * more * 3 / 4, 2 * more * 3 / 4, 2 * more).kind != Kind::no_answers);
  CHECK(verdict(4, 4, 8).needed == 0);  // as many as by chance: no number of sentences shows more
}

TEST_CASE("carried_by needs a strong verdict on the head or on its layer") {
  const Verdict all = verdict(1000, 510, 1000), part = verdict(1000, 750, 1000), none = verdict(1000, 1000, 1000);
  const Verdict few = verdict(6, 6, 6), least = verdict(1000, 611, 1000);
  CHECK(carried_by(all, all) == Carried::alone);
  CHECK(carried_by(part, all) == Carried::shared);
  CHECK(carried_by(least, all) == Carried::layer);
  CHECK(carried_by(least, least) == Carried::unknown);
  CHECK(carried_by(none, part) == Carried::in_part);
  CHECK(carried_by(none, none) == Carried::another_way);
  CHECK(carried_by(few, few) == Carried::unknown);
  CHECK(carried_by(verdict(500, 500, 1000), all) == Carried::no_answers);
  CHECK(to_string(Carried::another_way) == "another way");
  CHECK(to_string(few.kind) == "unknown");
}

TEST_CASE("A strong verdict is false in at most 5 of 100 data sets, and 95 of 100 intervals hold the truth") {
  constexpr int sets = 200;
  constexpr double slack = 0.04;  // for the smallest of many rates in so few data sets
  for (const int count : {20, 100}) {
    for (const double pair : {-1.0, 0.0, 1.0}) {
      const Rates found = rates_of(count, pair != 0, pair, {0.7, 1}, sets, Random(1).stream("verdicts"));
      INFO(count << " " << pair);
      CHECK(std::max({found.all, found.part, found.none, found.disagreement}) <= 0.05);
      CHECK(std::min({found.coverage.lost, found.coverage.share, found.coverage.change}) >= 0.95 - slack);
    }
  }
}

// The table of docs/explanation/causal-methods.md: build/inspect_test "[verdict-table]"
TEST_CASE("Table of the rates of false verdicts and of the coverage of intervals", "[.][verdict-table]") {
  fmt::print(
      "| sentences | pairs | false: all | part | none | disagreement | coverage: share lost | accuracy | before minus "
      "after |\n|---|---|---|---|---|---|---|---|---|\n");
  const std::vector<double> accuracies{0.6, 0.8, 1};
  const Random random = Random(1).stream("verdicts");
  for (const int count : {20, 50, 100, 200, 1000}) {
    for (const auto& [in_pairs, pair] :
         {std::pair(false, 0.0), {true, -1.0}, {true, -0.5}, {true, 0.0}, {true, 0.5}, {true, 1.0}}) {
      const Rates r = rates_of(count, in_pairs, pair, accuracies, 1000, random);
      const Coverage c = coverage_of(count, in_pairs, pair, accuracies, 10000, random);
      fmt::print("| {} | {} | {:.1f} % | {:.1f} % | {:.1f} % | {:.1f} % | {:.1f} % | {:.1f} % | {:.1f} % |\n", count,
                 in_pairs ? fmt::format("{:+}", pair) : "none", 100 * r.all, 100 * r.part, 100 * r.none,
                 100 * r.disagreement, 100 * c.lost, 100 * c.share, 100 * c.change);
      std::fflush(stdout);
    }
  }
}
