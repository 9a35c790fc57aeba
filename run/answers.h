#pragma once
#include <heed/data/task.h>
#include <heed/nn/reader.h>

#include <string>

namespace heed {

// Which of a reader's logits is that of the right answer: (B), a word, a candidate, or what comes after the candidates:
// none of them; -1 where no logit is.
Ids right_answers(const Reader& reader, const Batch& batch);
int right_answer(const Reader& reader, const Vocabulary& vocabulary, const Example& example);

// What answer number `answer` is called: a word, or a candidate's words; "(none)" is none of them.
std::string answer_text(const Reader& reader, const Vocabulary& vocabulary, const Example& example, int answer);

}  // namespace heed
