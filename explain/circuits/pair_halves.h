#pragma once
#include <heed/autograd/random.h>
#include <heed/explain/pairs.h>

#include <span>
#include <string>
#include <vector>

namespace heed {

constexpr std::size_t min_pairs = 8;   ///< or groups, where these are observations
constexpr int min_groups = 10;         ///< from this number on, the pairs of a group count as one observation
constexpr int min_pairs_of_group = 4;  ///< in the first half, for a group to choose a circuit of its own

/// Returns the number of each pair's observation, from 0: of its group where there are at least `min_groups` groups, else its own.
std::vector<int> observations_of(const std::vector<std::string>& groups);
/// Returns the same for pairs. Those of one clean text are one observation, whatever their corrupted texts, and so are those of the same
/// two texts in either order: their figures are not independent.
std::vector<int> observations_of(std::span<const TextPair> pairs);
/// Returns the same for the pairs of a `command`. An interval needs 2 observations: throws `Error` for fewer.
std::vector<int> checked_observations(const char* command, std::span<const TextPair> pairs);

/// Draws as many observations as there are, with replacement. Returns for each value how often its observation was drawn.
std::vector<double> resampled_weights(const std::vector<int>& observations, Random random);
/// Returns -1 for the values of a random half of the observations, 1 for the others.
std::vector<double> random_signs(const std::vector<int>& observations, Random random);

/// Divides pairs at random into a half that chooses and one that measures. Observations stay together.
///
///     const PairHalves halves({"", "", "", "", "", "", "", ""}, Random(1));
///     for (const std::size_t pair : halves.first()) use(pair);
class PairHalves {
 public:
  /// Divides pairs of these groups; "" is a group, too. `observations` is the number of each pair's observation, from 0; if empty,
  /// that of observations_of(groups). Throws `Error` for fewer than `min_pairs` observations.
  PairHalves(const std::vector<std::string>& groups, Random random, std::vector<int> observations = {});

  const std::vector<std::size_t>& first() const { return first_; }       ///< indices of the pairs that choose
  const std::vector<std::size_t>& second() const { return second_; }     ///< of the others
  const std::vector<int>& observations() const { return observation_; }  ///< the number of each pair's observation
  std::size_t count() const { return count_; }                           ///< the number of observations
  int groups() const { return groups_; }                                 ///< the number of groups; 0: all pairs have ""
  bool groups_are_observations() const { return together_; }             ///< whether a group is one observation
  /// Returns the groups with enough pairs in the first half to choose by themselves, where there are 2 to 9 groups.
  const std::vector<std::string>& groups_that_choose() const { return choosing_; }

 private:
  std::vector<std::size_t> first_{}, second_{};
  std::vector<int> observation_{};
  std::vector<std::string> choosing_{};
  std::size_t count_ = 0;
  int groups_ = 0;
  bool together_ = false;
};

}  // namespace heed
