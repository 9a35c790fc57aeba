#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"
#include "tests/tokenizers/small_tokenizer.h"

#include <heed/files/file.h>
#include <heed/formats/datasets/text.h>

#include <chrono>
#include <thread>

using namespace heed;

namespace {

struct Texts : Scratch {
  TokenizedTask task(const std::string& train, Split split, int context, const std::string& test = "") const {
    std::string paths = (path / train).string();
    for (std::size_t comma = paths.find(','); comma != std::string::npos; comma = paths.find(',', comma + 1)) {
      paths.insert(comma + 1, path.string() + "/");
    }
    return text_task(paths, test.empty() ? test : (path / test).string(), split, context, 300);
  }
};

std::string text_of(const TokenizedTask& task, const TokenNumbers& numbers) {
  std::string text;
  for (std::int64_t i = 0; i < numbers.size(); ++i) text += task.tokenizer.written(task.vocabulary.word(numbers[i]));
  return text;
}

}  // namespace

TEST_CASE("text_task holds out the last tenth of a text") {
  const Texts texts;
  const std::string text = "To be, or not to be:\nthat is the question.\n苹果很甜\n";  // 56 bytes
  write_file(texts / "a", text);
  for (const Split split : {Split::characters, Split::words, Split::bytes}) {
    const TokenizedTask task = texts.task("a", split, 4);
    REQUIRE(task.corpus);
    CHECK(text_of(task, task.corpus->train) + text_of(task, task.corpus->held_out) == text);
    CHECK(text_of(task, task.corpus->held_out) == (split == Split::bytes ? text.substr(50) : text.substr(52)));
    CHECK(task.corpus->held_out_bytes == (split == Split::bytes ? 6 : 4));
    CHECK((task.corpus->context == 4 && task.max_length == 4 && task.train.empty()));
  }
  CHECK(texts.task("a", Split::bytes, 4).vocabulary.size() == 256);
  CHECK(texts.task("a", Split::characters, 4).vocabulary.word(1) == "o");
}

TEST_CASE("text_task refuses a file of both texts, and names held-out texts that are parts of the training text") {
  const Texts texts;
  write_file(texts / "a", "abcdefghijklmnopqrst");
  write_file(texts / "b", "cdefg");
  write_file(texts / "c", "cdefgx");
  CHECK(message([&] { texts.task("b,a", Split::characters, 3, "a"); }) ==
        "data.test: " + (texts / "a").string() +
            " is a file of data.train; expected another text, or none: the last tenth is then held out");
  CHECK(texts.task("c,a", Split::characters, 3, "b").known_texts == std::vector{(texts / "b").string()});
  CHECK(texts.task("a", Split::characters, 3, "c").known_texts.empty());
  CHECK(texts.task("a", Split::characters, 3).known_texts.empty());
}

TEST_CASE("text_task joins several files into one text, and accepts a separate held-out text") {
  const Texts texts;
  write_file(texts / "a", "abcdefghij");
  write_file(texts / "b", "klmnopqrst");
  const TokenizedTask both = texts.task("a,b", Split::characters, 3);
  CHECK(text_of(both, both.corpus->train) == "abcdefghijklmnopqr");
  CHECK(text_of(both, both.corpus->held_out) == "st");
  const TokenizedTask other = texts.task("a", Split::characters, 3, "b");
  CHECK(text_of(other, other.corpus->train) == "abcdefghij");
  CHECK(text_of(other, other.corpus->held_out) == "klmnopqrst");
}

TEST_CASE("The excerpts of text_task are held-out tokens with the next token as the answer") {
  const Texts texts;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>('a' + i % 26);
  write_file(texts / "a", text);
  const TokenizedTask task = texts.task("a", Split::characters, 8);
  REQUIRE(task.held_out.size() == 92);  // the number of excerpts of 8 in 100 characters that have a next one
  for (const Example& piece : task.held_out) {
    REQUIRE(piece.tokens.size() == 8);
    CHECK(piece.query == 7);
    CHECK(piece.answer[0] == 'a' + (piece.tokens[7][0] - 'a' + 1) % 26);
  }
}

