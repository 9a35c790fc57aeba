#include "inspect/continuation.h"

#include <heed/autograd/ops.h>
#include <heed/files/utf8.h>
#include <heed/models/reading.h>
#include <heed/tokenizers/unknown_hint.h>

#include <algorithm>
#include <utility>

namespace heed {
namespace {

// Passes text on, and holds back a suffix that may be the beginning of `stop`.
class StoppedText {
 public:
  StoppedText(std::string stop, const OnText& write) : stop_(std::move(stop)), write_(write) {}

  // Returns false when generation should end: `stop` was found, or the receiver returned false.
  bool add(std::string_view piece) {
    held_ += piece;
    if (stop_.empty()) return pass(held_.size());
    const std::size_t found = held_.find(stop_);
    if (found != std::string::npos) {
      pass(found);
      held_.clear();
      return false;
    }
    std::size_t begun = std::min(held_.size(), stop_.size() - 1);
    while (!held_.ends_with(std::string_view(stop_).substr(0, begun))) --begun;
    return pass(held_.size() - begun);
  }

  void finish() { pass(held_.size()); }

 private:
  bool pass(std::size_t bytes) {
    const bool goes_on = bytes == 0 || write_(std::string_view(held_).substr(0, bytes));
    held_.erase(0, bytes);
    return goes_on;
  }

  std::string stop_, held_;
  const OnText& write_;
};

// Returns the number of bytes at the end of `text` that form an incomplete UTF-8 character.
std::size_t begun_character(std::string_view text) {
  for (std::size_t bytes = 1; bytes <= std::min<std::size_t>(3, text.size()); ++bytes) {
    const auto byte = static_cast<unsigned char>(text[text.size() - bytes]);
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return bytes < (byte >= 0xf0 ? 4U : byte >= 0xe0 ? 3U : 2U) ? bytes : 0;
  }
  return 0;
}

}  // namespace

std::string TerminalText::add(std::string_view piece) {
  held_ += piece;
  const std::size_t whole = held_.size() - begun_character(held_);
  std::string shown;
  for (std::size_t begin = 0; begin < whole;) {
    const std::size_t end = std::min(held_.find_first_of("\n\t", begin), whole);
    shown += visible(std::string_view(held_).substr(begin, end - begin));
    if (end < whole) shown += held_[end];
    begin = end + 1;
  }
  held_.erase(0, whole);
  return shown;
}

std::string TerminalText::finish() { return visible(std::exchange(held_, {})); }

Generated continue_text(const SavedModel& model, const Continuation& continuation, const OnText& write) {
  check_has_answers(*model.network);
  const auto* decoder = std::get_if<LanguageModel>(&*model.network);
  if (decoder) check_tokenizer(model);
  if (!decoder && predicts_tokens(*model.network)) {
    fail("the model predicts hidden tokens; only one that predicts the next token, such as GPT-2, continues a text");
  }
  if (!decoder || !model.tokenizer.is_of_text()) {
    fail("the model {}; only one that was trained with data.task: text continues a text",
         decoder ? "predicts the next of a fixed set of words" : "answers questions about sentences");
  }
  std::vector<std::int32_t> tokens;
  std::vector<std::string> unknown_tokens;
  const std::vector<std::string> begin = model.tokenizer(continuation.begin);
  for (std::size_t i = 0; i < begin.size(); ++i) {
    const std::string& token = begin[i];
    if (model.vocabulary.contains(token) || model.vocabulary.unknown()) {
      tokens.push_back(model.vocabulary[token]);
    } else if (const std::string name = "'" + excerpt(token, 20) + "'" + unknown_hint(begin, i, model.vocabulary);
               std::ranges::count(unknown_tokens, name) == 0) {
      unknown_tokens.push_back(name);
    }
  }
  if (!unknown_tokens.empty()) {
    fail(
        "--prompt: the model knows {} {}, but not these: {}. Models with data.tokens: bytes or subwords know every "
        "text",
        model.vocabulary.size(), name_of(model.tokenizer.split()), listed(unknown_tokens));
  }
  if (tokens.empty()) fail("--prompt: expected a text of at least one token, got none");
  Generated result;
  if (!write(continuation.begin)) return {{}, Ending::stop};
  StoppedText text(continuation.stop, write);
  Random random = Random(continuation.seed).stream("continue");
  const std::int64_t context = decoder->transformer.config.max_length;
  Cache cache;
  std::int64_t unread = std::min(std::ssize(tokens), context);
  for (int i = 0; i < continuation.tokens; ++i) {
    if (length(cache) + unread > context) {
      cache.clear();  // restarts with the later half of the context
      unread = std::max<std::int64_t>(1, context / 2);
    }
    const Tensor logits =
        decoder->append(Ids({1, unread}, {tokens.end() - unread, tokens.end()}), cache);  // (1, vocabulary)
    tokens.push_back(sample(reshape(logits, {logits.size(1)}), continuation.sampling, random));
    unread = 1;
    result.tokens.push_back(model.vocabulary.word(tokens.back()));
    if (std::ranges::count(model.end_tokens, tokens.back()) > 0) {
      result.ended_by = Ending::end_token;
      break;
    }
    if (!text.add(model.tokenizer.written(result.tokens.back()))) {
      result.ended_by = Ending::stop;
      return result;
    }
  }
  text.finish();
  return result;
}

}  // namespace heed
