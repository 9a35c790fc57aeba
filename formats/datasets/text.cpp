#include <heed/autograd/error.h>
#include <heed/files/file.h>
#include <heed/files/utf8.h>
#include <heed/formats/datasets/text.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <utility>

namespace heed {
namespace {

constexpr int excerpt_length = 32, max_excerpts = 200;

// Reads the bytes of each file. They stay in memory until they are tokens: with a memory map, truncating the file would
// crash the program.
std::vector<std::string> read_texts(const std::string& paths, Split split) {
  std::vector<std::string> texts;
  for (const std::string& path : divided_paths(paths)) {
    texts.push_back(read_file(path));
    if (split != Split::bytes) checked_text(texts.back(), path);
  }
  return texts;
}

// Throws Error for a file that is both trained and tested on.
void check_apart(const std::string& train, const std::string& test) {
  for (const std::string& tested : divided_paths(test)) {
    for (const std::string& trained : divided_paths(train)) {
      std::error_code missing;
      if (!std::filesystem::equivalent(tested, trained, missing)) continue;
      fail("data.test: {} is a file of data.train; expected another text, or none: the last tenth is then held out",
           tested);
    }
  }
}

// Returns the files of `test` whose whole text is a part of a training text.
std::vector<std::string> known_texts(const std::string& test, const std::vector<std::string>& tests,
                                     const std::vector<std::string>& texts) {
  const std::vector<std::string> paths = divided_paths(test);
  std::vector<std::string> known;
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const auto has_it = [&](const std::string& text) {  // memmem takes linear time, string::find does not
      return !tests[i].empty() && memmem(text.data(), text.size(), tests[i].data(), tests[i].size()) != nullptr;
    };
    if (std::ranges::any_of(texts, has_it)) known.push_back(paths[i]);
  }
  return known;
}

// Assigns numbers to tokens in order of appearance.
class Numbering {
 public:
  Numbering(Vocabulary& vocabulary, const Tokenizer& tokenizer) : vocabulary_(vocabulary), tokenizer_(tokenizer) {
    known_.fill(-1);
  }

  void add(std::string_view text, TokenNumbers& numbers) {
    if (const auto& pretrained = tokenizer_.pretrained()) return add(text, *pretrained, numbers);
    tokenizer_.each(text, [&](std::string_view token) { numbers.add(number(token)); });
  }

 private:
  // Reads pieces of whole lines, since encode() takes memory for every character.
  static void add(std::string_view text, const PretrainedTokenizer& tokenizer, TokenNumbers& numbers) {
    constexpr std::size_t piece = 1 << 20;
    while (!text.empty()) {
      const std::size_t line_end = text.size() <= piece ? text.npos : text.find('\n', piece);
      const std::string_view lines = text.substr(0, line_end == text.npos ? line_end : line_end + 1);
      for (const EncodedToken& token : tokenizer.encode(lines, false)) numbers.add(token.id);
      text.remove_prefix(lines.size());
    }
  }

  std::int32_t number(std::string_view token) {
    if (token.size() > 1) return vocabulary_.add(std::string(token));
    std::int32_t& known = known_[static_cast<unsigned char>(token[0])];  // finds most tokens without a search
    if (known < 0) known = vocabulary_.add(std::string(token));
    return known;
  }

