#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/explain/circuits/pair_intervals.h>
#include <heed/explain/pairs.h>
#include <heed/explain/progress.h>

#include <span>
#include <string>
#include <vector>

namespace heed {

/// How much of a behaviour single activations of the clean text restore in the corrupted one (causal tracing; Meng et al. 2022,
/// arXiv:2202.05262). Restored is (m(patched) - m(corrupted)) / (m(clean) - m(corrupted)), for the means over pairs of the log odds
/// m: 1 if an activation brings the whole answer back, 0 if it brings nothing.
///
///     const Restored found = restored(model, pairs);
///     fmt::print("{:.2f}\n", found.tables[0].cells[token][layer].restored.share);   // the residual stream
struct Restored {
  /// What is patched.
  enum class What {
    residual,   ///< the input of a layer, at tokens
    attention,  ///< the output of a layer's attention, at tokens
    mlp,        ///< the output of a layer's MLP, at tokens
    head        ///< the output of one head, at all tokens
  };
  /// One activation, over all pairs that have it.
  struct Cell {
    Interval restored{};  ///< with its 95 % interval
    /// Whether restored differs from 0 by the interval of 95 % for all cells of the table together; false where `behaviour` is not
    /// shown to be above 0.
    bool is_shown = false;
  };
  /// The cells of one kind: [row][layer]. Rows are tokens or heads.
  struct Table {
    What what = What::residual;
    std::vector<std::vector<Cell>> cells{};
  };

  int pairs = 0;
  int observations = 0;             ///< as observations_of() counts them
  bool by_position = false;         ///< whether rows of tokens are positions; else roles
  Interval clean{}, corrupted{};    ///< mean log odds
  Interval behaviour{};             ///< mean of clean minus corrupted
  std::vector<std::string> tokens;  ///< names of the rows of tokens
  std::vector<Table> tables;
};

template <>
inline constexpr EnumName<Restored::What> enum_names<Restored::What>[] = {{Restored::What::residual, "residual"},
                                                                          {Restored::What::attention, "attention"},
                                                                          {Restored::What::mlp, "mlp"},
                                                                          {Restored::What::head, "head"}};

/// Measures a model on pairs. Rows of tokens are positions if all pairs have as many tokens, named by the token where it is the same
/// in all. Otherwise they are roles: the tokens before the first changed one, the changed ones, those behind it, and the token at
/// which the model answers; all tokens of a role are patched at once. Throws `Error` for fewer than 2 pairs, and NotFinite when the
/// model computes infinity or NaN.
Restored restored(const Model& model, std::span<const TextPair> pairs, const OnProgress& progress = {});

/// Returns the pairs by kind, the most numerous kind first. Pairs of a kind have as many tokens and are asked at the same one, so that
/// rows of tokens are positions. Leaves out kinds of fewer than `min_groups` groups, whose pairs would count as independent.
///
///     for (const std::vector<TextPair>& kind : kinds_of(minimal_pairs(model, held_out))) use(restored(model, kind));
std::vector<std::vector<TextPair>> kinds_of(std::span<const TextPair> pairs);

}  // namespace heed
