#include "views/written_tokens.h"

#include "tests/catch.h"

#include <heed/files/file.h>

using namespace heed;

namespace {

Tokenizer golden_tokenizer(const std::string& name) {
  return Tokenizer::of_text(PretrainedTokenizer(read_file("tests/golden/tokenizers/" + name + ".json")));
}

}  // namespace

TEST_CASE("shown_tokens shows a character of several tokens at the first of them") {
  const Tokenizer tokenizer = golden_tokenizer("gpt2");
  const std::vector<std::string> tokens = tokenizer("the \U0001F600\u00f6");
  std::string joined;
  int parts = 0;
  for (const std::string& token : shown_tokens(tokenizer, tokens)) {
    joined += token;
    parts += token.empty();
  }
  CHECK(joined == "the \U0001F600\u00f6");
  CHECK(parts >= 3);
  CHECK(shown_tokens(tokenizer, {tokens.back()}) == std::vector<std::string>{"<0xB6>"});  // its character is incomplete
}

TEST_CASE("shown_tokens keeps the spaces in the names of tokens") {
  const Tokenizer gpt2 = golden_tokenizer("gpt2"), bert = golden_tokenizer("bert_uncased");
  const auto written = [](const Tokenizer& tokenizer, const std::string& text) {
    return shown_tokens(tokenizer, tokenizer(text));
  };
  CHECK(written(gpt2, "he the\n") == std::vector<std::string>{"he", " the", "\n"});
  CHECK(written(bert, "the the") == std::vector<std::string>{"[CLS]", "the", "the", "[SEP]"});
  CHECK(written(Tokenizer::of_text(Split::bytes), "a\u00f6") == std::vector<std::string>{"a", "\u00f6", ""});
  CHECK(shown_token(gpt2, "\u0120the") == "the");
  CHECK(shown_token(bert, "##s") == "##s");
}

TEST_CASE("write_out replaces token names in a sentence and its answers with their text") {
  const auto written = [](const std::string& name, const std::vector<std::string>& tokens, Span candidate) {
    Dump dump{.step = 0, .sentences = std::vector<SentenceAttention>(1)};
    dump.sentences[0].tokens = tokens;
    dump.sentences[0].candidates = {candidate};
    dump.sentences[0].predicted = text_of(Example{.tokens = tokens}, candidate);
    write_out(dump, golden_tokenizer(name));
    return dump.sentences[0].predicted;
  };
  CHECK(written("bert_uncased", {"the", "the", "##s", "##e"}, {1, 4}) == "these");
  CHECK(written("gpt2", {"the", "\u0120the", "s", "e"}, {1, 4}) == "these");

  Dump dump{.step = 0, .sentences = std::vector<SentenceAttention>(1)};
  SentenceAttention& sentence = dump.sentences[0];
  sentence.tokens = {"the", "\u0120the"};
  sentence.predicted = "\u0120the";
  sentence.answer = "\u0120the";
  write_out(dump, golden_tokenizer("gpt2"));
  CHECK(sentence.tokens == std::vector<std::string>{"the", " the"});
  CHECK(sentence.predicted == "the");
  CHECK(sentence.answer == "the");

  sentence.predicted = "\u0120the";  // the answer is another token: it has no space, so the name stays
  write_out(dump, golden_tokenizer("gpt2"));
  CHECK(sentence.predicted == "\u0120the");
}
