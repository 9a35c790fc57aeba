// A saved model is rejected, or shown, and answers or names a value that is not finite.
#include "tests/fuzz/fuzz.h"
#include "views/view.h"

#include <heed/autograd/record.h>
#include <heed/explain/sentence_attention.h>

using namespace heed;

void heed::fuzz::model(std::string_view input) {
  static const fuzz::MemoryFile file;
  const std::filesystem::path path = file.path(input);
  Model model;
  if (!fuzz::accepts([&] { model = load_model(path); })) return;
  fuzz::accepts([&] { checked_utf8(weights_view(model, {}), "weights_view"); });
  Example example;
  for (const std::string& word : model.vocabulary.words()) {
    if (example.tokens.size() < 8) example.tokens.push_back(word);
  }
  example.sentences.assign(example.tokens.size(), 0);
  if (example.tokens.empty()) return;
  fuzz::accepts([&] {
    const SentenceAttention seen = attend(model, example);
    fuzz::demand(seen.probability >= 0 && seen.probability <= 1.001, "a probability lies in [0, 1]");
    query_view({model.step, {seen}}, {});
    steps_view(model, example, {});
  });
}
