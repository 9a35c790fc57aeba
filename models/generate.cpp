#include <heed/autograd/ops.h>
#include <heed/files/utf8.h>
#include <heed/models/generate.h>
#include <heed/models/lookup.h>
#include <heed/models/reading.h>
#include <heed/tokenizers/unknown_hint.h>

#include <algorithm>
#include <cmath>
#include <memory>
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
  if (model.head().fills_masks() || model.head().classifies()) {
    fail("the model {}; only one that predicts the next token, such as GPT-2, continues a text",
         model.head().purpose());
  }
  if (!generates || !model.tokenizer.is_of_text()) {
    fail("the model {}; only one that was trained with data.task: text continues a text",
         generates ? "predicts the next of a fixed set of words" : model.head().purpose());
  }
}

constexpr std::int64_t max_guessed = 15;  // 16 tokens together take about as long as 2.5 one by one

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

void check(const Generation& wanted) {
  if (wanted.tokens < 0) fail("generate: tokens must be at least 0, got {}", wanted.tokens);
  check(wanted.sampling, "generate");
}

// A text that grows token by token.
struct Growing {
  Growing(const Model& of, const Generation& given, const OnText& write)
      : model(of),
        wanted(given),
        tokens(given.prompt_ids.empty() ? prompt_tokens(of, given.prompt) : given.prompt_ids),
        text(given.stop, write),
        random(Random(given.seed).stream("continue")) {}

  bool is_finished() const { return has_ended || std::ssize(result.tokens) >= wanted.tokens; }
  // Draws the next token from logits (vocabulary), and writes it unless it ends the text.
  void draw(const Tensor& logits) {
    tokens.push_back(sample(logits, wanted.sampling, random));
    result.tokens.push_back(model.vocabulary.word(tokens.back()));
    if (std::ranges::count(model.end_tokens, tokens.back()) > 0) {
      has_ended = true, result.ended_by = Ending::end_token;
    } else if (!text.add(model.tokenizer.written(result.tokens.back()))) {
      has_ended = true, result.ended_by = Ending::stop;
    }
  }
  // Writes what was held back.
  void finish() {
    if (result.ended_by != Ending::stop) text.finish();
  }

  const Model& model;
  const Generation& wanted;
  std::vector<std::int32_t> tokens;
  StoppedText text;
  Random random;
  Generated result{};
  bool has_ended = false;
};

}  // namespace

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

Generated generate(const Model& model, const Generation& wanted, const OnText& write) {
  check_generates(model);
  check(wanted);
  Growing growing(model, wanted, write);
  if (!write(wanted.prompt)) return {{}, Ending::stop};
  const std::int64_t context = model.transformer().config.max_length;
  Cache cache;
  std::int64_t unread = std::min(std::ssize(growing.tokens), context);
  Lookup lookup;
  bool alone = false;  // compute the next token without a guess
  while (!growing.is_finished()) {
    if (length(cache) + unread > context) {
      cache.clear();  // restarts with the later half of the context
      unread = std::max<std::int64_t>(1, context / 2);
    }
    growing.result.forgotten = std::ssize(growing.tokens) - length(cache) - unread;
    std::vector<std::int32_t> guess;
    if (wanted.speculate && !alone) {
      const std::int64_t left = wanted.tokens - std::ssize(growing.result.tokens);
      guess = lookup.guess(growing.tokens, std::min({max_guessed, left - 1, context - length(cache) - unread}));
    }
    const Tensor logits = next_logits(model, growing.tokens, unread, guess, cache);
    ++growing.result.passes;
    alone = false;
    std::size_t right = 0;
    for (bool goes_on = true; goes_on && !growing.has_ended; right += goes_on) {
      const Tensor row = logits[static_cast<std::int64_t>(right)];
      alone = !guess.empty() && wanted.sampling.temperature == 0 && is_close(row);
      if (alone) break;
      growing.draw(row);
      goes_on = right < guess.size() && guess[right] == growing.tokens.back();
    }
    // keeps what precedes the last token
    truncate(cache, length(cache) - std::ssize(guess) + static_cast<std::int64_t>(right) - (alone ? 1 : 0));
    unread = 1;
    lookup.learn(guess.size(), right);
  }
  growing.finish();
  return growing.result;
}

