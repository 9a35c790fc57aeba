#pragma once
#include <heed/explain/circuits/circuit_study.h>
#include <heed/explain/pairs.h>

#include <cstddef>
#include <span>
#include <vector>

namespace heed {

/// Describes a head in one pair of texts, by patching its output along all edges from the head.
struct HeadInPair {
  /// The token that a query attends to most.
  struct Attended {
    int token = 0;
    double weight = 0;
  };
  CircuitNode head{};
  double effect = 0;    ///< log odds that the answer loses when the output is the corrupted text's at all tokens
  int token = 0;        ///< at which the output, patched there alone, has the largest effect
  double at_token = 0;  ///< that effect
  Attended clean{}, corrupted{};  ///< where this token attends in the clean and in the corrupted text
};

/// Returns what each of `heads` does in a pair, in this order. The token is found among all where the output differs between the texts:
/// of more than 16, groups of them are patched at once, and the one with the largest effect is divided further. Throws NotFinite when the
/// model computes infinity or NaN, and `Error` as check_weights_fit() does.
///
///     for (const HeadInPair& one : heads_in_pair(model, pair, circuit_heads(study, 24)))
///       fmt::print("{} attends to {}\n", pair.clean.tokens[one.token], pair.clean.tokens[one.clean.token]);
std::vector<HeadInPair> heads_in_pair(const Model& model, const TextPair& pair, std::span<const CircuitNode> heads);

/// Where a head looks, over pairs of texts: shares of the pairs, and their intervals.
struct HeadOverPairs {
  CircuitNode head{};
  /// The token at which the clean text is asked attends most to a token that differs from the corrupted text.
  Interval difference{};
  Interval right{};  ///< the same token attends most to a right answer
  Interval wrong{};  ///< in the corrupted text it attends most to a wrong answer
};

/// Returns where each of `heads` looks in the held-out pairs of a study. Answers are words of the text, or candidates.
std::vector<HeadOverPairs> heads_over_pairs(const Model& model, std::span<const TextPair> pairs,
                                            const CircuitStudy& study, std::span<const CircuitNode> heads);

/// Returns the heads that the `most` strongest edges of a circuit come from, by layer; none without a circuit.
std::vector<CircuitNode> circuit_heads(const CircuitStudy& study, std::size_t most);

/// Returns the index of a held-out pair to show a circuit by: the one with the median difference between the log odds of its texts.
std::size_t median_pair(const CircuitTask& task, const CircuitStudy& study);

}  // namespace heed
