#include <heed/explain/studies/verdict.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace heed {
namespace {

// Answers before and after. They count by group: how many sentences it has, how many are right before and after, and how many by
// chance.
class Comparison {
 public:
  Comparison(const std::vector<double>& before, const std::vector<double>& after, const std::vector<int>& groups,
             const Chance& chance) {
    std::map<int, std::array<double, 4>> sums;
    for (std::size_t i = 0; i < before.size(); ++i) {
      auto& [size, right_before, right_after, by_chance] = sums[groups.empty() ? static_cast<int>(i) : groups.at(i)];
      size += 1;
      right_before += before[i];
      right_after += after[i];
      by_chance += chance.constant.empty() ? chance.share : chance.constant.at(i);
    }
    for (const auto& [number, sum] : sums) ++counts_[sum];
    if (chance.constant.empty()) {
      levels_ = {chance.share, chance.share};
    } else {
      levels_ = {0, 1};
    }
  }

  // Returns the score of the hypothesis that the share `lost` is lost: positive if more is.
  double score(double lost) const {
    const auto value = [&](double before, double after, double chance) {
      return (before - after) - lost * (before - chance);
    };
    std::vector<Group> groups;
    for (const auto& [sum, count] : counts_) groups.push_back({value(sum[1], sum[2], sum[3]), sum[0], count});
    ScoreScale scale{0, 0, 1};
    for (const double chance : levels_) {
      const auto [low, high] =
          std::minmax({value(0, 0, chance), value(0, 1, chance), value(1, 0, chance), value(1, 1, chance)});
      scale.low = std::min(scale.low, low), scale.high = std::max(scale.high, high);
    }
    return score_of(groups, scale, 0);
  }

  // Returns the share from `inside` on, in the direction of `step`, up to which the score is within z.
  double end(double inside, double step, double z) const {
    constexpr double farthest = 1000;
    double outside = inside + step;
    while (std::abs(score(outside)) <= z) {
      if (std::abs(outside - inside) > farthest) return step * std::numeric_limits<double>::infinity();
      outside += outside - inside;
    }
    for (int i = 0; i < 30; ++i) {
      const double middle = (inside + outside) / 2;
      (std::abs(score(middle)) <= z ? inside : outside) = middle;
    }
    return inside;
  }

 private:
  std::array<double, 2> levels_{};  // the smallest and the largest chance of a sentence
  std::map<std::array<double, 4>, double> counts_;
};

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Returns how much higher the accuracy before is than chance.
Interval advantage_of(const std::vector<double>& before, const std::vector<int>& groups, const Chance& chance,
                      double error) {
  if (chance.constant.empty()) {
    const Interval right = interval_of(before, groups, share_scale, error);
    return {right.share - chance.share, right.low - chance.share, right.high - chance.share};
  }
  return advantage(before, chance.constant, groups, error);
}

Verdict::Kind kind_of(const Interval& lost) {
  using Kind = Verdict::Kind;
  if (lost.low > all_lost) return Kind::all;
  if (lost.high < none_lost) return Kind::none;
  if (lost.low > none_lost) return lost.high < all_lost ? Kind::part : Kind::at_least_part;
  return lost.high < all_lost ? Kind::at_most_part : Kind::unknown;
}

// The width of the interval falls with the root of the number of sentences.
double needed_of(const Interval& lost, double sentences) {
  const double below = lost.share - lost.low, above = lost.high - lost.share;
  const auto times = [](double width, double distance) { return width / distance * (width / distance); };
  if (lost.share > all_lost) return sentences * times(below, lost.share - all_lost);
  if (lost.share < none_lost) return sentences * times(above, none_lost - lost.share);
  return sentences * std::max(times(below, lost.share - none_lost), times(above, all_lost - lost.share));
}

// Rounds up to two digits.
double rounded_up(double count) {
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(count)) - 1));
  return std::ceil(count / unit) * unit;
}

}  // namespace

std::string to_string(Verdict::Kind kind) {
  constexpr std::array names{"all", "part", "none", "at least part", "at most part", "unknown", "no answers"};
  return names.at(static_cast<std::size_t>(kind));
}

std::string to_string(Carried carried) {
  constexpr std::array names{"alone", "shared", "layer", "in part", "another way", "no answers", "unknown"};
  return names.at(static_cast<std::size_t>(carried));
}

Carried carried_by(const Verdict& head, const Verdict& layer) {
  using Kind = Verdict::Kind;
  if (head.kind == Kind::no_answers) return Carried::no_answers;
  if (head.kind == Kind::all) return Carried::alone;
  if (layer.kind == Kind::all) return head.lost.high < all_lost ? Carried::shared : Carried::layer;
  if (layer.kind == Kind::part) return Carried::in_part;
  return layer.kind == Kind::none ? Carried::another_way : Carried::unknown;
}

Chance chance_of(const std::vector<int>& answers, double fair, std::optional<int> constant) {
  if (answers.empty()) return {fair};
  if (!constant) {
    std::map<int, int> times;
    for (const int answer : answers) ++times[answer];
    constant = std::ranges::max_element(times, {}, [](const auto& one) { return one.second; })->first;
  }
  const double share =
      static_cast<double>(std::ranges::count(answers, *constant)) / static_cast<double>(answers.size());
  if (share <= (std::isnan(fair) ? 0.5 : fair)) return {fair};
  Chance found{share};
  for (const int answer : answers) found.constant.push_back(answer == *constant);
  return found;
}

Verdict verdict_of(const std::vector<double>& before, const std::vector<double>& after, const std::vector<int>& groups,
                   const Chance& chance) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  Verdict result{.sentences = static_cast<int>(before.size()),
                 .chance = chance.share,
                 .is_constant = !chance.constant.empty(),
                 .lost = {unknown, unknown, unknown}};
  result.kind = Verdict::Kind::no_answers;
  // The larger of two chance levels is picked, so each has half of the error (Bonferroni).
  const double error = result.is_constant ? 0.025 : 0.05, z = z_of(error);
  const Chance least{std::isnan(chance.share) ? 0 : chance.share, chance.constant};
  if (before.empty()) return result;
  const Interval advantage = advantage_of(before, groups, least, error);
  if (!advantage.is_above(0)) {
    if (advantage.share > 0) {
      const double times = (advantage.share - advantage.low) / advantage.share;
      result.needed = rounded_up(static_cast<double>(before.size()) * times * times);
    }
    return result;
  }
  const double lost = mean_of(before) - mean_of(after), share = lost / advantage.share;
  const Comparison answers(before, after, groups, least);
  result.lost = {share, answers.end(share, -0.5, z), answers.end(share, 0.5, z)};
  result.kind = kind_of(result.lost);
  const double needed = needed_of(result.lost, static_cast<double>(before.size()));
  if (!result.is_strong() && std::isfinite(needed)) result.needed = rounded_up(needed);
  return result;
}

}  // namespace heed
