#include "inspect/page/page_facts.h"

#include "tests/catch.h"

#include <heed/files/file.h>

using namespace heed;

TEST_CASE("A character of several tokens is shown at the first of them") {
  const Tokenizer tokenizer = Tokenizer::of_text(PretrainedTokenizer(read_file("tests/golden/tokenizers/gpt2.json")));
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
