#pragma once
#include "run/saved_model.h"

#include <string>
#include <vector>

namespace heed {

// The logit of the word that a model predicts for one sentence, as a sum. The last layer has no residual, so the query's
// vector there is a sum over heads and source tokens of weight * V W_O; with the final norm's mean and deviation taken as
// they are, the logit is linear in it (direct logit attribution; Elhage et al. 2021, "A mathematical framework for
// transformer circuits").
struct Attribution {
  std::vector<std::string> tokens;
  int query = 0, antecedent = -1;
  std::string answer;  // the predicted word
  double logit = 0;
  int layer = 0;  // the last
  struct Term {
    int head, source;
    double logit;
  };
  std::vector<Term> terms;  // heads x T, head by head
  struct Rest {
    std::string what;  // "W_O bias", "MLP", "final norm bias", "output bias": those that the model has
    double logit;
  };
  std::vector<Rest> rest;
  double sum() const;  // of terms and rest
};

// Error when the sum differs from the logit by more than 1e-4 of it (of 1 where it is smaller).
Attribution attribute(const SavedModel& model, const Example& example);

}  // namespace heed