TEST_CASE("text_task rejects a text that is too short or invalid") {
  const Texts texts;
  write_file(texts / "short", "abcdefghij");
  write_file(texts / "broken", "abcdefghij\xff");
  const auto refusal = [&](const std::string& name, Split split, int context) {
    return message([&] { texts.task(name, split, context); }, texts.path.string());
  };
  CHECK(refusal("short", Split::characters, 9) ==
        "FILE/short: the training text has 9 tokens; expected at least 10, for data.context and the token after it");
  CHECK(refusal("short", Split::characters, 3) ==
        "FILE/short: the held-out text has 1 token; expected at least 2, for data.context and the token after it");
  CHECK(refusal("broken", Split::words, 3) == "FILE/broken: not UTF-8 at byte 10: 0xff");
  CHECK(refusal("broken", Split::bytes, 3) == "no error");
  CHECK(refusal("none", Split::bytes, 3) == "cannot read FILE/none: No such file or directory");
}

TEST_CASE("text_task learns subwords from the training part, and they reproduce the text") {
  const Texts texts;
  std::string text;
  for (int i = 0; i < 300; ++i) text += "the cat sat on the mat\u2581 \u00ff\n";
  write_file(texts / "a", text);
  const TokenizedTask task = texts.task("a", Split::subwords, 8);
  CHECK(text_of(task, task.corpus->train) + text_of(task, task.corpus->held_out) == text);
  CHECK(task.vocabulary.contains(" the"));
  CHECK(task.corpus->train.size() < 300 * 16);  // a line has 30 bytes
}

TEST_CASE("text_task rejects UTF-16 for every split except bytes") {
  const Texts texts;
  std::string text;
  for (int i = 0; i < 300; ++i) text += "the cat sat on the mat\n";
  std::string wide;
  for (const char c : text) wide += {c, '\0'};
  write_file(texts / "wide", wide);
  write_file(texts / "marked", "\xff\xfe" + wide);
  for (const Split split : {Split::subwords, Split::words, Split::characters}) {
    const auto refusal = [&](const std::string& name) {
      return message([&] { texts.task(name, split, 8); }, texts.path.string());
    };
    CAPTURE(name_of(split));
    CHECK(refusal("marked") ==
          "FILE/marked: not UTF-8 at byte 0: 0xff. It looks like UTF-16: convert it with iconv -f UTF-16 -t UTF-8");
    CHECK(refusal("wide") ==
          "FILE/wide: expected text, got a NUL at byte 1. It looks like UTF-16LE: convert it with iconv -f UTF-16LE -t "
          "UTF-8");
  }
  CHECK(texts.task("wide", Split::bytes, 8).corpus->train.size() == std::ssize(wide) / 10 * 9);
}

TEST_CASE("text_task reports a text truncated during the read, or reads it completely") {
  const Texts texts;
  std::string text;
  while (text.size() < 20'000'000) text += "the cat sat on the mat\n";
  for (const int milliseconds : {2, 20, 60, 150}) {
    write_file(texts / "a", text);
    std::thread cutter([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      std::filesystem::resize_file(texts / "a", 0);
    });
    std::int64_t learned = 0;
    const std::string said =
        message([&] { learned = texts.task("a", Split::characters, 8).corpus->train.size(); }, texts.path.string());
    cutter.join();
    CAPTURE(milliseconds, said);
    const bool is_refused = said.starts_with("cannot read FILE/a: it was truncated from ") ||
                            said.starts_with("FILE/a: the training text has 0 ");
    CHECK((is_refused || learned == std::ssize(text) / 10 * 9 + std::ssize(text) % 10 * 9 / 10));
  }
}

