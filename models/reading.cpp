#include "models/internal/masked_text.h"

#include <heed/data/corpus.h>
#include <heed/files/utf8.h>
#include <heed/models/reading.h>
#include <heed/tokenizers/marked_text.h>
#include <heed/tokenizers/unknown_hint.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace heed {
namespace {

// Returns whether segments are sentences, not token types.
bool reads_sentences(const Model& model) {
  const OutputHead& head = model.head();
  if (model.transformer().config.segments == 0 || !head.exists() || head.has_token_logits()) return false;
  return !head.chooses_candidates() || model.config().numbered_sentences;
}

[[noreturn]] void fail_without_query(const Model& model) {
  if (model.queries.empty()) fail("the model has no query words; name the word to ask about with --query");
  fail("the sentence contains none of the model's query words ({}); choose one with --query", listed(model.queries));
}

// Brackets mark the candidates. The query is searched in the text without brackets.
Example question_with_candidates(const Model& model, std::string_view text, const std::string& query) {
  MarkedText marked = without_brackets(checked_utf8(text, "sentence"));
  if (marked.candidates.empty()) {
    fail("the model chooses among candidates; mark them with brackets: The [trophy] doesn't fit in [the suitcase] ...");
  }
  for (const std::string& word : query.empty() ? model.queries : std::vector{query}) {  // finds the last of them
    for (MarkedText::Place place = find_word(marked.text, word); place.end > 0;
         place = find_word(marked.text, word, place.end)) {
      if (place.end > marked.query.end) marked.query = place;
    }
  }
  if (marked.query.end == 0) {
    if (!query.empty()) fail("the sentence does not contain the token '{}'", query);
    fail_without_query(model);
  }
  Example example = cut(marked, model.tokenizer);
  if (reads_sentences(model)) example.sentences = sentence_numbers(example.tokens);
  return example;
}

}  // namespace

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

bool is_run_together(const std::string& word, const std::vector<std::string>& tokens) {
  const bool is_ascii = std::all_of(word.begin(), word.end(), [](char c) { return c >= 0; });
  return !is_ascii && std::any_of(tokens.begin(), tokens.end(), [&](const std::string& token) {
    return token != word && token.find(word) != token.npos;
  });
}

// Returns the index of the last token equal to `word`, or -1.
static int last_index_of(std::string_view word, const std::vector<std::string>& tokens) {
  const auto last = std::find(tokens.rbegin(), tokens.rend(), word);
  return static_cast<int>(tokens.rend() - last) - 1;
}

int last_token_of(const std::string& sought, const PretrainedTokenizer& tokenizer, std::string_view text) {
  if (sought.empty()) return -1;
  const std::vector<EncodedToken> tokens = tokenizer.encode(text);
  for (std::size_t i = tokens.size(); i-- > 0;) {
    if (tokenizer.token(tokens[i].id) == sought) return static_cast<int>(i);
    if (i + 1 < tokens.size() && tokens[i + 1].word == tokens[i].word) continue;  // not the word's last token
    std::size_t first = i;
    while (first > 0 && tokens[first - 1].word == tokens[i].word) --first;
    std::string_view word = text.substr(tokens[first].begin, tokens[i].end - tokens[first].begin);
    while (word.starts_with(' ')) word.remove_prefix(1);
    if (word == sought) return static_cast<int>(i);
  }
  return -1;
}

void check_positions(const TransformerConfig& config, const std::vector<std::int32_t>& tokens) {
  if (config.causal) return;  // OPT's positions begin behind two rows, too, but count all tokens
  const auto padding = std::ranges::find(tokens, config.position_offset - 1);
  if (padding == tokens.end()) return;
  fail(
      "token {} of the text is the padding token (id {}). RoBERTa gives it no position, but heed does; remove it from "
      "the text",
      padding - tokens.begin() + 1, *padding);
}

