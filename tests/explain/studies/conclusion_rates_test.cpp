#include "tests/catch.h"
#include "views/view.h"

#include <heed/autograd/random.h>
#include <heed/explain/studies/cause_history.h>
#include <heed/explain/studies/causes_by.h>
#include <heed/explain/studies/evaluation.h>
#include <heed/explain/studies/induction_scores.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

using namespace heed;

namespace {

// One uniform number per sentence. Those of a pair are equal with probability `pair`, or add up to 1 with probability -`pair`.
class Pairs {
 public:
  Pairs(double pair, Random& random) : pair_(pair), random_(random) {}

  double draw(int sentence) {
    const bool depends = sentence % 2 == 1 && random_.uniform() < std::abs(pair_);
    last_ = !depends ? random_.uniform() : pair_ > 0 ? last_ : 1 - last_;
    return last_;
  }

 private:
  double pair_;
  Random& random_;
  double last_ = 0;
};

// The probabilities that a sentence loses its right answer, or gains one.
struct Change {
  double loss, gain;
  double of(double u) const { return u < loss ? 1 : u >= 1 - gain ? -1 : 0; }
};

// Kinds that lose the same share. The sentences of each pair are of different kinds, or of kinds drawn at random.
struct Kinds {
  Change first, others;
  double pair;
  bool is_split;

  std::vector<Sample> draw(int sentences, int count, Random& random) const {
    std::vector<Sample> kinds(static_cast<std::size_t>(count));
    Pairs pairs(pair, random);
    std::int64_t kind = 0;
    for (int i = 0; i < sentences; ++i) {
      kind = is_split && i % 2 == 1 ? (kind + 1 + random.below(count - 1)) % count : random.below(count);
      Sample& drawn = kinds[static_cast<std::size_t>(kind)];
      drawn.values.push_back((kind == 0 ? first : others).of(pairs.draw(i)));
      drawn.groups.push_back(i / 2);
    }
    return kinds;
  }
};

bool are_shown_to_differ(const std::vector<Sample>& kinds, std::size_t rows = 1) {
  const std::vector<CausesBy::Difference> found = differences_between(kinds, rows);
  return std::ranges::any_of(found, [](const CausesBy::Difference& one) { return one.lost.is_above(0); });
}

// Numbers the groups of each kind apart, so that no pair is in two kinds.
std::vector<Sample> as_independent(std::vector<Sample> kinds) {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    for (int& group : kinds[i].groups) group = group * static_cast<int>(kinds.size()) + static_cast<int>(i);
  }
  return kinds;
}

// The shares of data sets with a false conclusion, by the rule and by a weaker one that it replaces; the worst over truths.
struct FalseRates {
  double rule = 0, weaker = 0;

  void include(double of_rule, double of_weaker, int sets) {
    rule = std::max(rule, of_rule / sets);
    weaker = std::max(weaker, of_weaker / sets);
  }
  void include(const FalseRates& other) { include(other.rule, other.weaker, 1); }
};

void print_cells(const FalseRates& rates) {
  fmt::print(" {:.1f} % | {:.1f} % |", 100 * rates.rule, 100 * rates.weaker);
  std::fflush(stdout);
}

constexpr Change losses{0.5, 0}, few_losses{0.1, 0}, many{0.5, 0.5}, few{0.05, 0.05};

FalseRates rates_of_kinds(int sentences, int count, double pair, int sets, Random random) {
  FalseRates worst;
  for (const bool is_split : {true, false}) {
    for (const auto& [first, others] :
         {std::pair(losses, losses), {few_losses, few_losses}, {many, many}, {many, few}}) {
      const Kinds truth{first, others, pair, is_split};
      int in_pairs = 0, independent = 0;
      for (int set = 0; set < sets; ++set) {
        const std::vector<Sample> kinds = truth.draw(sentences, count, random);
        in_pairs += are_shown_to_differ(kinds);
        independent += are_shown_to_differ(as_independent(kinds));
      }
      worst.include(in_pairs, independent, sets);
    }
  }
  return worst;
}

