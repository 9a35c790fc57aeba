#include <heed/autograd/error.h>
#include <heed/explain/circuits/pair_halves.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace heed {

PairHalves::PairHalves(const std::vector<std::string>& groups, Random random) {
  std::map<std::string, int> numbers;
  for (const std::string& group : groups) numbers.emplace(group, static_cast<int>(numbers.size()));
  const bool has_groups = !numbers.empty() && !(numbers.size() == 1 && numbers.begin()->first.empty());
  groups_ = has_groups ? static_cast<int>(numbers.size()) : 0;
  together_ = groups_ >= least_groups && numbers.size() < groups.size();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    observation_.push_back(together_ ? numbers[groups[i]] : static_cast<int>(i));
  }
  count_ = together_ ? numbers.size() : groups.size();
  if (count_ < least_pairs) {
    fail("circuit: expected at least {} pairs, got {}; half of them choose the circuit, the others measure it",
         least_pairs, count_);
  }
  std::vector<int> all(count_);
  std::iota(all.begin(), all.end(), 0);
  random.shuffle(all);
  const std::set<int> chosen(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count_ / 2));
  for (std::size_t i = 0; i < groups.size(); ++i) (chosen.contains(observation_[i]) ? first_ : second_).push_back(i);
  if (groups_ < 2 || groups_ >= least_groups) return;
  for (const auto& group : numbers) {
    const auto is_of = [&](std::size_t row) { return groups[row] == group.first; };
    if (std::ranges::count_if(first_, is_of) >= least_pairs_of_group) choosing_.push_back(group.first);
  }
}

}  // namespace heed
