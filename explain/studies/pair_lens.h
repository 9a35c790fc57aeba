#pragma once
#include <heed/explain/pairs.h>
#include <heed/explain/progress.h>
#include <heed/explain/studies/interval.h>

#include <span>
#include <vector>

namespace heed {

/// What a model would answer to pairs of texts after each of its layers (logit lens; nostalgebraist 2020), as means over the pairs.
///
///     const PairLens lens = pair_lens(model, pairs);
///     fmt::print("{:.2f}\n", lens.layers[3].clean.share);   // mean log odds of the right answers after three layers
///
/// The log odds after a layer are those of the final norm and the head on the residual stream at the query, as in AnswerLens. They are
/// positive where the right answers are more probable than the wrong ones.
struct PairLens {
  /// The answers after the first `layer` layers, with 95 % intervals; layer 0: of the embedding.
  struct Layer {
    int layer = 0;
    Interval clean{}, corrupted{};  ///< mean log odds of the answers that are right for the clean text, of either text
    Interval difference{};          ///< clean minus corrupted: how much the changed words change the answer
    Interval right{};               ///< share of clean texts whose right answers are more probable than the wrong ones
  };
  int pairs = 0;
  int observations = 0;  ///< as observations_of() counts them
  std::vector<Layer> layers{};
};

/// Computes the lens in batches. Throws `Error` for a model without a head and for fewer than 2 pairs, and NotFinite when the model
/// computes infinity or NaN.
PairLens pair_lens(const Model& model, std::span<const TextPair> pairs, const OnProgress& progress = {});

}  // namespace heed
