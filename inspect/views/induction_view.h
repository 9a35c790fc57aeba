#pragma once
#include "inspect/views/view.h"

namespace heed {

// How a head goes through the tokens of a dump's sentences (Olsson et al. 2022, arXiv:2209.11895, section 2).
struct HeadScores {
  double previous_token = 0;  // mean weight from a token to the one before it
  double induction = 0;  // ... to what followed the latest earlier token that is the same; NaN where none comes again
};

// Of each head, [layer][head].
std::vector<std::vector<HeadScores>> head_scores(const Dump& dump);

/// Returns which heads have the largest scores at the last step, then the scores of every chosen head after the steps of
/// `dumps`, with the held-out loss at each.
std::string induction_view(const std::vector<Dump>& dumps, const std::vector<Metrics>& metrics, const View& view);
/// Returns {"steps":[{"step":0,"loss":5.5,"heads":[{"layer":0,"head":0,"previous_token":0.1,"induction":0.2}]}]}.
Json induction_json(const std::vector<Dump>& dumps, const std::vector<Metrics>& metrics, const View& view);

}  // namespace heed
