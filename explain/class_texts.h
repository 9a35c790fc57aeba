#pragma once
#include <heed/models/reading.h>

#include <filesystem>
#include <vector>

namespace heed {

/// Reads texts for a model that tells the class of a text, one object per line: {"text": "a warm and funny film", "label": "POSITIVE"}. A
/// label is the name of a class, or its number. Blank lines are skipped. Throws `Error` with all mistakes of the file, by line.
///
///     const AnswerEvaluation found = evaluate_answers(model, read_class_texts(model, "reviews.jsonl"));
std::vector<Example> read_class_texts(const Model& model, const std::filesystem::path& file);

}  // namespace heed
