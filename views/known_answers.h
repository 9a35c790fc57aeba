#pragma once
#include "run/dump.h"

#include <filesystem>
#include <string>
#include <vector>

namespace heed {

/// Returns the held-out sentences of a run; none when the run has none or the file is not of this format. Throws FileError
/// when the file exists but cannot be read.
std::vector<Example> held_out_of(const std::filesystem::path& run);

/// Returns the correct answer to a watched sentence: the candidate that holds the antecedent; or the answer of the same
/// held-out sentence; or that of the held-out sentences with the same query word and the same antecedent, if they agree.
/// Returns "" if it is unknown.
std::string known_answer(const SentenceAttention& sentence, const std::vector<Example>& held_out);

}  // namespace heed