// Returns the token at which a model without query words is asked: one for classes where its head reads, a masked one at the last mask,
// others at the last token, and both a masked one without a mask and a model without a head before the tokens that a template adds ([SEP]).
static int usual_query(const Model& model, const std::vector<std::string>& tokens) {
  const int last = static_cast<int>(tokens.size()) - 1;
  if (model.head().classifies()) return model.head().places(std::array{last + 1})[0];
  const bool is_masked = model.head().fills_masks();
  const auto& pretrained = model.tokenizer.pretrained();
  std::string mask = mask_token;
  if (pretrained) mask = pretrained->special().mask ? model.vocabulary.word(*pretrained->special().mask) : "";
  if (const int at = last_index_of(mask, tokens); is_masked && at >= 0) return at;
  if (!pretrained || (!is_masked && model.head().exists())) return last;
  const std::vector<std::string> behind = tokens_of(model, pretrained->behind());
  const bool has_template = std::ssize(behind) <= last && std::equal(behind.rbegin(), behind.rend(), tokens.rbegin());
  return has_template ? last - static_cast<int>(behind.size()) : last;
}

// Throws Error when a model that tells the class of a text is asked at a word.
static void check_asked(const Model& model, const std::string& query) {
  if (query.empty() || !model.head().classifies()) return;
  fail("the model tells the class of the whole text, at its {} token; it cannot be asked at '{}'",
       model.transformer().config.causal ? "last" : "first", query);
}

// Returns the question for a model that has a tokenizer of its own.
static Example pretrained_question(const Model& model, std::string_view read, const std::string& query) {
  std::string sought = query;
  const std::string text = with_own_masks(model, checked_utf8(read, "sentence"), sought);
  Example example;
  example.tokens = model.tokenizer(text);
  if (example.tokens.empty()) fail("the sentence is empty");
  std::vector<std::int32_t> ids;
  for (const std::string& token : example.tokens) {
    if (model.vocabulary.contains(token)) ids.push_back(model.vocabulary[token]);
  }
  check_positions(model.transformer().config, ids);
  if (!sought.empty()) {
    example.query = last_token_of(sought, *model.tokenizer.pretrained(), text);
    if (example.query < 0) {
      fail("'{}' is not a word or token of the sentence; its tokens: {}", query, listed(example.tokens, " ", 100));
    }
    return example;
  }
  example.query = usual_query(model, example.tokens);
  return example;
}

void check_tokenizer(const Model& model) {
  if (model.pretrained_config.empty() || model.tokenizer.pretrained()) return;
  fail(
      "the model has no tokenizer, so it cannot read text. In a directory, tokenizer.json is missing: "
      "AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) writes one. A GGUF file needs tokenizer.ggml.model");
}

namespace {

// Cuts the tokens of a text behind the first ones. Those that the template adds at its end, as to `empty`, stay.
void cut(std::vector<std::string>& tokens, std::int64_t max_length, const std::vector<std::string>& empty) {
  const auto before = std::ranges::mismatch(tokens, empty).in2 - empty.begin();
  const auto after = std::min<std::int64_t>(std::ssize(empty) - before, max_length);
  tokens.erase(tokens.begin() + (max_length - after), tokens.end() - after);
}

}  // namespace

Batch encode(const Model& model, const std::vector<std::string>& texts, std::int64_t max_length) {
  check_tokenizer(model);
  if (max_length < 0) fail("encode: max_length must be at least 0, got {}", max_length);
  const std::vector<std::string> empty = max_length > 0 ? model.tokenizer("") : std::vector<std::string>();
  if (texts.empty()) fail("encode: expected at least one text");
  const TransformerConfig& config = model.transformer().config;
  const bool has_sentences = !model.tokenizer.pretrained() && reads_sentences(model);
  std::vector<Example> examples;
  for (const std::string& text : texts) {
    std::string none;
    Example example{.tokens = tokens_of(model, with_own_masks(model, text, none))};
    if (max_length > 0 && std::ssize(example.tokens) > max_length) cut(example.tokens, max_length, empty);
    if (example.tokens.empty() || std::ssize(example.tokens) > config.max_length) {
      fail("text {}: expected 1 to {} tokens, got {}", examples.size(), config.max_length, example.tokens.size());
    }
    example.answer = example.tokens[0];  // examples have one; here it is not used
    if (has_sentences) example.sentences = sentence_numbers(example.tokens);
    if (has_sentences && example.sentences[0] >= config.segments) {  // the first token has the largest number
      fail("text {} has {} sentences; the model reads up to {}", examples.size(), example.sentences[0] + 1,
           config.segments);
    }
    examples.push_back(std::move(example));
  }
  Batch read = NumberedExamples(examples, model.vocabulary).batch(0, std::ssize(examples));
  const Batch batch{.tokens = read.tokens, .lengths = std::move(read.lengths), .segments = read.segments};
  for (std::int64_t b = 0; b < batch.tokens.size(0); ++b) {
    const std::int32_t* const row = batch.tokens.data() + b * batch.tokens.size(1);
    check_positions(config, {row, row + batch.lengths[static_cast<std::size_t>(b)]});
  }
  return batch;
}

