#pragma once
#include "views/view.h"

#include <heed/explain/answer_lens.h>

namespace heed {

/// Returns the answers after each layer, and the parts that add most to the logit of the answer.
std::string answer_lens_view(const AnswerLens& lens, const View& view);

/// Returns {"tokens":[...],"query":7,"answer":"animal","logit":...,"layers":[{"layer":0,"answers":[{"answer":"animal",
/// "probability":...}],"probability":...,"rank":1}],"parts":[{"what":"head","layer":1,"head":0,"logit":...}]}.
Json answer_lens_json(const AnswerLens& lens);

}  // namespace heed
