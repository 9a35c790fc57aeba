#include "explain/internal/joined_sets.h"

#include <heed/autograd/error.h>
#include <heed/explain/circuits/pair_halves.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace heed {

std::vector<int> observations_of(const std::vector<std::string>& groups) {
  std::map<std::string, int> numbers;
  for (const std::string& group : groups) numbers.emplace(group, static_cast<int>(numbers.size()));
  std::vector<int> observations(groups.size());
  std::iota(observations.begin(), observations.end(), 0);
  if (std::ssize(numbers) < min_groups) return observations;
  std::ranges::transform(groups, observations.begin(), [&](const std::string& group) { return numbers[group]; });
  return observations;
}

std::vector<int> observations_of(std::span<const TextPair> pairs) {
  std::vector<std::string> groups;
  for (const TextPair& pair : pairs) groups.push_back(pair.group);
  const std::vector<int> of_groups = observations_of(groups);
  const auto pair = [&](int i) -> const TextPair& { return pairs[static_cast<std::size_t>(i)]; };
  JoinedSets sets(pairs.size());
  sets.join_equal([&](int i) { return of_groups[static_cast<std::size_t>(i)]; });
  sets.join_equal([&](int i) { return pair(i).clean.tokens; });
  sets.join_equal([&](int i) {
    using Texts = std::pair<std::vector<std::string>, std::vector<std::string>>;
    return Texts(std::minmax(pair(i).clean.tokens, pair(i).corrupted.tokens));
  });
  std::vector<int> observations;
  std::map<int, int> numbers;  // of the sets
  for (int i = 0; i < std::ssize(pairs); ++i) {
    observations.push_back(numbers.emplace(sets.first(i), static_cast<int>(numbers.size())).first->second);
  }
  return observations;
}

std::vector<int> checked_observations(const char* command, std::span<const TextPair> pairs) {
  std::vector<int> observations = observations_of(pairs);
  const int count = observations.empty() ? 0 : 1 + std::ranges::max(observations);
  if (count < 2) {
    fail("{}: expected at least 2 different pairs of texts, got {}{}", command, count,
         pairs.size() > 1 ? " (pairs of one clean text count as one)" : "");
  }
  return observations;
}

std::vector<double> resampled_weights(const std::vector<int>& observations, Random random) {
  const std::set<int> different(observations.begin(), observations.end());
  const std::vector<int> all(different.begin(), different.end());
  std::map<int, double> drawn;
  for (std::size_t i = 0; i < all.size(); ++i) ++drawn[all[static_cast<std::size_t>(random.below(std::ssize(all)))]];
  std::vector<double> weights;
  for (const int observation : observations) weights.push_back(drawn[observation]);
  return weights;
}

std::vector<double> random_signs(const std::vector<int>& observations, Random random) {
  std::map<int, double> drawn;
  std::vector<double> signs;
  for (const int observation : observations) {
    const auto [place, is_new] = drawn.try_emplace(observation, 1);
    if (is_new && random.below(2) == 1) place->second = -1;
    signs.push_back(place->second);
  }
  return signs;
}

PairHalves::PairHalves(const std::vector<std::string>& groups, Random random, std::vector<int> observations)
    : observation_(observations.empty() ? observations_of(groups) : std::move(observations)) {
  const std::set<std::string> names(groups.begin(), groups.end());
  const bool has_groups = !names.empty() && !(names.size() == 1 && names.begin()->empty());
  groups_ = has_groups ? static_cast<int>(names.size()) : 0;
  count_ = std::set<int>(observation_.begin(), observation_.end()).size();
  together_ = groups_ >= min_groups;
  if (count_ < min_pairs) {
    fail(
        "circuit: expected at least {} different pairs, got {} (pairs of one clean text count as one); half of them "
        "choose the circuit, "
        "the others measure it",
        min_pairs, count_);
  }
  std::vector<int> all(count_);
  std::iota(all.begin(), all.end(), 0);
  random.shuffle(all);
  const std::set<int> chosen(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count_ / 2));
  for (std::size_t i = 0; i < groups.size(); ++i) (chosen.contains(observation_[i]) ? first_ : second_).push_back(i);
  if (groups_ < 2 || groups_ >= min_groups) return;
  for (const std::string& group : names) {
    const auto is_of = [&](std::size_t row) { return groups[row] == group; };
    if (std::ranges::count_if(first_, is_of) >= min_pairs_of_group) choosing_.push_back(group);
  }
}

}  // namespace heed
