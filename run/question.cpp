#include "run/saved_model.h"

#include <heed/autograd/error.h>
#include <heed/data/marked_text.h>
#include <heed/files/utf8.h>

#include <algorithm>

namespace heed {
namespace {

// Numbers of the sentences of `tokens`, counted back from the last.
std::vector<int> sentence_numbers(const std::vector<std::string>& tokens) {
  std::vector<int> numbers(tokens.size());
  int number = 0;
  for (std::size_t i = tokens.size(); i-- > 0;) {
    const bool ends = tokens[i] == "." || tokens[i] == "。";
    if (ends && i + 1 < tokens.size()) ++number;
    numbers[i] = number;
  }
  return numbers;
}

// Brackets mark the candidates: then the question is asked of the text without them, and they are put where they were.
Example question_with_candidates(const SavedModel& model, std::string_view text, const std::string& query) {
  MarkedText marked = without_brackets(checked_utf8(text, "sentence"));
  if (marked.candidates.empty()) {
    fail("the model chooses among candidates; mark them with brackets: The [trophy] doesn't fit in [the suitcase] ...");
  }
  for (const std::string& word : query.empty() ? model.queries : std::vector{query}) {  // the last of them
    for (MarkedText::Place place = find_word(marked.text, word); place.end > 0;
         place = find_word(marked.text, word, place.end)) {
      if (place.end > marked.query.end) marked.query = place;
    }
  }
  if (marked.query.end == 0) {
    if (!query.empty()) fail("the sentence has no token '{}'", query);
    fail("the sentence has none of the words that the model was asked about ({}); choose one with --query",
         listed(model.queries));
  }
  Example example = cut(marked, model.tokenizer);
  example.sentences = sentence_numbers(example.tokens);
  return example;
}

}  // namespace

bool is_run_together(const std::string& word, const std::vector<std::string>& tokens) {
  const bool is_ascii = std::all_of(word.begin(), word.end(), [](char c) { return c >= 0; });
  return !is_ascii && std::any_of(tokens.begin(), tokens.end(), [&](const std::string& token) {
    return token != word && token.find(word) != token.npos;
  });
}

Example question(const SavedModel& model, std::string_view text, const std::string& query) {
  if (model.reader->config.answer != Answer::word) return question_with_candidates(model, text, query);
  Example example;
  example.tokens = model.tokenizer(is_of_texts_alone(model.tokenizer.split()) ? text : checked_utf8(text, "sentence"));
  if (example.tokens.empty()) fail("the sentence is empty");
  if (query.empty() && model.reader->config.predicts == Predicts::next) {
    example.query = static_cast<int>(example.tokens.size()) - 1;
    return example;
  }
  example.sentences = sentence_numbers(example.tokens);
  const auto asked = [&](const std::string& token) {
    return query.empty() ? std::find(model.queries.begin(), model.queries.end(), token) != model.queries.end()
                         : token == query;
  };
  const auto last = std::find_if(example.tokens.rbegin(), example.tokens.rend(), asked);
  if (last == example.tokens.rend()) {
    const std::vector<std::string> sought = query.empty() ? model.queries : std::vector<std::string>{query};
    for (const std::string& word : sought) {
      if (model.tokenizer.split() != Split::words || !is_run_together(word, example.tokens)) continue;
      fail(
          "the sentence holds '{}', but not as a token of its own: put spaces between the words, as in training, or "
          "train with data.tokens: characters; its tokens: {}",
          word, listed(example.tokens, " ", 100));
    }
    if (!query.empty()) {
      fail("the sentence has no token '{}'{}; its tokens: {}", query, did_you_mean(query, example.tokens),
           listed(example.tokens, " ", 100));
    }
    fail("the sentence has none of the words that the model was asked about ({}); choose one with --query",
         listed(model.queries));
  }
  example.query = static_cast<int>(example.tokens.rend() - last) - 1;
  return example;
}

Example question(const SentenceAttention& sentence) {
  Example example;
  example.tokens = sentence.tokens;
  example.query = sentence.query;
  example.antecedent = sentence.antecedent;
  example.sentences = sentence_numbers(sentence.tokens);
  example.candidates = sentence.candidates;
  return example;
}

}  // namespace heed