  Vocabulary& vocabulary_;
  const Tokenizer& tokenizer_;
  std::array<std::int32_t, 256> known_;
};

std::vector<std::string> words_at(const Corpus& corpus, const Vocabulary& vocabulary, std::int64_t begin, int count) {
  std::vector<std::string> words;
  for (int i = 0; i < count; ++i) words.push_back(vocabulary.word(corpus.held_out[begin + i]));
  return words;
}

// Distributed evenly over the held-out text.
std::vector<Example> pieces_of(const Corpus& corpus, const Vocabulary& vocabulary) {
  const auto T =
      static_cast<int>(std::min<std::int64_t>({corpus.text_context(), excerpt_length, corpus.held_out.size() - 1}));
  const std::int64_t room = corpus.held_out.size() - T;
  const std::int64_t count = std::min<std::int64_t>(max_excerpts, room);
  std::vector<Example> pieces;
  for (std::int64_t i = 0; i < count; ++i) {
    Example piece;
    for (const std::int32_t special : corpus.before) piece.tokens.push_back(vocabulary.word(special));
    for (std::string& word : words_at(corpus, vocabulary, i * room / count, T + 1)) {
      piece.tokens.push_back(std::move(word));
    }
    piece.answer = piece.tokens.back();
    piece.tokens.pop_back();
    piece.query = static_cast<int>(piece.tokens.size()) - 1;
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

void check_length(const std::string& paths, const char* what, const TokenNumbers& text, std::int64_t least) {
  if (text.size() >= least) return;
  fail("{}: {} has {}; expected at least {}, for data.context and the token after it", paths, what,
       counted(text.size(), "token"), least);
}

}  // namespace

TokenizedTask text_task(const std::string& train, const std::string& test, Split split, int context, int subwords,
                        const std::optional<Tokenizer>& known) {
  TokenizedTask task;
  task.name = "text";
  task.max_length = context;
  const std::vector<std::string> texts = read_texts(train, split);
  const std::vector<std::string> tests = test.empty() ? std::vector<std::string>{} : read_texts(test, split);
  if (!test.empty()) {
    check_apart(train, test);
    task.known_texts = known_texts(test, tests, texts);
  }
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  // The training part, and the last tenth of all files in order.
  const std::size_t learned = test.empty() ? bytes / 10 * 9 + bytes % 10 * 9 / 10 : bytes;
  std::vector<std::string_view> learned_from, held_out(tests.begin(), tests.end());
  std::size_t before = 0;
  for (const std::string_view text : texts) {
    std::size_t end = std::min(text.size(), learned - std::min(learned, before));
    before += text.size();
    while (end < text.size() && split != Split::bytes && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
    learned_from.push_back(text.substr(0, end));
    held_out.push_back(text.substr(end));
  }

  task.tokenizer = split != Split::subwords ? Tokenizer::of_text(split)
                   : known                  ? *known
                                            : Tokenizer::of_text(Subwords::learn(learned_from, subwords));
  task.vocabulary = Vocabulary(task.tokenizer.known_tokens());
  for (int byte = 0; split == Split::bytes && byte < 256; ++byte) {
    task.vocabulary.add(task.tokenizer(std::string(1, static_cast<char>(byte))).at(0));
  }
  Corpus& corpus = task.corpus.emplace();
  corpus.train = TokenNumbers(learned);
  corpus.context = context;
  if (const auto& pretrained = task.tokenizer.pretrained()) {
    corpus.before = pretrained->before();
    corpus.behind = pretrained->behind();
    if (corpus.text_context() < 1) {
      const std::int64_t special = context - corpus.text_context();
      fail("data.context: every window has {}; expected at least {}, got {}", counted(special, "special token"),
           special + 1, context);
    }
  }
  Numbering numbering(task.vocabulary, task.tokenizer);
  for (const std::string_view text : learned_from) numbering.add(text, corpus.train);
  for (const std::string_view text : held_out) {
    numbering.add(text, corpus.held_out);
    corpus.held_out_bytes += std::ssize(text);
  }
  check_length(train, "the training text", corpus.train, corpus.text_context() + 1);
  check_length(test.empty() ? train : test, "the held-out text", corpus.held_out, 2);
  task.held_out = pieces_of(corpus, task.vocabulary);
  return task;
}

TokenizedTask masked_text_task(const std::string& train, const std::string& test, Split split, int context,
                               int subwords, const std::optional<Tokenizer>& known) {
  TokenizedTask task = text_task(train, test, split, context, subwords, known);
  task.name = "masked_text";
  Corpus& corpus = *task.corpus;
  if (const auto& pretrained = task.tokenizer.pretrained()) {
    if (!pretrained->special().mask) {
      fail("task masked_text: expected a token [MASK] or <mask> in the pretrained tokenizer, found neither");
    }
    corpus.mask = *pretrained->special().mask;
    corpus.replacements = pretrained->size();
  } else {
    if (task.vocabulary.contains(mask_token)) fail("{}: the text itself contains the token {}", train, mask_token);
    corpus.mask = corpus.replacements = task.vocabulary.add(mask_token);
  }
  for (Example& piece : task.held_out) {
    const auto first = std::ssize(corpus.before);
    piece.query = static_cast<int>(first + (std::ssize(piece.tokens) - first) / 2);
    std::string& hidden = piece.tokens[static_cast<std::size_t>(piece.query)];
    piece.answer = std::exchange(hidden, task.vocabulary.word(corpus.mask));
    for (const std::int32_t special : corpus.behind) piece.tokens.push_back(task.vocabulary.word(special));
  }
  return task;
}

}  // namespace heed