bool is_unknown_full_stop(const Model& model, std::string_view token) {
  return (token == "." || token == "。") && !model.tokenizer.pretrained() && !model.vocabulary.unknown() &&
         !model.vocabulary.contains(std::string(token));
}

Example question(const Model& model, std::string_view text, const std::string& query) {
  if (model.head().chooses_candidates()) return question_with_candidates(model, text, query);
  check_asked(model, query);
  if (model.tokenizer.pretrained()) return pretrained_question(model, text, query);
  check_tokenizer(model);
  Example example;
  const std::string_view read = is_of_texts_alone(model.tokenizer.split()) ? text : checked_utf8(text, "sentence");
  std::string sought = query;
  example.tokens = tokens_of(model, with_own_masks(model, read, sought));
  if (example.tokens.empty()) fail("the sentence is empty");
  if (example.tokens.size() > 1 && is_unknown_full_stop(model, example.tokens.back())) example.tokens.pop_back();
  if (sought.empty() && !model.head().answers_about_a_word()) {
    example.query = usual_query(model, example.tokens);
    return example;
  }
  example.sentences = sentence_numbers(example.tokens);
  const auto asked = [&](const std::string& token) {
    return sought.empty() ? std::find(model.queries.begin(), model.queries.end(), token) != model.queries.end()
                          : token == sought;
  };
  const auto last = std::find_if(example.tokens.rbegin(), example.tokens.rend(), asked);
  if (last == example.tokens.rend()) {
    const std::vector<std::string> words = sought.empty() ? model.queries : std::vector<std::string>{sought};
    for (const std::string& word : words) {
      if (model.tokenizer.split() != Split::words || !is_run_together(word, example.tokens)) continue;
      fail(
          "the sentence holds '{}', but not as a token of its own: put spaces between the words, as in training, or "
          "train with data.tokens: characters; its tokens: {}",
          word, listed(example.tokens, " ", 100));
    }
    if (!sought.empty()) {
      fail("the sentence does not contain the token '{}'{}; its tokens: {}", query, did_you_mean(query, example.tokens),
           listed(example.tokens, " ", 100));
    }
    fail_without_query(model);
  }
  example.query = static_cast<int>(example.tokens.rend() - last) - 1;
  return example;
}

// Returns the number of each token. Throws Error that lists those that the model does not know.
static std::vector<std::int32_t> ids_of(const Model& model, const std::vector<std::string>& tokens) {
  const Vocabulary& vocabulary = model.vocabulary;
  std::vector<std::string> unknown;
  std::set<std::string_view> seen;  // unknown tokens
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    if (vocabulary.contains(token) || vocabulary.unknown()) {
      ids.push_back(vocabulary[token]);
    } else {
      if (!seen.insert(token).second) continue;
      const bool is_listed = unknown.size() < 20;  // limits the hints, since each searches the whole vocabulary
      unknown.push_back(fmt::format("'{}'{}", excerpt(token), is_listed ? unknown_hint(tokens, i, vocabulary) : ""));
    }
  }
  if (!unknown.empty()) {
    fail("not among the {} {} that the model knows: {}", vocabulary.size(),
         name_of_entries(vocabulary, model.tokenizer.split()), listed(unknown));
  }
  return ids;
}

std::vector<std::int32_t> token_ids(const Model& model, std::string_view text, bool with_template) {
  check_tokenizer(model);
  std::string none;
  const std::string read = with_own_masks(model, text, none);
  if (with_template || !model.tokenizer.pretrained()) return ids_of(model, tokens_of(model, read));
  std::vector<std::int32_t> ids;
  for (const EncodedToken& token : model.tokenizer.pretrained()->encode(read, false)) ids.push_back(token.id);
  return ids;
}

std::vector<std::string> tokens_of(const Model& model, const std::vector<std::int32_t>& ids) {
  std::vector<std::string> tokens;
  for (const std::int32_t id : ids) tokens.push_back(model.vocabulary.word(id));
  return tokens;
}

