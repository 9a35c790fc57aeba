#include <heed/autograd/ops.h>
#include <heed/files/utf8.h>
#include <heed/models/generate.h>
#include <heed/models/lookup.h>
#include <heed/models/reading.h>
#include <heed/tokenizers/unknown_hint.h>

#include <algorithm>
#include <cmath>
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

constexpr std::int64_t most_guessed = 15;  // 16 tokens together take about as long as 2.5 one by one

// Appends the last `unread` tokens and the guess to the cache. Returns the logits of the token after the last one and after each
// of the guess: (1 + guess, vocabulary).
Tensor next_logits(const Model& model, const std::vector<std::int32_t>& tokens, std::int64_t unread,
                   const std::vector<std::int32_t>& guess, Cache& cache) {
  std::vector<std::int32_t> appended(tokens.end() - unread, tokens.end());
  appended.insert(appended.end(), guess.begin(), guess.end());
  const std::int64_t T = std::ssize(appended);
  const Tensor states = model.transformer().append(Ids({1, T}, std::move(appended)), cache);  // (1, T, d)
  return model.head().token_logits(slice(states, 1, unread - 1, T)[0]);
}

// Returns whether the two greatest logits are so close that another order of the same sums could exchange them.
bool is_close(const Tensor& logits) {
  if (logits.numel() < 2) return false;
  const Tensor two = topk(logits, 2).values;
  const double first = two.at({0}), second = two.at({1});
  return first - second < 1e-3 * std::max(1.0, std::abs(first));
}

}  // namespace

Generated generate(const Model& model, const Generation& wanted, const OnText& write) {
  check_generates(model);
  if (wanted.tokens < 0) fail("generate: tokens must be at least 0, got {}", wanted.tokens);
  check(wanted.sampling, "generate");
  std::vector<std::int32_t> tokens = prompt_tokens(model, wanted.prompt);
  Generated result;
  if (!write(wanted.prompt)) return {{}, Ending::stop};
  StoppedText text(wanted.stop, write);
  Random random = Random(wanted.seed).stream("continue");
  const std::int64_t context = model.transformer().config.max_length;
  Cache cache;
  std::int64_t unread = std::min(std::ssize(tokens), context);
  Lookup lookup;
  bool alone = false;  // compute the next token without a guess
  while (std::ssize(result.tokens) < wanted.tokens) {
    if (length(cache) + unread > context) {
      cache.clear();  // restarts with the later half of the context
      unread = std::max<std::int64_t>(1, context / 2);
    }
    std::vector<std::int32_t> guess;
    if (wanted.speculate && !alone) {
      const std::int64_t left = wanted.tokens - std::ssize(result.tokens);
      guess = lookup.guess(tokens, std::min({most_guessed, left - 1, context - length(cache) - unread}));
    }
    const Tensor logits = next_logits(model, tokens, unread, guess, cache);
    ++result.passes;
    alone = false;
    std::size_t right = 0;
    for (bool goes_on = true; goes_on; right += goes_on) {
      const Tensor row = logits[static_cast<std::int64_t>(right)];
      alone = !guess.empty() && wanted.sampling.temperature == 0 && is_close(row);
      if (alone) break;
      tokens.push_back(sample(row, wanted.sampling, random));
      goes_on = right < guess.size() && guess[right] == tokens.back();
      result.tokens.push_back(model.vocabulary.word(tokens.back()));
      if (std::ranges::count(model.end_tokens, tokens.back()) > 0) {
        result.ended_by = Ending::end_token;
        text.finish();
        return result;
      }
      if (!text.add(model.tokenizer.written(result.tokens.back()))) {
        result.ended_by = Ending::stop;
        return result;
      }
    }
    // keeps what precedes the last token
    truncate(cache, length(cache) - std::ssize(guess) + static_cast<std::int64_t>(right) - (alone ? 1 : 0));
    unread = 1;
    lookup.learn(guess.size(), right);
  }
  text.finish();
  return result;
}

}  // namespace heed
