#pragma once
#include "views/view.h"

#include <heed/explain/studies/induction_scores.h>

namespace heed {

/// Returns the head with the largest score over the sentences of a snapshot, "0.59 layer 1 head 2"; "-" if it is unknown.
std::string best_head_text(const Dump& dump, double HeadScores::*score);

/// Returns which heads are induction heads by repeated_scores(), with the rule and the number of sequences.
std::string repeated_verdict(const RepeatedScores& scores, const View& view);
/// Returns the verdict, then the scores of the chosen heads, those with the largest induction scores first.
std::string repeated_view(const RepeatedScores& scores, const View& view);
/// Returns {"sequences":20,"length":25,"least":0.4,"heads":[{"layer":0,"head":0,"previous_token":{...},"induction":{...},
/// "is_induction":false,"is_undecided":false}]}.
Json repeated_json(const RepeatedScores& scores, const View& view);

/// Returns the heads with the largest scores at the last step, then the scores of every chosen head at each step of `dumps`,
/// with the held-out loss.
std::string induction_view(const std::vector<Dump>& dumps, const std::vector<Metrics>& metrics, const View& view);
/// Returns {"steps":[{"step":0,"loss":5.5,"heads":[{"layer":0,"head":0,"previous_token":0.1,"induction":0.2}]}]}.
Json induction_json(const std::vector<Dump>& dumps, const std::vector<Metrics>& metrics, const View& view);

}  // namespace heed
