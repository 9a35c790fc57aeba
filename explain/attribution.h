#pragma once
#include <heed/models/reading.h>

#include <string>
#include <vector>

namespace heed {

/// Decomposes the logit of a model's answer to one sentence, before its cap, into a sum (direct logit attribution;
/// Elhage et al. 2021, "A mathematical framework for transformer circuits"). With norms linearised, the logit is a sum
/// over heads and source tokens of the last layer, and a rest.
struct Attribution {
  std::vector<std::string> tokens;
  int query = 0, antecedent = -1;
  std::string answer;  ///< the predicted word
  double logit = 0;
  int layer = 0;  ///< the last
  /// The contribution of one head from one token.
  struct Term {
    int head, source;
    double logit;
  };
  std::vector<Term> terms;  ///< heads x T, head by head
  /// A contribution that belongs to no head.
  struct Rest {
    std::string
        what;  ///< "earlier layers" or "the token itself", "W_O bias", "MLP", "norm bias", "biases behind the last
               /// layer": those that the model has
    double logit;
  };
  std::vector<Rest> rest;
  double sum() const;  ///< sum of terms and rest
};

/// Computes the attribution in float64. Throws `Error` when the sum differs from the logit by more than 1e-6 of it
/// (absolutely below 1).
Attribution attribute(const Model& model, const Example& example);

}  // namespace heed
