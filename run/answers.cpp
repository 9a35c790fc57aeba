#include "run/answers.h"

namespace heed {
namespace {

// `none`: the number of the logit after the candidates.
int of_candidates(const Reader& reader, int chosen, int none) {
  if (chosen >= 0) return chosen;
  return reader.config.answer == Answer::candidate_or_none ? none : -1;
}

}  // namespace

Ids right_answers(const Reader& reader, const Batch& batch) {
  if (reader.config.answer == Answer::word) return batch.answer;
  if (batch.candidates.numel() == 0) fail("the model chooses among candidates; these examples have none");
  const int none = static_cast<int>(batch.candidates.shape()[1]);
  std::vector<std::int32_t> right;
  for (std::int64_t b = 0; b < batch.chosen.numel(); ++b) right.push_back(of_candidates(reader, batch.chosen[b], none));
  return Ids(batch.chosen.shape(), std::move(right));
}

int right_answer(const Reader& reader, const Vocabulary& vocabulary, const Example& example) {
  if (reader.config.answer != Answer::word) {
    return of_candidates(reader, example.chosen, static_cast<int>(example.candidates.size()));
  }
  return vocabulary.unknown() && !vocabulary.contains(example.answer) ? -1 : vocabulary[example.answer];
}

std::string answer_text(const Reader& reader, const Vocabulary& vocabulary, const Example& example, int answer) {
  if (reader.config.answer == Answer::word) return vocabulary.word(answer);
  if (answer >= std::ssize(example.candidates)) return "(none)";
  return text_of(example, example.candidates[static_cast<std::size_t>(answer)]);
}

}  // namespace heed
