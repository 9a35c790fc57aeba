#include "explain/internal/circuit_controls.h"

#include <heed/autograd/ops.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace heed {
double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<bool> circuit_of_size(const CircuitGraph& graph, const std::vector<double>& effects, EdgeChoice choice,
                                  int joined) {
  const auto count = static_cast<std::size_t>(joined);
  return first_edges(graph, edges_by_strength(graph, effects, choice, count), count);
}

bool surpasses(const CircuitStudy::Comparison& comparison) {
  return comparison.circuits == 0 || comparison.difference.low > 0;
}

std::vector<double> weighted_means(const Tensor& scores, const std::vector<std::size_t>& rows,
                                   const std::vector<double>& weights) {
  std::vector<double> all(static_cast<std::size_t>(scores.size(0)));
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    all[rows[i]] = weights[i];
    sum += std::abs(weights[i]);
  }
  const Tensor row = tensor({1, scores.size(0)}, all, DType::float64);
  return (matmul(row, scores) / std::max(sum, 1.0)).to_vector();
}

// Returns the sign of each of `pairs` in a null task: -1 exchanges the right and the wrong answers.
std::vector<double> CircuitControls::signs(int task, const std::vector<std::size_t>& pairs) const {
  const std::vector<double> all =
      random_signs(halves_.observations(), random_.stream("null").stream(static_cast<std::uint64_t>(task)));
  std::vector<double> chosen;
  for (const std::size_t pair : pairs) chosen.push_back(all[pair]);
  return chosen;
}

std::vector<std::vector<bool>> CircuitControls::circuits(int joined) const {
  std::vector<std::vector<bool>> result;
  const auto add = [&](const std::vector<double>& effects) {
    result.push_back(circuit_of_size(task_.graph, effects, options_.choice, joined));
  };
  for (int i = 0; i < options_.random_circuits; ++i) {
    Random random = random_.stream("random").stream(static_cast<std::uint64_t>(i));
    std::vector<double> effects(task_.graph.edges().size());
    for (double& effect : effects) effect = random.uniform();
    add(effects);
  }
  for (int i = 0; i < options_.null_tasks; ++i) {
    add(weighted_means(task_.scores[0].second, halves_.first(), signs(i, halves_.first())));
  }
  return result;
}

std::pair<CircuitStudy::Comparison, CircuitStudy::Comparison> CircuitControls::compare(
    const std::vector<double>& circuit, std::span<const std::vector<double>> controls) const {
  const std::vector<std::size_t>& pairs = halves_.second();
  std::vector<int> observations;
  std::vector<double> lost;
  for (const std::size_t pair : pairs) {
    observations.push_back(halves_.observations()[pair]);
    lost.push_back(task_.clean[pair] - task_.corrupted[pair]);
  }
  const auto compared = [&](std::size_t begin, std::size_t end, bool are_null) {
    CircuitStudy::Comparison result{.circuits = static_cast<int>(end - begin),
                                    .best = std::numeric_limits<double>::quiet_NaN()};
    if (begin == end) return result;
    std::vector<double> mean(pairs.size()), difference(pairs.size());
    for (std::size_t i = begin; i < end; ++i) {
      const std::vector<double> sign =
          are_null ? signs(static_cast<int>(i - begin), pairs) : std::vector<double>(pairs.size(), 1);
      std::vector<double> gain;
      for (std::size_t p = 0; p < pairs.size(); ++p) {
        gain.push_back((controls[i][p] - task_.corrupted[pairs[p]]) * sign[p]);
        mean[p] += gain[p] / static_cast<double>(end - begin);
      }
      result.best = std::fmax(result.best, mean_of(gain) / mean_of(lost));
    }
    for (std::size_t p = 0; p < pairs.size(); ++p) difference[p] = circuit[p] - task_.corrupted[pairs[p]] - mean[p];
    result.faithfulness = ratio_interval(mean, lost, observations);
    result.difference = ratio_interval(difference, lost, observations);
    return result;
  };
  const auto random_ones = static_cast<std::size_t>(options_.random_circuits);
  return {compared(0, random_ones, false), compared(random_ones, controls.size(), true)};
}

}  // namespace heed
