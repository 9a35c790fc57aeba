#include "views/known_answers.h"

#include <heed/files/file.h>
#include <heed/formats/datasets/jsonl.h>

#include <algorithm>

namespace heed {

std::vector<Example> held_out_of(const std::filesystem::path& run) {
  try {
    if (std::filesystem::exists(held_out_path(run))) return read_jsonl(held_out_path(run));
  } catch (const FileError&) {
    throw;
  } catch (const Error&) {
    return {};
  }
  return {};
}

std::string known_answer(const SentenceAttention& sentence, const std::vector<Example>& held_out) {
  for (const Span& span : sentence.candidates) {
    if (span.begin <= sentence.antecedent && sentence.antecedent < span.end) return text_of(question(sentence), span);
  }
  if (!sentence.candidates.empty()) return "";
  const auto same = std::ranges::find_if(
      held_out, [&](const Example& e) { return e.query == sentence.query && e.tokens == sentence.tokens; });
  if (same != held_out.end()) return same->answer;
  if (sentence.antecedent < 0) return "";
  const auto word = [](const auto& of, int i) -> const std::string& { return of.tokens[static_cast<std::size_t>(i)]; };
  std::string answer;
  for (const Example& e : held_out) {
    if (e.antecedent < 0 || word(e, e.query) != word(sentence, sentence.query)) continue;
    if (word(e, e.antecedent) != word(sentence, sentence.antecedent)) continue;
    if (!answer.empty() && answer != e.answer) return "";
    answer = e.answer;
  }
  return answer;
}

}  // namespace heed
