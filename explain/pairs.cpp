#include "explain/internal/added_token.h"
#include "explain/internal/even_choice.h"
#include "explain/internal/joined_batch.h"
#include "tokenizers/internal/json.h"

#include <heed/autograd/ops.h>
#include <heed/explain/pairs.h>
#include <heed/files/text_file.h>
#include <heed/files/utf8.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace heed {
namespace {

// Returns whether an answer follows a text without a space.
bool follows_closely(const std::string& text, const std::string& answer) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || answer.empty()) return false;
  const auto lead = static_cast<unsigned char>(answer[0]);  // of UTF-8: U+3000 to U+9FFF and U+F000 to U+FFFF
  return (is_digit(text.back()) && is_digit(answer[0])) || (lead >= 0xe3 && lead <= 0xe9) || lead == 0xef;
}

// Reads one line. Adds mistakes to the file.
class PairReader {
 public:
  PairReader(const Model& model, TextFile& file, std::size_t line, const Json& object)
      : model_(model), file_(file), line_(line), object_(object) {}

  std::optional<TextPair> read() {
    static const std::vector<std::string> keys{"clean", "corrupted", "answer", "wrong", "query", "group"};
    const int before = file_.mistakes();
    for (const auto& [key, value] : object_.items()) {
      if (std::ranges::find(keys, key) == keys.end()) {
        file_.mistake(line_, "unknown key '{}'{}", excerpt(key), did_you_mean(key, keys));
      }
    }
    TextPair pair;
    const std::string query = text("query", false);
    pair.group = text("group", false);
    const Text clean = text_or_ids("clean"), corrupted = text_or_ids("corrupted");
    if (query.empty() && model_.queries.empty() && model_.head().answers_about_a_word()) {
      file_.mistake(line_, "missing key 'query': this model names no word that texts are asked at");
    }
    const bool has_texts = file_.mistakes() == before;
    for (const char* key : {"answer", "wrong"}) {
      if (!object_.contains(key)) file_.mistake(line_, "missing key '{}'", key);
    }
    if (!has_texts) return {};
    const int before_reading = file_.mistakes();
    const Ids clean_ids = read_question("clean", clean, query, pair.clean);
    const Ids corrupted_ids = read_question("corrupted", corrupted, query, pair.corrupted);
    if (file_.mistakes() > before_reading) return {};
    if (pair.clean.tokens.size() != pair.corrupted.tokens.size()) {
      file_.mistake(line_, "expected two texts of as many tokens, got {} and {}", pair.clean.tokens.size(),
                    pair.corrupted.tokens.size());
    } else if (pair.clean.query != pair.corrupted.query) {
      file_.mistake(line_, "expected the question at the same token of both texts, got {} and {}", pair.clean.query + 1,
                    pair.corrupted.query + 1);
    } else if (pair.clean.tokens == pair.corrupted.tokens) {
      file_.mistake(line_, "expected two texts that differ, got the same tokens twice: {}",
                    listed(pair.clean.tokens, " ", 20));
    } else if (std::ranges::equal(clean_ids, corrupted_ids)) {
      const auto [one, other] = std::ranges::mismatch(pair.clean.tokens, pair.corrupted.tokens);
      file_.mistake(line_, "expected two texts that differ for the model, but it knows neither '{}' nor '{}'",
                    excerpt(*one), excerpt(*other));
    } else if (const int asked = pair.clean.query;
               answers_from_earlier_tokens(model_) && asked < static_cast<int>(pair.first_difference())) {
      file_.mistake(
          line_, "expected texts that differ at '{}', where they are asked, or before: this model sees no later token",
          excerpt(pair.clean.tokens[static_cast<std::size_t>(asked)]));
    }
    if (pair.clean.candidates != pair.corrupted.candidates) {
      file_.mistake(line_, "expected the candidates of both texts at the same tokens, since their logits are compared");
    }
    read_answers("answer", clean, pair.clean, pair.right);
    read_answers("wrong", clean, pair.clean, pair.wrong);
    for (const int answer : pair.right) {
      if (std::ranges::find(pair.wrong, answer) == pair.wrong.end()) continue;
      file_.mistake(line_, "wrong: '{}' is a right answer, too", excerpt(answer_text(model_, pair.clean, answer)));
    }
    if (file_.mistakes() > before) return {};
    return pair;
  }

