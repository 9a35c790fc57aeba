#pragma once
#include <heed/explain/circuits/edge_choice.h>
#include <heed/explain/circuits/edge_scores.h>
#include <heed/explain/circuits/pair_halves.h>
#include <heed/explain/circuits/pair_intervals.h>
#include <heed/explain/progress.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heed {

constexpr double default_faithfulness = 0.8;  ///< of the circuit that is reported
constexpr double survival_share = 0.9;        ///< least share of the resamples in which an edge that survives is chosen

/// Options of a study of circuits.
struct CircuitOptions {
  /// The method whose scores choose; by default exact where that takes seconds, else deeplift.
  std::optional<ScoreMethod> method{};
  int steps = default_ig_steps;  ///< of ScoreMethod::eap_ig
  EdgeChoice choice = EdgeChoice::greedy;
  double faithfulness = default_faithfulness;  ///< in (0, 1]
  int resamples = 200, random_circuits = 5, null_tasks = 5;
  int exact_edges = 16;  ///< the strongest edges of the circuit that are measured by patching, too, after an estimate
  std::uint64_t seed = 1;
  OnProgress progress = {};
};

/// What a study asks of a model, or of a simulation of one.
struct CircuitTask {
  const CircuitGraph& graph;
  /// Effects of edges, (pairs, edges) float64, by each method. The first chooses, the others are compared with it.
  std::vector<std::pair<ScoreMethod, Tensor>> scores;
  std::vector<double> clean, corrupted;  ///< the measure of each pair with all edges kept, and with none
  std::vector<std::string> groups;       ///< of each pair; "": none
  std::vector<int> observations{};       ///< the number of each pair's observation, from 0; empty: by groups
  /// Returns the measure of each of `pairs`, of which the indices are given, in each of `circuits`: [circuit][pair].
  std::function<std::vector<std::vector<double>>(const std::vector<std::vector<bool>>& circuits,
                                                 std::span<const std::size_t> pairs)>
      measure;
};

/// The smallest set of edges that keeps a behaviour, and how sure it is. Faithfulness of a circuit is (m(circuit) -
/// m(corrupted)) / (m(clean) - m(corrupted)), for the means of the measure m over pairs; edges outside of the circuit carry
/// corrupted outputs. One half of the pairs chooses the circuit, the other measures everything that is reported. All intervals
/// are of 95 %. docs/explanation/circuits.md defines each figure.
///
///     const CircuitStudy study = circuit_study(model, pairs);
///     for (const CircuitStudy::Edge& edge : study.edges) if (edge.survives) fmt::print("{}\n", edge.name);
struct CircuitStudy {
  /// Whether there is a circuit to report.
  enum class Verdict {
    circuit,  ///< yes
    /// The clean texts are not shown to favour the right answers (their measure is above 0), or the corrupted texts not to take away more
    /// than half of that.
    no_behaviour,
    null_as_good,    ///< the circuit is not shown to recover more than circuits of tasks without an answer
    random_as_good,  ///< the circuit is not shown to recover more than random circuits of its size
    unstable         ///< the same of the edges that survive, or these are not shown to recover anything
  } verdict = Verdict::no_behaviour;
  ScoreMethod method = ScoreMethod::deeplift;  ///< whose scores chose
  int steps = default_ig_steps;
  EdgeChoice choice = EdgeChoice::greedy;
  double target = default_faithfulness;  ///< least faithfulness on the half that chose
  int pairs = 0, chosen_on = 0, held_out = 0;
  std::vector<std::size_t> held_out_pairs{};  ///< indices of the pairs that measure
  std::vector<int> held_out_observations{};   ///< the number of each one's observation
  int observations = 0;                       ///< of all pairs; those of the same two texts are one
  int groups = 0;                             ///< different groups; 0: none
  bool groups_are_observations = false;
  int all_edges = 0, all_nodes = 0;  ///< of the graph
  Interval clean{}, corrupted{};     ///< mean measure of the held-out pairs
  Interval behaviour{};              ///< mean of clean minus corrupted
  Interval half{};            ///< mean of half of clean minus corrupted: above 0 where more than half of clean is lost
  Interval right_in_clean{};  ///< share of the held-out pairs whose right answer is the more probable one
  Interval right_in_corrupted{};  ///< the same, with no edge kept

