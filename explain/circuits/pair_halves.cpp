#include <heed/autograd/error.h>
#include <heed/explain/circuits/pair_halves.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace heed {

std::vector<int> observations_of(const std::vector<std::string>& groups) {
  std::map<std::string, int> numbers;
  for (const std::string& group : groups) numbers.emplace(group, static_cast<int>(numbers.size()));
  std::vector<int> observations(groups.size());
  std::iota(observations.begin(), observations.end(), 0);
  if (std::ssize(numbers) < least_groups) return observations;
  std::ranges::transform(groups, observations.begin(), [&](const std::string& group) { return numbers[group]; });
  return observations;
}

PairHalves::PairHalves(const std::vector<std::string>& groups, Random random) : observation_(observations_of(groups)) {
  const std::set<std::string> names(groups.begin(), groups.end());
  const bool has_groups = !names.empty() && !(names.size() == 1 && names.begin()->empty());
  groups_ = has_groups ? static_cast<int>(names.size()) : 0;
  count_ = std::set<int>(observation_.begin(), observation_.end()).size();
  together_ = count_ < groups.size();
  if (count_ < least_pairs) {
    fail(
        "circuit: expected at least {} different pairs, got {}; half of them choose the circuit, the others measure it",
        least_pairs, count_);
  }
  std::vector<int> all(count_);
  std::iota(all.begin(), all.end(), 0);
  random.shuffle(all);
  const std::set<int> chosen(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count_ / 2));
  for (std::size_t i = 0; i < groups.size(); ++i) (chosen.contains(observation_[i]) ? first_ : second_).push_back(i);
  if (groups_ < 2 || groups_ >= least_groups) return;
  for (const std::string& group : names) {
    const auto is_of = [&](std::size_t row) { return groups[row] == group; };
    if (std::ranges::count_if(first_, is_of) >= least_pairs_of_group) choosing_.push_back(group);
  }
}

}  // namespace heed