 private:
  // A text as it is written, or as the ids of its tokens.
  struct Text {
    std::string written;
    std::optional<std::vector<std::int32_t>> ids;
  };

  bool is_id(const Json& value) const {
    return value.is_number_integer() && value >= 0 && value < std::ssize(model_.vocabulary.words());
  }

  Text text_or_ids(const char* key) {
    if (!object_.contains(key) || !object_[key].is_array()) return {text(key), {}};
    const Json& given = object_[key];
    if (const auto wrong = std::ranges::find_if(given, [&](const Json& id) { return !is_id(id); });
        wrong != given.end()) {
      file_.mistake(line_, "{}: expected ids from 0 to {}, got {}", key, std::ssize(model_.vocabulary.words()) - 1,
                    excerpt(format_json(*wrong)));
      return {};
    }
    Text found{{}, given.get<std::vector<std::int32_t>>()};
    found.written = model_.tokenizer.join(tokens_of(model_, *found.ids));
    return found;
  }

  std::string text(const char* key, bool is_required = true) {
    if (!object_.contains(key)) {
      if (is_required) file_.mistake(line_, "missing key '{}'", key);
      return "";
    }
    if (!object_[key].is_string()) {
      file_.mistake(line_, "{}: expected a text, got {}", key, excerpt(format_json(object_[key])));
      return "";
    }
    return object_[key].get<std::string>();
  }

  // Returns the ids of the tokens.
  Ids read_question(const char* key, const Text& text, const std::string& query, Example& example) {
    try {
      example = text.ids ? question(model_, *text.ids, query) : question(model_, text.written, query);
      return batch_of(model_, example).tokens;
    } catch (const Error& error) {
      file_.mistake(line_, "{}: {}", key, error.what());
      return {};
    }
  }

  void read_answers(const char* key, const Text& text, const Example& clean, std::vector<int>& answers) {
    if (!object_.contains(key)) return;
    const Json& given = object_[key];
    const Json list = given.is_array() ? given : Json::array({given});
    if (list.empty()) file_.mistake(line_, "{}: expected a word, or a list of words, got []", key);
    const bool has_classes = model_.head().classifies();
    const auto numbered = has_classes ? std::ssize(model_.config().classes) : std::ssize(model_.vocabulary.words());
    for (const Json& one : list) {
      if ((text.ids || has_classes) && one.is_number_integer() && one >= 0 && one < numbered) {
        answers.push_back(one.get<int>());
        continue;
      }
      if (!one.is_string()) {
        file_.mistake(line_, "{}: expected a word, or a list of words, got {}", key, excerpt(format_json(given)));
        continue;
      }
      try {
        answers.push_back(answer_index(model_, text.written, clean, one.get<std::string>()));
      } catch (const Error& error) {
        file_.mistake(line_, "{}: {}", key, error.what());
      }
    }
  }

  const Model& model_;
  TextFile& file_;
  std::size_t line_;
  const Json& object_;
};

// Collects pairs, without repetitions: these would say nothing new, and narrow the intervals.
class DifferentPairs {
 public:
  void add(TextPair pair) {
    if (seen_.emplace(pair.clean.tokens, pair.corrupted.tokens, pair.clean.query, pair.right, pair.wrong).second) {
      pairs_.push_back(std::move(pair));
    }
  }
  std::vector<TextPair> take() { return std::move(pairs_); }

 private:
  using Tokens = std::vector<std::string>;
  std::set<std::tuple<Tokens, Tokens, int, std::vector<int>, std::vector<int>>> seen_;
  std::vector<TextPair> pairs_;
};

