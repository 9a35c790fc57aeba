#include <heed/autograd/ops.h>
#include <heed/files/utf8.h>
#include <heed/models/generate.h>
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

// Throws Error when the model does not continue texts.
void check_generates(const Model& model) {
  check_has_head(model);
  const bool generates = model.head().generates();
  if (generates) check_tokenizer(model);
  if (model.head().fills_masks()) {
    fail("the model predicts hidden tokens; only one that predicts the next token, such as GPT-2, continues a text");
  }
  if (!generates || !model.tokenizer.is_of_text()) {
    fail("the model {}; only one that was trained with data.task: text continues a text",
         generates ? "predicts the next of a fixed set of words" : "answers questions about sentences");
  }
}

std::vector<std::int32_t> prompt_tokens(const Model& model, const std::string& prompt) {
  std::vector<std::int32_t> tokens;
  std::vector<std::string> unknown_tokens;
  const std::vector<std::string> names = model.tokenizer(prompt);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& token = names[i];
    if (model.vocabulary.contains(token) || model.vocabulary.unknown()) {
      tokens.push_back(model.vocabulary[token]);
    } else if (const std::string name = "'" + excerpt(token, 20) + "'" + unknown_hint(names, i, model.vocabulary);
               std::ranges::count(unknown_tokens, name) == 0) {
      unknown_tokens.push_back(name);
    }
  }
  if (!unknown_tokens.empty()) {
    fail(
        "prompt: the model knows {} {}, but not these: {}. Models with data.tokens: bytes or subwords know every "
        "text",
        model.vocabulary.size(), name_of(model.tokenizer.split()), listed(unknown_tokens));
  }
  if (tokens.empty()) fail("prompt: expected a text of at least one token, got none");
  return tokens;
}

}  // namespace

Generated generate(const Model& model, const Generation& wanted, const OnText& write) {
  check_generates(model);
  std::vector<std::int32_t> tokens = prompt_tokens(model, wanted.prompt);
  Generated result;
  if (!write(wanted.prompt)) return {{}, Ending::stop};
  StoppedText text(wanted.stop, write);
  Random random = Random(wanted.seed).stream("continue");
  const std::int64_t context = model.transformer().config.max_length;
  Cache cache;
  std::int64_t unread = std::min(std::ssize(tokens), context);
  for (int i = 0; i < wanted.tokens; ++i) {
    if (length(cache) + unread > context) {
      cache.clear();  // restarts with the later half of the context
      unread = std::max<std::int64_t>(1, context / 2);
    }
    const Tensor logits =
        model.append(Ids({1, unread}, {tokens.end() - unread, tokens.end()}), cache);  // (1, vocabulary)
    tokens.push_back(sample(reshape(logits, {logits.size(1)}), wanted.sampling, random));
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
