#pragma once
#include "tokenizers/internal/json.h"
#include "views/view.h"

#include <heed/explain/circuits/circuit_study.h>

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

/// A text on which the model answers, to draw below a circuit: its tokens, which of them the corrupted text changes, and the
/// right and the wrong answer.
struct CircuitExample {
  std::vector<std::string> tokens, corrupted;
  std::string right, wrong;
};

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
