#pragma once
#include "tokenizers/internal/json.h"
#include "views/view.h"

#include <heed/explain/circuits/circuit_parts.h>
#include <heed/explain/circuits/heads_in_pair.h>
#include <heed/explain/pairs.h>

#include <string>
#include <vector>

namespace heed {

/// Returns whether there is a circuit, and what it keeps, in words; then its edges that survive, the edges that only some choices
/// have, the curve of faithfulness, and the comparisons.
std::string circuit_view(const CircuitStudy& study, const View& view);

/// Returns what the study allows to say, a sentence per line of the list.
std::vector<std::string> circuit_verdict(const CircuitStudy& study);

/// Returns {"verdict":"circuit","pairs":100,...,"edges":[{"from":{"kind":"head","layer":0,"head":1},"to":{"kind":"key",...},...}]}.
Json circuit_json(const CircuitStudy& study);
/// Returns {"kind":"head","layer":0,"head":1}; null stands for no layer or head.
Json circuit_node_json(const CircuitNode& node);

/// Returns {"edges":[0,1,4],"faithfulness":{...},"right":{...}}.
Json circuit_part_json(const CircuitPart& part);

/// Returns a line: "Without layer 1 head 2: 3 edges of the circuit are on a path to the answer, and keep 28.9 % (20.1 to 37.9)."
std::string circuit_part_view(const std::vector<std::string>& removed, const CircuitPart& part, const View& view);

/// The number of edges that a picture numbers, and whose heads an example describes.
constexpr std::size_t max_drawn_edges = 24;
/// The most tokens of an example whose heads are described: all attention weights are kept in memory.
constexpr std::size_t max_example_tokens = 512;

/// A pair of texts that shows a circuit: its tokens and answers as people write them, and its heads.
struct CircuitExample {
  std::vector<std::string> tokens, corrupted;
  std::string right, wrong;
  int query = 0;  ///< the token at which both texts are asked
  std::vector<HeadInPair> heads{};
  std::vector<HeadOverPairs> over_pairs{};  ///< of the same heads
  int pairs = 0;                            ///< held-out ones
};

/// Returns the median_pair() of a study as its example.
CircuitExample circuit_example(const Model& model, std::span<const TextPair> pairs, const CircuitTask& task,
                               const CircuitStudy& study);

/// Returns the texts of the example, then for each head the token at which it matters, and the tokens that it attends to there.
std::string circuit_example_view(const CircuitExample& example, const View& view);

/// Returns {"tokens":[...],"corrupted":[...],"right":"animal","wrong":"street","query":6,"heads":[{"layer":0,"head":1,"token":6,...}]}.
Json circuit_example_json(const CircuitExample& example);

/// Returns the circuit as one self-contained SVG: the words at the bottom, the answer at the top, nodes by layer, and each edge with
/// its effect and interval. Edges that survive are drawn in full, the others dashed.
std::string circuit_svg(const CircuitStudy& study, const CircuitExample& example);

/// Returns {"mean":1.23,"low":1.01,"high":1.45}; null stands for a number that is infinite or NaN.
Json figure_json(const Interval& figure);

/// Returns "+1.23 (1.01 to 1.45)": a figure without bounds and its interval.
std::string figure_text(const Interval& figure);

/// Returns "92.1 % (87.0 to 97.3)": a share that may lie outside of 0 to 1.
std::string share_text(const Interval& share);

}  // namespace heed
