#pragma once
#include <heed/explain/circuits/circuit_study.h>

#include <span>
#include <utility>
#include <vector>

namespace heed {

double mean_of(const std::vector<double>& values);

// Returns the circuit of the first `joined` edges that these effects choose.
std::vector<bool> circuit_of_size(const CircuitGraph& graph, const std::vector<double>& effects, EdgeChoice choice,
                                  int joined);

// Returns the mean scores (pairs, edges) of `rows`, by weight: one number for each edge.
std::vector<double> weighted_means(const Tensor& scores, const std::vector<std::size_t>& rows,
                                   const std::vector<double>& weights);

// Returns whether a circuit is shown to keep more than the mean of these; true without circuits.
bool surpasses(const CircuitStudy::Comparison& comparison);

// The circuits that a circuit must surpass: those of random effects, and those that null tasks choose.
//
//     const CircuitControls controls(task, options, halves, random);
//     const auto [random, null_tasks] = controls.compare(measured, task.measure(controls.circuits(7), halves.second()));
class CircuitControls {
 public:
  CircuitControls(const CircuitTask& task, const CircuitOptions& options, const PairHalves& halves,
                  const Random& random)
      : task_(task), options_(options), halves_(halves), random_(random) {}

  // Returns circuits of `joined` edges each: first the random ones, then those of null tasks.
  std::vector<std::vector<bool>> circuits(int joined) const;

  // Compares a circuit with these, random ones and those of null tasks. The measures are those of the held-out pairs.
  std::pair<CircuitStudy::Comparison, CircuitStudy::Comparison> compare(
      const std::vector<double>& circuit, std::span<const std::vector<double>> controls) const;

 private:
  std::vector<double> signs(int task, const std::vector<std::size_t>& pairs) const;

  const CircuitTask& task_;
  const CircuitOptions& options_;
  const PairHalves& halves_;
  const Random& random_;
};

}  // namespace heed