namespace {

// A text of several.
struct Row {
  Row(const Model& model, std::size_t at, const Generation& wanted, const OnTexts& write)
      : index(at),
        pass([at, &write](std::string_view piece) { return write(at, piece); }),
        growing(model, wanted, pass),
        read(std::min<std::int64_t>(std::ssize(growing.tokens), model.transformer().config.max_length)) {}
  std::size_t index;
  OnText pass;
  Growing growing;
  std::int64_t read;  // how many of its last tokens the model reads
};
using Rows = std::vector<std::unique_ptr<Row>>;

// Returns the last `count` tokens of each text; shorter ones have padding in front.
Ids last_tokens(const Rows& rows, std::int64_t count) {
  std::vector<std::int32_t> tokens;
  for (const auto& row : rows) {
    const std::vector<std::int32_t>& own = row->growing.tokens;
    const std::int64_t known = std::min(count, row->read);
    tokens.insert(tokens.end(), static_cast<std::size_t>(count - known), own.back());
    tokens.insert(tokens.end(), own.end() - known, own.end());
  }
  return Ids({std::ssize(rows), count}, std::move(tokens));
}

// Moves the results of finished texts out of the rows.
void take_finished(Rows& rows, Cache& cache, std::vector<Generated>& results) {
  std::vector<std::int32_t> others;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i]->growing.is_finished()) {
      others.push_back(static_cast<std::int32_t>(i));
      continue;
    }
    rows[i]->growing.finish();
    results[rows[i]->index] = std::move(rows[i]->growing.result);
    rows[i].reset();
  }
  if (others.size() == rows.size()) return;
  std::erase(rows, nullptr);
  const std::int64_t count = std::ssize(others);
  select(cache, Ids({count}, std::move(others)));
}

constexpr std::size_t max_at_once = 32;  // more need memory, and gain little

// Divides texts into groups of similar length, which need little padding.
std::vector<Rows> groups_of(Rows rows) {
  std::ranges::stable_sort(rows, {}, [](const auto& row) { return row->read; });
  std::vector<Rows> groups;
  for (auto& row : rows) {
    const bool joins =
        !groups.empty() && groups.back().size() < max_at_once && row->read <= 2 * groups.back().front()->read + 16;
    if (!joins) groups.emplace_back();
    groups.back().push_back(std::move(row));
  }
  return groups;
}

// Continues these texts together.
void continue_all(const Model& model, Rows rows, std::vector<Generated>& results) {
  const std::int64_t context = model.transformer().config.max_length;
  Cache cache;
  for (take_finished(rows, cache, results); !rows.empty(); take_finished(rows, cache, results)) {
    std::int64_t count = 1;
    if (cache.empty() || length(cache) == context) {
      cache.clear();
      for (const auto& row : rows) {
        if (row->read > context) row->read = std::max<std::int64_t>(1, context / 2);  // as generate() of one text does
        count = std::max(count, row->read);
      }
    }
    std::vector<int> padding;
    for (const auto& row : rows) padding.push_back(static_cast<int>(length(cache) + count - row->read));
    const Tensor logits = model.append(last_tokens(rows, count), cache, padding);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Growing& growing = rows[i]->growing;
      growing.result.forgotten = std::ssize(growing.tokens) - rows[i]->read;
      growing.draw(logits[static_cast<std::int64_t>(i)]);
      ++growing.result.passes, ++rows[i]->read;
    }
  }
}

}  // namespace

std::vector<Generated> generate(const Model& model, const std::vector<Generation>& wanted, const OnTexts& write) {
  if (wanted.size() == 1) {
    return {generate(model, wanted[0], [&](std::string_view piece) { return write(0, piece); })};
  }
  check_generates(model);
  Rows rows;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].speculate) fail("generate: speculate is for one text, got {}", wanted.size());
    check(wanted[i]);
    try {
      rows.push_back(std::make_unique<Row>(model, i, wanted[i], write));
    } catch (const Error& error) {
      fail("text {}: {}", i, error.what());
    }
  }
  std::vector<Generated> results(wanted.size());
  for (Rows& group : groups_of(std::move(rows))) {
    for (const auto& row : group) {
      if (write(row->index, wanted[row->index].prompt)) continue;
      row->growing.has_ended = true, row->growing.result.ended_by = Ending::stop;
    }
    continue_all(model, std::move(group), results);
  }
  return results;
}

}  // namespace heed