// Kinds are compared by the row, of `rows`, that loses most. The first of two kinds loses and gains many
// answers, the other few.
FalseRates rates_of_rows(int sentences, int rows, int sets, Random random) {
  const Kinds truth{many, few, 0, true};
  int by_rule = 0, alone = 0;
  for (int set = 0; set < sets; ++set) {
    std::vector<Sample> most;
    double largest = -sentences;
    for (int row = 0; row < rows; ++row) {
      std::vector<Sample> kinds = truth.draw(sentences, 2, random);
      const double lost = std::accumulate(kinds[0].values.begin(), kinds[0].values.end(), 0.0);
      if (lost > largest) largest = lost, most = std::move(kinds);
    }
    by_rule += are_shown_to_differ(most, static_cast<std::size_t>(rows));
    alone += are_shown_to_differ(most);
  }
  FalseRates rates;
  rates.include(by_rule, alone, sets);
  return rates;
}

// Weight and effect are half of their largest at steps 1 to 4, and reach it at step 5, so neither grows before the other. The
// weaker rule compares the steps at which the means reach half.
FalseRates rates_of_history(int sentences, double pair, int sets, Random random) {
  constexpr std::array growth{0.0, 0.5, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0};
  constexpr ScoreScale weight_scale{0, 1, 0}, effect_scale{-1, 1, 0};
  constexpr double error = 0.05 / growth.size();
  FalseRates worst;
  for (const auto& [largest_weight, largest_effect] : {std::pair(0.8, 0.6), {0.9, 0.9}, {0.6, 0.2}}) {
    int by_rule = 0, by_means = 0;
    for (int set = 0; set < sets; ++set) {
      CauseHistory history;
      for (const double share : growth) {
        Pairs of_weights(pair, random), of_effects(pair, random);
        std::vector<double> weights, effects;
        std::vector<int> groups;
        for (int i = 0; i < sentences; ++i) {
          weights.push_back(of_weights.draw(i) < share * largest_weight);
          effects.push_back(of_effects.draw(i) < share * largest_effect);
          groups.push_back(i / 2);
        }
        const CauseHistory::Edge edge{interval_of(weights, groups, weight_scale, error),
                                      interval_of(effects, groups, effect_scale, error),
                                      {},
                                      {}};
        history.steps.push_back({std::ssize(history.steps), 1, 0.8, {{edge}}, {edge}});
      }
      bool is_ordered = false, differs = false;
      for (const std::string& line : history_verdict(history, 0, 0)) {
        is_ordered = is_ordered || line.find("grew before") != std::string::npos;
        differs = differs || line.find("does not show which of the two grew first") != std::string::npos;
      }
      by_rule += is_ordered;
      by_means += is_ordered || differs;
    }
    worst.include(by_rule, by_means, sets);
  }
  return worst;
}

// Of `count` rows two lose answers, the others lose as many as they gain. The weaker rule tests each row alone.
FalseRates rates_of_losses(int sentences, int count, double pair, int sets, Random random) {
  FalseRates worst;
  for (const Change& change : {Change{0.05, 0.05}, {0.2, 0.2}, {0.5, 0.5}}) {
    int by_holm = 0, alone = 0;
    for (int set = 0; set < sets; ++set) {
      std::vector<Cause> rows(static_cast<std::size_t>(count));
      std::vector<const Cause*> all;
      for (Cause& row : rows) {
        const bool loses = all.size() < 2;
        std::vector<double> lost;
        std::vector<int> groups;
        Pairs pairs(pair, random);
        for (int i = 0; i < sentences; ++i) {
          lost.push_back((loses ? Change{0.9, 0} : change).of(pairs.draw(i)));
          groups.push_back(i / 2);
        }
        row.lost.share = std::accumulate(lost.begin(), lost.end(), 0.0) / sentences;
        row.p = p_of(lost, groups);
        all.push_back(&row);
      }
      const auto has_none = [&](const Cause* row) { return row - rows.data() >= 2; };
      by_holm += std::ranges::any_of(Causes::with_loss(all), has_none);
      alone += std::ranges::any_of(
          all, [&](const Cause* row) { return has_none(row) && row->p < 0.05 && row->lost.share > 0; });
    }
    worst.include(by_holm, alone, sets);
  }
  return worst;
}

}  // namespace

