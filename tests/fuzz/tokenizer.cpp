// A tokenizer.json is rejected, or it splits texts into tokens that lie within them, and decodes these.
#include "tests/fuzz/fuzz.h"

#include <heed/tokenizers/pretrained_tokenizer.h>

#include <optional>
#include <vector>

using namespace heed;

void heed::fuzz::tokenizer(std::string_view input) {
  std::optional<PretrainedTokenizer> tokenizer;
  const std::string file(input);
  if (!fuzz::accepts([&] { tokenizer.emplace(file); })) return;
  for (const std::string& text :
       {std::string(), std::string("Caf\u00e9s  don't\n\u2581 <s>[MASK] \u1100\u1161\u0301 \U0001f600 12"), file}) {
    fuzz::accepts([&] {
      std::vector<int> ids;
      std::size_t word = 0;
      for (const EncodedToken& token : tokenizer->encode(text)) {
        fuzz::demand(token.begin <= token.end && token.end <= text.size(), "a token lies in the text");
        fuzz::demand(token.id >= 0 && token.id < tokenizer->size(), "a token has an id");
        fuzz::demand(static_cast<std::size_t>(token.word) <= word + 1, "words are numbered in order");
        word = static_cast<std::size_t>(token.word);
        ids.push_back(token.id);
        tokenizer->written(token.id);
      }
      tokenizer->decode(ids);
    });
  }
}