// Returns logsumexp of the logits of answers: (B, answers) -> (B).
Tensor together(const Tensor& logits, const std::vector<std::vector<int>>& answers) {
  const auto columns = static_cast<std::size_t>(logits.size(1));
  std::vector<std::uint8_t> is_other(static_cast<std::size_t>(logits.numel()), 1);
  for (std::size_t b = 0; b < answers.size(); ++b) {
    for (const int answer : answers[b]) is_other.at(b * columns + static_cast<std::size_t>(answer)) = 0;
  }
  const Booleans others(logits.shape(), std::move(is_other));
  return logsumexp(masked_fill(logits, others, -std::numeric_limits<double>::infinity()), {1});
}

}  // namespace

int answer_index(const Model& model, const std::string& text, const Example& clean, const std::string& answer) {
  if (model.head().chooses_candidates()) {
    const int count = static_cast<int>(clean.candidates.size()) + (model.config().or_none ? 1 : 0);
    std::vector<std::string> texts;
    for (int i = 0; i < count; ++i) {
      texts.push_back(answer_text(model, clean, i));
      if (texts.back() == answer) return i;
    }
    fail("expected one of the candidates {}, got '{}'", listed(texts), excerpt(answer));
  }
  if (model.head().classifies()) {
    const std::vector<std::string>& classes = model.config().classes;
    if (const int index = index_of(answer, classes); index >= 0) return index;
    fail("expected one of the classes {}, got '{}'{}", listed(classes), excerpt(answer), did_you_mean(answer, classes));
  }
  if (answer.empty()) fail("expected a word, got an empty text");
  if (!model.head().has_token_logits()) {
    if (model.vocabulary.contains(answer)) return model.vocabulary[answer];
    fail("'{}' is not among the model's words{}", excerpt(answer), did_you_mean(answer, model.vocabulary.words()));
  }
  std::vector<std::string> forms{" " + answer, answer};
  if (follows_closely(text, answer)) std::swap(forms[0], forms[1]);
  if (model.head().generates()) {
    for (const std::string& form : forms) {
      if (const auto token = added_token(model, text, form)) return *token;
    }
  }
  for (const std::string& form : forms) {
    if (const auto token = added_token(model, "", form)) return *token;
  }
  if (model.tokenizer(answer).size() == 1) {
    fail("'{}' is not among the model's words{}", excerpt(answer), did_you_mean(answer, model.vocabulary.words()));
  }
  fail("expected one token, but '{}' is {}", excerpt(answer), listed(model.tokenizer(answer), " ", 20));
}

std::vector<TextPair> read_pairs(const Model& model, const std::filesystem::path& path) {
  check_has_head(model);
  TextFile file(path);
  DifferentPairs different;
  for (std::size_t line = 0; line < file.lines().size(); ++line) {
    if (file.lines()[line].find_first_not_of(" \t\r") == std::string_view::npos) continue;
    try {
      constexpr int depth = 2;  // lists of words in one object
      const Json object = parse_json(file.lines()[line], depth);
      if (!object.is_object()) fail("expected an object {{\"clean\": ...}}, got {}", excerpt(format_json(object)));
      if (std::optional<TextPair> pair = PairReader(model, file, line + 1, object).read())
        different.add(std::move(*pair));
    } catch (const Error& error) {
      file.mistake(line + 1, "{}", error.what());
    }
  }
  file.finish();
  std::vector<TextPair> pairs = different.take();
  if (pairs.empty()) fail("{}: expected pairs of texts, one JSON object per line, got none", path.string());
  return pairs;
}