TEST_CASE("correlation_of counts the sentences of a minimal pair in two kinds as one observation") {
  Sample one, other;
  for (int i = 0; i < 100; ++i) {
    one.values.push_back(i < 60), other.values.push_back(i >= 60);
    one.groups.push_back(i), other.groups.push_back(i);
  }
  CHECK(correlation_of(one, other) == Approx(-1));  // each pair has one loss
  CHECK(correlation_of(one, one) == 0);             // narrows no interval
  const Interval x = interval_of(one.values, one.groups, difference_scale);
  const Interval y = interval_of(other.values, other.groups, difference_scale);
  const Interval apart = difference_of(x, y, -1), alone = difference_of(x, y, 0);
  CHECK(apart.share == Approx(0.2));
  CHECK(apart.low == Approx(0.2 - (x.share - x.low) - (y.high - y.share)));
  CHECK(alone.low == Approx(0.2 - std::hypot(x.share - x.low, y.high - y.share)));
  CHECK(alone.high == Approx(0.2 + std::hypot(x.high - x.share, y.share - y.low)));
  CHECK((!apart.is_above(0) && alone.is_above(0)));
  Sample equal{std::vector<double>(100, 0.0), one.groups};
  CHECK(correlation_of(one, equal) == -1);
  for (int& group : equal.groups) group += 100;
  for (int& group : other.groups) group += 100;
  CHECK(correlation_of(one, equal) == 0);
  CHECK(correlation_of(one, other) == 0);
}

TEST_CASE("differences_between puts the largest first, with intervals for all comparisons together") {
  std::vector<Sample> kinds(4);
  for (int i = 0; i < 300; ++i) {
    const auto kind = static_cast<std::size_t>(i % 3);
    kinds[kind].values.push_back(i / 3 < std::array{20, 80, 40}[kind]);
    kinds[kind].groups.push_back(i);
  }
  const std::vector<CausesBy::Difference> found = differences_between(kinds);  // the last kind has no sentences
  REQUIRE(found.size() == 3);
  CHECK((found[0].more == 1 && found[0].less == 0 && found[0].lost.share == Approx(0.6)));
  CHECK((found[1].more == 1 && found[1].less == 2 && found[2].more == 2 && found[2].less == 0));
  const auto low = [&](double error) {
    const auto interval = [&](const Sample& kind) {
      return interval_of(kind.values, kind.groups, difference_scale, error);
    };
    return difference_of(interval(kinds[1]), interval(kinds[0]), 0).low;
  };
  CHECK(found[0].lost.low == Approx(low(0.05 / 3)));
  CHECK(differences_between(kinds, 10)[0].lost.low == Approx(low(0.05 / 30)));
}

namespace {

// Distributions of the score of a head in one sequence, each with the mean RepeatedScores::least.
using DrawScore = std::function<double(Random&)>;

DrawScore share_of_tokens(int tokens) {  // each token attends to the one behind its copy, or to another
  return [=](Random& random) {
    int count = 0;
    for (int t = 0; t < tokens; ++t) count += random.uniform() < RepeatedScores::least;
    return 1.0 * count / tokens;
  };
}

DrawScore equal_or_zero(double score) {  // the same score in nearly all sequences, and 0 in a few
  return [=](Random& random) { return random.uniform() < RepeatedScores::least / score ? score : 0; };
}

DrawScore near_least() {
  return [](Random& random) { return RepeatedScores::least + 0.2 * (random.uniform() - 0.5); };
}

const std::vector<DrawScore> heads_at_the_least{share_of_tokens(4), share_of_tokens(25), equal_or_zero(1),
                                                equal_or_zero(0.6), equal_or_zero(0.42), near_least()};

// How often at least one of `heads` heads with that distribution is named an induction head, and how often with Student's t for
// each head by itself.
FalseRates rates_of_induction(const DrawScore& score, int heads, int data_sets, Random random) {
  constexpr int sequences = 50;
  std::vector<int> numbers(sequences);
  std::iota(numbers.begin(), numbers.end(), 0);
  int named = 0, by_itself = 0;
  for (int i = 0; i < data_sets; ++i) {
    bool is_named = false, is_by_itself = false;
    for (int head = 0; head < heads; ++head) {
      std::vector<double> scores;
      for (int k = 0; k < sequences; ++k) scores.push_back(score(random));
      is_named = is_named || induction_interval(scores, heads).low > RepeatedScores::least;
      is_by_itself = is_by_itself || mean_of(scores, numbers).low > RepeatedScores::least;
    }
    named += is_named;
    by_itself += is_by_itself;
  }
  return {1.0 * named / data_sets, 1.0 * by_itself / data_sets};
}

}  // namespace