Example question(const Model& model, const std::vector<std::int32_t>& ids, const std::string& query) {
  const OutputHead& head = model.head();
  if (head.chooses_candidates()) fail("the model chooses among candidates, which only a text can mark; give the text");
  if (ids.empty()) fail("expected the ids of at least one token, got none");
  check_asked(model, query);
  check_positions(model.transformer().config, ids);
  Example example{.tokens = tokens_of(model, ids)};
  if (query.empty() && (model.tokenizer.pretrained() || !model.head().answers_about_a_word())) {
    example.query = usual_query(model, example.tokens);
    return example;
  }
  example.query = -1;
  for (const std::string& word : query.empty() ? model.queries : std::vector{query}) {
    example.query = std::max(example.query, last_index_of(word, example.tokens));
  }
  if (example.query < 0 && query.empty()) fail_without_query(model);
  if (example.query < 0) {
    fail("no token is '{}'{}; the tokens: {}", query, did_you_mean(query, example.tokens),
         listed(example.tokens, " ", 100));
  }
  return example;
}

Batch batch_of(const Model& model, const Example& example) {
  const TransformerConfig& config = model.transformer().config;
  const int T = static_cast<int>(example.tokens.size());
  if (T == 0) fail("expected a text of at least one token, got none");
  if (example.query < 0 || example.query >= T) fail("expected a query from 0 to {}, got {}", T - 1, example.query);
  std::vector<std::int32_t> tokens = ids_of(model, example.tokens);
  if (T > config.max_length && model.head().has_token_logits()) {
    fail("the text has {} tokens; the model sees {} at once", T, config.max_length);
  }
  const Positions positions = config.positions;
  if ((positions == Positions::learned || positions == Positions::rotary) && T > config.max_length) {
    fail("the text has {} tokens; the model has positions for {}", T, config.max_length);
  }
  const OutputHead& head = model.head();
  Batch input{.tokens = Ids({1, T}, tokens),
              .lengths = {T},
              .query = head.classifies() ? head.places(std::array{T}) : Ids({1}, {example.query})};
  if (model.head().chooses_candidates()) {
    if (example.candidates.empty()) {
      fail(
          "the model chooses among candidates; mark them with brackets: The [trophy] doesn't fit in [the suitcase] "
          "...");
    }
    std::vector<std::int32_t> places;
    for (const Span& span : example.candidates) {
      if (span.begin < 0 || span.begin >= span.end || span.end > T)
        fail("expected a candidate within {} tokens, got [{}, {})", T, span.begin, span.end);
      places.insert(places.end(), {span.begin, span.end});
    }
    input.candidates = Ids({1, std::ssize(example.candidates), 2}, std::move(places));
  }
  if (reads_sentences(model) && !example.sentences.empty()) {  // undivided, a text is one sentence
    if (example.sentences.size() != tokens.size()) {
      fail("expected a sentence number for each of {} tokens, got {}", tokens.size(), example.sentences.size());
    }
    const int most = *std::max_element(example.sentences.begin(), example.sentences.end()) + 1;
    if (most > config.segments) {
      fail("the text has {} sentences; the model reads up to {}", most, config.segments);
    }
    input.segments = Ids({1, T}, {example.sentences.begin(), example.sentences.end()});
  }
  return input;
}

int right_answer(const Model& model, const Example& example) {
  check_has_head(model);
  if (model.head().chooses_candidates()) {
    if (example.chosen >= 0) return example.chosen;
    return model.config().or_none ? static_cast<int>(example.candidates.size()) : -1;
  }
  if (model.head().classifies()) return index_of(example.answer, model.config().classes);
  const Vocabulary& vocabulary = model.vocabulary;
  return vocabulary.unknown() && !vocabulary.contains(example.answer) ? -1 : vocabulary[example.answer];
}

std::string answer_text(const Model& model, const Example& example, int index) {
  check_has_head(model);
  if (model.head().classifies()) return model.config().classes.at(static_cast<std::size_t>(index));
  if (!model.head().chooses_candidates()) return model.vocabulary.word(index);
  if (index >= std::ssize(example.candidates)) return "(none)";
  return text_of(example, example.candidates[static_cast<std::size_t>(index)]);
}

bool holds_spaces(const Model& model) { return model.tokenizer.is_of_text() && !model.tokenizer.pretrained(); }

bool reads_pieces(const Model& model) { return model.tokenizer.subwords() && !model.head().has_token_logits(); }

}  // namespace heed
