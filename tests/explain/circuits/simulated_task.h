#pragma once
#include <heed/autograd/random.h>
#include <heed/explain/circuits/circuit_study.h>

#include <cmath>
#include <vector>

namespace heed {

// A model of three layers with two heads each whose edges add up: the measure of a circuit is the sum of the effects of its edges
// and a part of the pair. The true circuit is a path of seven edges.
class SimulatedTask {
 public:
  SimulatedTask() : model_(config()), graph_(model_), true_effects_(graph_.edges().size()) {
    using Kind = CircuitInput::Kind;
    const CircuitNode embedding{}, first{CircuitNode::Kind::head, 0, 0}, second{CircuitNode::Kind::head, 1, 1};
    const CircuitNode third{CircuitNode::Kind::head, 2, 0};
    set(graph_.edge(embedding, Kind::value, 0, 0), 1.0);
    set(graph_.edge(first, Kind::key, 1, 1), 1.2);
    set(graph_.edge(embedding, Kind::query, 1, 1), 0.8);
    set(graph_.edge(embedding, Kind::value, 1, 1), 0.8);
    set(graph_.edge(second, Kind::value, 2, 0), 0.7);
    set(graph_.edge(second, Kind::logits), 1.5);
    set(graph_.edge(third, Kind::logits), 0.9);
    for (double& effect : true_effects_) effect += effect == 0 ? 0.01 : 0;  // the others do little
  }

  const CircuitGraph& graph() const { return graph_; }
  const std::vector<double>& true_effects() const { return true_effects_; }
  bool is_true(std::size_t edge) const { return true_effects_[edge] > 0.5; }

  // Draws pairs. With `scale` 0 the texts say nothing about the answer. With `size` > 1, as many pairs in turn are paraphrases, and
  // share most of their deviation.
  void draw(std::uint64_t seed, std::size_t pairs, double scale = 1, double deviation = 1, std::size_t size = 1) {
    Random random = Random(seed).stream("pairs");
    const std::size_t E = graph_.edges().size();
    effects_.assign(pairs, {});
    groups_.assign(pairs, "");
    double shared = 0;
    for (std::size_t i = 0; i < pairs; ++i) {
      if (i % size == 0) shared = random.normal();
      if (size > 1) groups_[i] = std::to_string(i / size);
      const double own = size > 1 ? 0.8 * shared + 0.6 * random.normal() : shared;
      const double factor = std::exp(0.3 * own) / std::exp(0.045);  // skewed, as log odds are; mean 1
      for (std::size_t e = 0; e < E; ++e) {
        const double noise = deviation * (0.1 + std::abs(true_effects_[e])) * random.normal();
        effects_[i].push_back(scale * true_effects_[e] * factor + noise);
      }
    }
  }

  CircuitTask task() const {
    CircuitTask task{.graph = graph_, .scores = {}, .clean = {}, .corrupted = {}, .groups = groups_, .measure = {}};
    std::vector<double> scores;
    for (const std::vector<double>& row : effects_) {
      scores.insert(scores.end(), row.begin(), row.end());
      double sum = 0;
      for (const double effect : row) sum += effect;
      task.clean.push_back(sum - 2), task.corrupted.push_back(-2);
    }
    const Shape shape{std::ssize(effects_), std::ssize(graph_.edges())};
    task.scores.emplace_back(ScoreMethod::exact, tensor(shape, scores, DType::float64));
    task.measure = [this](const std::vector<std::vector<bool>>& circuits, std::span<const std::size_t> pairs) {
      std::vector<std::vector<double>> all;
      for (const std::vector<bool>& circuit : circuits) {
        all.emplace_back();
        for (const std::size_t pair : pairs) {
          double sum = -2;
          for (std::size_t e = 0; e < circuit.size(); ++e) sum += circuit[e] ? effects_[pair][e] : 0;
          all.back().push_back(sum);
        }
      }
      return all;
    };
    return task;
  }

  // Returns the faithfulness of a circuit over all pairs that could be drawn.
  double true_faithfulness(const std::vector<bool>& circuit) const {
    double sum = 0, all = 0;
    for (std::size_t e = 0; e < circuit.size(); ++e) {
      all += true_effects_[e];
      sum += circuit[e] ? true_effects_[e] : 0;
    }
    return sum / all;
  }

 private:
  static ModelConfig config() {
    ModelConfig config = language_model(gpt2(3, 2, 4));
    config.transformer.vocabulary = 4, config.transformer.max_length = 4;
    return config;
  }
  void set(int edge, double effect) { true_effects_[static_cast<std::size_t>(edge)] = effect; }

  Model model_;
  CircuitGraph graph_;
  std::vector<double> true_effects_;
  std::vector<std::vector<double>> effects_{};  // [pair][edge]
  std::vector<std::string> groups_{};
};

}  // namespace heed