namespace {

// Returns each window as its tokens, with the tokens to predict below it; "_" where none is.
std::vector<std::string> shown_windows(const Batch& windows, const Vocabulary& vocabulary) {
  std::vector<std::string> lines;
  const std::int64_t T = windows.tokens.shape()[1];
  for (const Ids* ids : {&windows.tokens, &windows.targets}) {
    for (std::int64_t i = 0; i < ids->numel(); ++i) {
      std::string& line = i % T == 0 ? lines.emplace_back() : lines.back();
      line += (i % T == 0 ? "" : " ") + ((*ids)[i] < 0 ? "_" : vocabulary.word((*ids)[i]));
    }
  }
  return lines;
}

}  // namespace

TEST_CASE("Special tokens of a pretrained tokenizer are in every window and are never predicted") {
  const Texts texts;
  write_file(texts / "a", "the cat saw the dog because it was big .");
  write_file(texts / "b", "a cat saw birds .");
  const Tokenizer tokenizer = Tokenizer::of_text(PretrainedTokenizer(tokenizer_json(true)));
  const auto task_of = [&](auto make, int context) {
    return make((texts / "a").string(), (texts / "b").string(), Split::subwords, context, 0, tokenizer);
  };
  const TokenizedTask task = task_of(text_task, 6);
  CHECK(task.corpus->train.size() == 10);
  CHECK(shown_windows(held_out_windows(*task.corpus, 0, 2), task.vocabulary) ==
        std::vector<std::string>{"[CLS] a cat saw bi [SEP]", "[CLS] ##rd ##s . [SEP] [PAD]", "_ cat saw bi ##rd _",
                                 "_ ##s . _ _ _"});
  CHECK(held_out_windows(*task.corpus) == 2);
  CHECK(task.held_out[0].tokens == std::vector<std::string>{"[CLS]", "a", "cat", "saw", "bi"});
  CHECK(task.held_out[0].query == 4);
  CHECK(task.held_out[0].answer == "##rd");

  const TokenizedTask masked = task_of(masked_text_task, 6);
  CHECK(masked.held_out[0].tokens == std::vector<std::string>{"[CLS]", "a", "cat", "[MASK]", "bi", "[SEP]"});
  CHECK(masked.held_out[0].answer == "saw");
  CHECK(masked.vocabulary.size() == 61);
  CHECK((masked.corpus->mask == 4 && masked.corpus->replacements == 61));
  int hidden = 0, replaced = 0;
  for (int step = 0; step < 200; ++step) {
    const Batch windows = training_windows(*masked.corpus, 4, step, Random(1));
    for (std::int64_t i = 0; i < windows.targets.numel(); ++i) {
      const bool is_special = i % 6 == 0 || i % 6 == 5;
      if (is_special) CHECK((windows.targets[i] < 0 && windows.tokens[i] == (i % 6 == 0 ? 2 : 3)));
      hidden += windows.targets[i] >= 0;
      replaced += windows.targets[i] >= 0 && windows.tokens[i] >= 19;  // words missing from the text
    }
  }
  CHECK((hidden > 400 && hidden < 560));  // 15 % of 3200
  CHECK(replaced > 15);                   // 10 % of these; 42 of the 61 words are missing from the text
}

TEST_CASE("A pretrained tokenizer reads a long text in pieces of whole lines") {
  const Texts texts;
  std::string text;
  while (text.size() < 2'300'000) text += "the birds saw a cat .\n";
  for (const char* name : {"a", "b"}) write_file(texts / name, text);
  const Tokenizer tokenizer = Tokenizer::of_text(PretrainedTokenizer(tokenizer_json(false)));
  const TokenizedTask task =
      text_task((texts / "a").string(), (texts / "b").string(), Split::subwords, 8, 0, tokenizer);
  CHECK(task.corpus->train.size() == static_cast<std::int64_t>(text.size() / 22 * 8));
  CHECK(task.corpus->train[7] == task.vocabulary[std::string(".")]);
}
