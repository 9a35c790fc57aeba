#include <heed/explain/studies/verdict.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace heed {
namespace {

// Answers before and after. They count by group: how many sentences it has, and how many are right before and after.
class Comparison {
 public:
  Comparison(const std::vector<double>& before, const std::vector<double>& after, const std::vector<int>& groups,
             double chance)
      : chance_(chance) {
    std::map<int, std::array<double, 3>> sums;
    for (std::size_t i = 0; i < before.size(); ++i) {
      auto& [size, right_before, right_after] = sums[groups.empty() ? static_cast<int>(i) : groups.at(i)];
      size += 1;
      right_before += before[i];
      right_after += after[i];
    }
    for (const auto& [number, sum] : sums) ++counts_[sum];
  }

  // Returns the score of the hypothesis that the share `lost` is lost: positive if more is.
  double score(double lost) const {
    const auto value = [&](double size, double before, double after) {
      return (before - after) - lost * (before - size * chance_);
    };
    std::vector<Group> groups;
    for (const auto& [sum, count] : counts_) groups.push_back({value(sum[0], sum[1], sum[2]), sum[0], count});
    const auto [low, high] = std::minmax({value(1, 0, 0), value(1, 0, 1), value(1, 1, 0), value(1, 1, 1)});
    return score_of(groups, {low, high, 1}, 0);
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
  double chance_;
  std::map<std::array<double, 3>, double> counts_;
};

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

Verdict verdict_of(const std::vector<double>& before, const std::vector<double>& after, const std::vector<int>& groups,
                   double chance) {
  constexpr double no_figure = std::numeric_limits<double>::quiet_NaN();
  Verdict result{
      .sentences = static_cast<int>(before.size()), .chance = chance, .lost = {no_figure, no_figure, no_figure}};
  result.kind = Verdict::Kind::no_answers;
  const double z = z_of(0.05), least = std::isnan(chance) ? 0 : chance;
  const Interval right = interval_of(before, groups, share_scale);
  if (before.empty()) return result;
  if (!right.is_above(least)) {
    const double above = right.share - least;
    if (above > 0)
      result.needed = rounded_up(static_cast<double>(before.size()) * std::pow((right.share - right.low) / above, 2));
    return result;
  }
  const double right_after = std::accumulate(after.begin(), after.end(), 0.0) / static_cast<double>(after.size());
  const Comparison answers(before, after, groups, least);
  const double share = (right.share - right_after) / (right.share - least);
  result.lost = {share, answers.end(share, -0.5, z), answers.end(share, 0.5, z)};
  result.kind = kind_of(result.lost);
  const double needed = needed_of(result.lost, static_cast<double>(before.size()));
  if (!result.is_strong() && std::isfinite(needed)) result.needed = rounded_up(needed);
  return result;
}

}  // namespace heed