  /// A circuit of the curve.
  struct Point {
    int joined = 0;           ///< edges that joined
    int edges = 0;            ///< those of them on a path from the embedding to the logits
    double share = 0;         ///< of all edges that joined
    double on_chosen = 0;     ///< faithfulness on the half that chose; NaN: not measured
    Interval faithfulness{};  ///< on the held-out half
    Interval right{};         ///< share of the held-out pairs whose right answer is the more probable one
  };
  std::vector<Point> curve;  ///< by size
  Interval cpr{}, cmd{};     ///< areas under faithfulness and under its distance from 1, over the share of edges
  Point circuit{};           ///< the smallest circuit whose faithfulness on the half that chose reaches the target
  Point surviving{};         ///< the edges that survive alone; figures if the verdict is `circuit` or `unstable`

  /// An edge that the circuit has, or that one of the other choices has.
  struct Edge {
    int edge = 0;        ///< index in the graph
    CircuitNode from{};  ///< the node that it comes from
    CircuitInput to{};   ///< the input that it leads to
    std::string name{};  ///< "layer 1 head 2 -> layer 2 head 1 key"
    bool in_circuit = false;
    /// In a circuit that is reported, in `survival_share` of the resamples, in the circuit of exact effects and of each group, and with an
    /// effect that the half that chooses shows to differ from 0, at an error of 5 % for all edges of the circuit together.
    bool survives = false;
    Interval effect{};               ///< mean over the held-out pairs of the score
    Interval exact{};                ///< the same, measured by patching this edge alone; NaN: not measured
    double resamples = 0;            ///< share of the resamples that choose it
    int methods = 0, of_groups = 0;  ///< number of the methods, of the groups, that choose it
    /// Returns the exact effect where it was measured, else the estimate.
    const Interval& best_effect() const { return exact.share == exact.share ? exact : effect; }
  };
  std::vector<Edge>
      edges;  ///< those of the circuit by absolute best_effect(), surviving ones first, then others by share of resamples
  std::vector<int> survivors{};         ///< in the graph: the edges of `surviving`, also if the verdict is `unstable`
  std::vector<ScoreMethod> methods;     ///< that were compared
  std::vector<std::string> own_groups;  ///< groups that choose circuits of their own
  int resamples = 0;

  /// Other circuits of the same number of joined edges.
  struct Comparison {
    int circuits = 0;
    Interval faithfulness{};  ///< mean over the circuits
    double best = 0;          ///< of the circuits
    Interval difference{};    ///< the circuit's faithfulness minus the mean
  };
  /// Circuits of random effects, and of null tasks, in which the answers of a random half of the pairs are exchanged.
  Comparison random{}, null_tasks{};
  Comparison surviving_random{}, surviving_null_tasks{};  ///< the same beside the edges that survive
};

template <>
inline constexpr EnumName<CircuitStudy::Verdict> enum_names<CircuitStudy::Verdict>[] = {
    {CircuitStudy::Verdict::circuit, "circuit"},
    {CircuitStudy::Verdict::no_behaviour, "no behaviour"},
    {CircuitStudy::Verdict::null_as_good, "null as good"},
    {CircuitStudy::Verdict::random_as_good, "random as good"},
    {CircuitStudy::Verdict::unstable, "unstable"}};

/// Studies a task. Throws `Error` for fewer than `min_pairs` pairs, or groups that count as observations.
CircuitStudy circuit_study(const CircuitTask& task, const CircuitOptions& options = {});

}  // namespace heed
