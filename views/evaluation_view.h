#pragma once
#include "views/view.h"

#include <heed/explain/studies/evaluation.h>

namespace heed {

/// Return the figures of a file with their 95 % intervals.
std::string evaluation_view(const std::string& file, const TextEvaluation& found, const Terminal& terminal);
std::string evaluation_view(const std::string& file, const AnswerEvaluation& found, const Terminal& terminal);
/// Return {"file":"a.txt","tokens":1000,...,"loss":{"share":1.2,"low":1.1,"high":1.3},...}. Unknown figures are null.
Json evaluation_json(const std::string& file, const TextEvaluation& found);
Json evaluation_json(const std::string& file, const AnswerEvaluation& found);

}  // namespace heed