std::vector<TextPair> minimal_pairs(const Model& model, const std::vector<Example>& examples) {
  DifferentPairs result;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const Example& clean = examples[i];
    if (clean.counterpart < 0) continue;
    const auto other = static_cast<std::size_t>(clean.counterpart);
    const Example& corrupted = examples.at(other);
    const int right = right_answer(model, clean), wrong = right_answer(model, corrupted);
    const bool is_alike = clean.tokens.size() == corrupted.tokens.size() && clean.query == corrupted.query;
    if (!is_alike || right < 0 || wrong < 0 || right == wrong) continue;
    result.add({clean, corrupted, {right}, {wrong}, fmt::format("pair {}", std::min(i, other) + 1)});
  }
  return result.take();
}

void keep_evenly(std::vector<TextPair>& pairs, std::size_t most) {
  if (most == 0 || pairs.size() <= most) return;
  std::vector<TextPair> kept;
  for (std::size_t i = 0, next = 0; i < pairs.size(); i = next) {
    next = i + 1;
    if (next < pairs.size() && pairs[next].clean.tokens == pairs[i].corrupted.tokens) ++next;
    if (!is_due(kept.size(), i, most, pairs.size())) continue;
    std::move(pairs.begin() + static_cast<std::ptrdiff_t>(i), pairs.begin() + static_cast<std::ptrdiff_t>(next),
              std::back_inserter(kept));
  }
  pairs = std::move(kept);
}

bool answers_from_earlier_tokens(const Model& model) {
  return model.transformer().config.causal && !model.head().chooses_candidates();
}

std::size_t TextPair::first_difference() const {
  const auto at = std::ranges::mismatch(clean.tokens, corrupted.tokens).in1;
  return static_cast<std::size_t>(at - clean.tokens.begin());
}

std::vector<PairBatch> pair_batches(const Model& model, std::span<const TextPair> pairs, std::size_t max_pairs) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> by_shape;  // by tokens and candidates
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    by_shape[{pairs[i].clean.tokens.size(), pairs[i].clean.candidates.size()}].push_back(i);
  }
  std::vector<PairBatch> result;
  for (auto& [shape, indices] : by_shape) {
    std::ranges::stable_sort(indices, {}, [&](std::size_t i) { return pairs[i].first_difference(); });
    for (std::size_t begin = 0; begin < indices.size(); begin += max_pairs) {
      PairBatch batch;
      std::vector<Batch> clean, corrupted;
      for (std::size_t i = begin; i < std::min(indices.size(), begin + max_pairs); ++i) {
        const TextPair& pair = pairs[indices[i]];
        clean.push_back(batch_of(model, pair.clean)), corrupted.push_back(batch_of(model, pair.corrupted));
        batch.right.push_back(pair.right), batch.wrong.push_back(pair.wrong);
        batch.pairs.push_back(indices[i]);
      }
      batch.clean = joined(clean), batch.corrupted = joined(corrupted);
      result.push_back(std::move(batch));
    }
  }
  return result;
}

Ids keep_answers(const Model& model, PairBatch& batch) {
  if (!model.head().unembedding) return {};
  std::map<int, int> places;
  const auto of_each = [&](const auto& visit) {
    for (auto* const answers : {&batch.right, &batch.wrong}) {
      for (std::vector<int>& words : *answers) std::ranges::for_each(words, visit);
    }
  };
  of_each([&](int word) { places.emplace(word, 0); });
  std::vector<std::int32_t> kept;
  for (auto& [word, place] : places) {
    place = static_cast<int>(kept.size());
    kept.push_back(word);
  }
  of_each([&](int& word) { word = places.at(word); });
  const std::int64_t count = std::ssize(kept);
  return Ids({count}, std::move(kept));
}

Tensor log_odds(const Tensor& logits, const PairBatch& batch) {
  return together(logits, batch.right) - together(logits, batch.wrong);
}

std::vector<double> finite_log_odds(const Tensor& logits, const PairBatch& batch, const char* where) {
  std::vector<double> figures = log_odds(logits, batch).to_vector();
  if (std::ranges::all_of(figures, [](double figure) { return std::isfinite(figure); })) return figures;
  throw NotFinite(fmt::format("{}: the model computes log odds that are infinite or NaN", where));
}

}  // namespace heed
