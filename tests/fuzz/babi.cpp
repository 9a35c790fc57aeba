// A bAbI file is rejected, or its queries and antecedents lie within its stories.
#include "tests/fuzz/fuzz.h"

#include <heed/formats/datasets/babi.h>

using namespace heed;

void heed::fuzz::babi(std::string_view input) {
  static const fuzz::MemoryFile file;
  const std::filesystem::path path = file.path(input);
  fuzz::accepts([&] {
    for (const std::vector<Example>& story : read_babi(path)) {
      for (const Example& example : story) {
        const int tokens = static_cast<int>(example.tokens.size());
        fuzz::demand(0 <= example.query && example.query < tokens, "the query is one of the tokens");
        fuzz::demand(example.antecedent < tokens, "the antecedent is one of the tokens");
        fuzz::demand(example.sentences.size() == example.tokens.size(), "each token has its sentence");
      }
    }
  });
}
