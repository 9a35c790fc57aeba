#include "tests/explain/studies/helpers.h"
#include "tests/message.h"

#include <heed/explain/studies/sentence_causes.h>
#include <heed/formats/hugging_face.h>
#include <heed/formats/safetensors.h>

using namespace heed;

namespace {

// The tokens of a golden model without a tokenizer are its ids in angle brackets.
Example golden_text(const Tensor& ids, const Tensor& query) {
  Example example;
  for (const double id : ids.to_vector()) example.tokens.push_back("<" + std::to_string(static_cast<int>(id)) + ">");
  example.query = static_cast<int>(query.item());
  return example;
}

// The number of figures and the largest difference from those of transformers, where NaN equals NaN.
struct Compared {
  double largest = 0;
  int figures = 0;
  void operator()(double given, double expected) {
    ++figures;
    if (std::isnan(given) && std::isnan(expected)) return;
    largest = std::isnan(given) || std::isnan(expected) ? 1e9 : std::max(largest, std::abs(given - expected));
  }
};

double golden_difference(const Model& model, const SafeTensors& golden, bool has_counterpart) {
  const Example text = golden_text(golden["ids"], golden["query"]);
  std::optional<Example> counterpart;
  if (has_counterpart) counterpart = golden_text(golden["counterpart"], golden["query"]);
  const SentenceCauses found = sentence_causes(model, text, counterpart);
  const auto token = [](double id) { return "<" + std::to_string(static_cast<int>(id)) + ">"; };
  CHECK(found.answer == token(golden["answer"].item()));
  CHECK(found.rival == (has_counterpart ? token(golden["rival"].item()) : ""));
  CHECK(std::ssize(found.heads) == model.layers() * model.heads());
  const std::string kind = has_counterpart ? "difference_" : "probability_";
  Compared compared;
  compared(found.probability, golden["probability"].item());
  if (has_counterpart) {
    compared(found.difference, golden["difference"].item());
    compared(found.pair_difference, golden["pair_difference"].item());
  }
  for (const SentenceCauses::Head& head : found.heads) {
    const auto at = [&](const std::string& name) { return golden[name].at({head.layer, head.head}); };
    compared(head.zero, at(kind + "zero"));
    compared(head.mean, at(kind + "mean"));
    compared(head.restored, has_counterpart ? at("restored") : std::nan(""));
    CHECK(head.answer_without == token(at("answer_without")));
    for (std::size_t key = 0; key < head.cuts.size(); ++key) {
      compared(head.cuts[key], golden[kind + "cuts"].at({head.layer, head.head, static_cast<std::int64_t>(key)}));
    }
    compared(head.zero_weight, golden[kind + "zero_weights"].at({head.layer, head.head, head.largest_cut()}));
  }
  CHECK(compared.figures > 8 * 11);
  return compared.largest;
}

}  // namespace

TEST_CASE("sentence_causes gives the effects that transformers computes with hooks") {
  for (const char* name : {"bert", "gpt2", "llama", "gemma2"}) {
    const std::string directory = std::string("tests/golden/hugging_face/") + name;
    const SafeTensors golden = read_safetensors(std::string("tests/golden/causes/") + name + ".safetensors");
    for (const bool has_counterpart : {false, true}) {
      CAPTURE(name, has_counterpart);
      CHECK(golden_difference(in_float64(load_model(directory)), golden, has_counterpart) < 1e-9);
      CHECK(golden_difference(load_model(directory), golden, has_counterpart) < 1e-4);
    }
  }
}

TEST_CASE("sentence_causes of one head equals its result among all heads, and progress is reported") {
  const Model model = load_model("tests/golden/hugging_face/llama");
  Example text;
  text.tokens = {"<5>", "<17>", "<3>", "<42>"};
  text.query = 3;
  double last = 0;
  const SentenceCauses all =
      sentence_causes(model, text, {}, [&](const std::string&, double share, double) { last = share; });
  CHECK((last > 0.9 && last < 1));
  const SentenceCauses one = sentence_causes(model, text, {}, {}, {1, 2});
  REQUIRE((all.heads.size() == 8 && one.heads.size() == 1));
  CHECK((one.heads[0].layer == 1 && one.heads[0].head == 2));
  CHECK(one.heads[0].zero == all.heads[6].zero);
  CHECK(one.heads[0].largest_cut() == all.heads[6].largest_cut());
  CHECK(std::isnan(one.heads[0].restored));
}

TEST_CASE("sentence_causes accepts a model that chooses among candidates") {
  const Model model = small_model(chooser_of(small_config()));
  Example text = sentences()[0];
  text.candidates = {{0, 1}, {1, 2}};
  text.sentences = std::vector<int>(text.tokens.size());
  const SentenceCauses found = sentence_causes(model, text);
  CHECK((found.answer == "dog" || found.answer == "street"));
  CHECK(found.heads.size() == 4);
}

TEST_CASE("sentence_causes rejects a model without a head and counterparts that do not match") {
  const Model bare = load_model("tests/golden/hugging_face/bert_bare");
  const Model model = load_model("tests/golden/hugging_face/bert");
  Example text;
  text.tokens = {"<5>", "<17>", "<3>", "<42>"};
  text.query = 1;
  CHECK(message([&] { sentence_causes(bare, text); }) ==
        "the model has no head: it shows states and attention, but gives no answers");
  CHECK(message([&] {
          sentence_causes(model, text, text);
        }).starts_with("the pair: expected a text with another answer, but the most probable answer to both is '<"));
  Example other = text;
  other.query = 2;
  CHECK(message([&] { sentence_causes(model, text, other); }) ==
        "the pair: expected the question at token 2 as in the sentence, got token 3");
  other.tokens.emplace_back("<8>");
  CHECK(message([&] { sentence_causes(model, text, other); }) ==
        "the pair: expected 4 tokens as in the sentence, so that heads can be patched token by token, got 5: <5> <17> "
        "<3> <42> <8>");
}