TEST_CASE("Heads at the least score are named induction heads in at most 5 of 100 data sets") {
  FalseRates worst;
  for (const DrawScore& score : heads_at_the_least) {
    worst.include(rates_of_induction(score, 4, 300, Random(1).stream("heads")));
  }
  CHECK(worst.rule <= 0.05);
  CHECK(worst.weaker > 0.2);
}

TEST_CASE("Kinds that lose the same are said to differ in at most 5 of 100 data sets") {
  constexpr double slack = 0.02;  // for the largest of eight rates of 1,000 data sets
  for (const int count : {2, 4}) {
    const FalseRates found = rates_of_kinds(100, count, -1, 1000, Random(1).stream("kinds"));
    INFO(count);
    CHECK(found.rule <= 0.05 + slack);
    if (count == 2) CHECK(found.weaker > 0.05 + 2 * slack);  // kinds as if they were independent
  }
  const FalseRates rows = rates_of_rows(100, 8, 1000, Random(1).stream("rows"));
  CHECK(rows.rule <= 0.05 + slack);
  CHECK(rows.weaker > 0.05 + 2 * slack);
}

TEST_CASE("history_verdict names an order that does not exist in at most 5 of 100 data sets") {
  for (const int sentences : {20, 100}) {
    const FalseRates found = rates_of_history(sentences, 0, 500, Random(1).stream("history"));
    INFO(sentences);
    CHECK(found.rule <= 0.05);
    CHECK(found.weaker > 0.2);
  }
}

TEST_CASE("Holm's method names a row without a loss in at most 5 of 100 data sets") {
  for (const double pair : {0.0, 1.0}) {
    const FalseRates found = rates_of_losses(100, 20, pair, 300, Random(1).stream("losses"));
    INFO(pair);
    CHECK(found.rule <= 0.05);
    CHECK(found.weaker > 0.2);
  }
}

// Tables of docs/explanation/causal-methods.md: build/inspect_test "[conclusion-tables]", or one line of the first table with
// -c "1000 sentences"
TEST_CASE("Table of the rates of false differences between kinds", "[.][conclusion-tables]") {
  for (const int sentences : {20, 50, 100, 200, 1000}) {
    DYNAMIC_SECTION(sentences << " sentences") {
      for (const double pair : {-1.0, 0.0, 1.0}) {
        fmt::print("| {} | {:+} |", sentences, pair);
        for (const int kinds : {2, 4}) {
          print_cells(rates_of_kinds(sentences, kinds, pair, 4000, Random(1).stream("kinds")));
        }
        fmt::print("\n");
      }
    }
  }
}

TEST_CASE("Table of the rates of false conclusions about the largest row, histories and lists of losses",
          "[.][conclusion-tables]") {
  for (const int sentences : {20, 50, 100, 200, 1000}) {
    fmt::print("| {} |", sentences);
    print_cells(rates_of_rows(sentences, 8, 1000, Random(1).stream("rows")));
    FalseRates history, listed;
    for (const double pair : {-1.0, 0.0, 1.0}) {
      history.include(rates_of_history(sentences, pair, 1000, Random(1).stream("history")));
      listed.include(rates_of_losses(sentences, 20, pair, 1000, Random(1).stream("losses")));
    }
    print_cells(history);
    print_cells(listed);
    fmt::print("\n");
  }
}

TEST_CASE("Table of the rates of false induction heads", "[.][conclusion-tables]") {
  for (const int heads : {1, 4, 144}) {
    FalseRates worst;
    for (const DrawScore& score : heads_at_the_least) {
      worst.include(rates_of_induction(score, heads, 1000, Random(1).stream("heads")));
    }
    fmt::print("| {} |", heads);
    print_cells(worst);
    fmt::print("\n");
  }
}
