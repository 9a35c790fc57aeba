#include "inspect/serve/served_model.h"

#include "tests/catch.h"
#include "tests/message.h"
#include "tests/models/random_models.h"
#include "tests/models/sample.h"
#include "tokenizers/pipeline/charsmap.h"

#include <heed/explain/attribution.h>
#include <heed/explain/intervention.h>
#include <heed/explain/score_parts.h>
#include <heed/explain/sentence_attention.h>
#include <heed/explain/token_circuits.h>
#include <heed/models/reading.h>

#include <algorithm>
#include <cstring>

using namespace heed;

TEST_CASE("ServedModel gives the library's results for a text, whole and with parts removed") {
  const Model model = small_model();
  const ServedModel served(model);
  const std::string sentence = "The animal didn't cross the street because it was too tired";
  const Json text = served.answer("understand", {{"text", sentence}});
  REQUIRE(text.contains("pieces"));
  const Example example = question(model, sentence);
  CHECK(text["query"] == example.query);
  CHECK(text["tokens"].size() == example.tokens.size());

  const SentenceAttention attention = attend(model, example);
  const Json whole = served.answer("read", {{"text", text}, {"removed", Json::array()}});
  CHECK(whole["attention"].size() == static_cast<std::size_t>(model.layers() * model.heads()));
  const auto query = static_cast<std::size_t>(example.query);
  CHECK(whole["answers"][query][0][0] == attention.predicted);
  CHECK(whole["answers"][query][0][1].get<double>() == Approx(attention.probability));
  CHECK(whole["answers"][query][0][2] == whole["answers"][query][0][1]);
  CHECK(whole["answers"][0].empty());
  CHECK(whole["bits"].is_null());

  const Json without = served.answer("read", {{"text", text}, {"removed", {"0.1", "1.0.1"}}});
  const Batch asked = batch_of(model, example);
  const Tensor logits = logits_under({ablate({0, 1}), cut({1, 0}, Edge{example.query, {1, 2}})}, model, asked);
  const Tensor p = softmax(logits);
  const std::vector<double> expected = p.to_vector();
  CHECK(without["answers"][query][0][1].get<double>() == Approx(*std::ranges::max_element(expected)));
  bool has_first = false;
  for (const Json& row : without["answers"][query]) {
    if (row[0] != attention.predicted) continue;
    has_first = true;
    CHECK(row[2].get<double>() == Approx(attention.probability));
  }
  CHECK(has_first);
  CHECK(without["attention"] != whole["attention"]);
}

TEST_CASE("ServedModel gives each head's direct contribution to the logit of the first answer") {
  Model model = small_model(decoder_of(modern_config()));
  const ServedModel served(model);
  const Json text = served.answer("understand", {{"text", "the dog was tired because it was the animal"}});
  const auto contributions = [&](const Json& removed) {
    const Json read = served.answer("read", {{"text", text}, {"removed", removed}});
    const std::string bytes = tokenizers::from_base64(read["direct"].get<std::string>());
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  const std::vector<float> whole = contributions(Json::array());
  const auto heads = static_cast<std::size_t>(model.heads()), all = heads * static_cast<std::size_t>(model.layers());
  REQUIRE(whole.size() == text["tokens"].size() * all);
  // At the last token, a head of the last layer contributes the sum of attribute() over the tokens.
  const Example example = question(model, "the dog was tired because it was the animal");
  std::vector<double> expected(heads);
  for (const Attribution::Term& term : attribute(model, example).terms) {
    expected[static_cast<std::size_t>(term.head)] += term.logit;
  }
  for (std::size_t h = 0; h < heads; ++h) {
    CHECK(whole[whole.size() - heads + h] == Approx(expected[h]).margin(1e-4));
  }
  CHECK(contributions({"1.0"})[whole.size() - heads] == 0);
}

TEST_CASE("ServedModel gives the parts of an attention score as score_parts() does") {
  const Model model = small_model();
  shake_all(model.parameters);
  const ServedModel served(model);
  const Json text =
      served.answer("understand", {{"text", "The animal didn't cross the street because it was too tired"}});
  Example example = question(model, "The animal didn't cross the street because it was too tired");
  const auto found = [&](int from, int to, int rather) {
    return served.answer("why",
                         {{"text", text}, {"layer", 1}, {"head", 0}, {"from", from}, {"to", to}, {"rather", rather}});
  };
  example.antecedent = 1;
  example.distractor = 5;
  const ScoreParts parts = score_parts(model, example, 1, 0);
  const Json json = found(example.query, 1, 5);
  CHECK(json["score"].get<double>() == Approx(parts.score).margin(1e-5));
  CHECK(json["reference_score"].get<double>() == Approx(parts.reference).margin(1e-5));
  REQUIRE(json["query"].size() == parts.query.size());
  for (std::size_t p = 0; p < parts.query.size(); ++p) {
    CHECK(json["query"][p]["ahead"].get<double>() == Approx(parts.query[p].ahead).margin(1e-5));
    CHECK(json["key"][p]["ahead"].get<double>() == Approx(parts.key[p].ahead).margin(1e-5));
  }
  CHECK(json["cuts"][0]["probability"].get<double>() == Approx(parts.cuts[0].probability).margin(1e-5));
  CHECK(json["answer"] == parts.answer);
  // Another token than the query attends; the reference is the mean.
  const ScoreParts other = score_parts(model, example, 1, 0, {.from = 3, .to = 2, .rather = -1});
  CHECK(found(3, 2, -1)["reference_score"].get<double>() == Approx(other.reference).margin(1e-5));
  CHECK(found(3, 2, 4)["reference_score"].get<double>() != Approx(other.reference));
}

TEST_CASE("ServedModel lists the strongest pairs of the QK and OV circuits for the tokens of a text") {
  const std::string sentence = "the dog was tired because the dog was the animal";
  const Model model = small_model(decoder_of(modern_config()));
  shake_all(model.parameters);
  const ServedModel served(model);
  const Json text = served.answer("understand", {{"text", sentence}});
  const Json found = served.answer("circuits", {{"text", text}, {"layer", 1}, {"head", 0}});
  CHECK(found["words"] == Json{"the", "dog", "was", "tired", "because", "animal"});
  CHECK(found["QK"][0].size() == 6);
  std::vector<std::int32_t> tokens;
  for (const Json& word : found["words"]) tokens.push_back(model.vocabulary[word.get<std::string>()]);
  const TokenCircuits expected = token_circuits(model, Ids({6}, tokens), 1, 0);
  for (const char* kind : {"QK", "OV"}) {
    const Tensor& table = kind[0] == 'Q' ? expected.attends : expected.raises;
    const std::vector<double> row = slice(table, 0, 1, 2).to_vector();
    const auto largest = std::ranges::max_element(row);
    const auto column = static_cast<std::size_t>(largest - row.begin());
    CHECK(found[kind][1][0][0] == (kind[0] == 'Q' ? found["words"][column].get<std::string>()
                                                  : model.vocabulary.word(static_cast<std::int32_t>(column))));
    CHECK(found[kind][1][0][1].get<double>() == Approx(*largest));
  }
  const Model bare = small_model(bare_transformer(modern_config()));
  const Json of_bare = ServedModel(bare).answer("circuits", {{"text", text}, {"layer", 0}, {"head", 0}});
  CHECK(of_bare["OV"].is_null());
}

TEST_CASE("ServedModel refuses malformed requests and says why it cannot read a text") {
  const Model model = small_model();
  const ServedModel served(model);
  CHECK(served.answer("understand", {{"text", ""}})["problem"] == "the sentence is empty");
  const std::string thirteen = "it it it it it it it it it it it it it";
  CHECK(served.answer("understand", {{"text", thirteen}})["problem"].get<std::string>().find("12") !=
        std::string::npos);
  const Json text = {{"pieces", {"the", "animal", "it"}}, {"query", 2}};
  const auto refused = [&](const char* what, const Json& request) {
    return message([&] { served.answer(what, request); });
  };
  CHECK(refused("read", {{"text", text}}) == "the request has no \"removed\"");
  CHECK(refused("read", 3) == "the request has no \"text\"");
  CHECK(refused("write", {{"text", text}}) == "expected understand, read, why, circuits, continue, got 'write'");
  for (const char* name : {"", "1", "a.b", "1.", ".1", "0.0.0.0", "-1.0", "99999999999.0"}) {
    CHECK(refused("read", {{"text", text}, {"removed", {name}}}) ==
          fmt::format("removed: expected layer.head or layer.head.token, got '{}'", name));
  }
  CHECK(refused("read", {{"text", text}, {"removed", {"2.0"}}}) ==
        "removed: no layer 2 head 0 in a model of 2 layers with 2 heads (from 0)");
  CHECK(refused("read", {{"text", text}, {"removed", {"0.0.3"}}}) == "removed: no token 3 in the text");
  CHECK(refused("read", {{"text", {{"pieces", {"the"}}, {"query", 1}}}, {"removed", Json::array()}}) ==
        "query: expected an integer from 0 to 0, got 1");
  CHECK(refused("read", {{"text", {{"pieces", Json::array()}, {"query", 0}}}, {"removed", Json::array()}}) ==
        "pieces: expected a list of 1 to 512 tokens");
  CHECK(refused("why", {{"text", text}, {"layer", 0}, {"head", 2}}) == "head: expected an integer from 0 to 1, got 2");
  CHECK(refused("why", {{"text", text}, {"layer", 0}, {"head", 0}, {"from", 0}, {"to", 3}}) ==
        "to: expected an integer from 0 to 2, got 3");
  CHECK(refused("circuits", {{"text", text}, {"layer", -1}, {"head", 0}}) ==
        "layer: expected an integer from 0 to 1, got -1");
  CHECK(refused("continue", {{"text", text}, {"count", 65}}) == "count: expected an integer from 1 to 64, got 65");
}

TEST_CASE("ServedModel ends a continuation when its client has left") {
  TransformerConfig config = small_config();
  config.causal = true;
  Model model;
  for (const char* letter : {"a", "b", "c", "d"}) model.vocabulary.add(letter);
  model.tokenizer = Tokenizer::of_text(Split::characters);
  make_network(model, language_model(config), 1);
  const Json request = {{"text", {{"pieces", {"a", "b"}}, {"query", 1}}}, {"count", 60}};
  int asked = 0;
  const Json written = ServedModel(model).answer("continue", request, [&] { return ++asked > 3; });
  CHECK(written["pieces"].size() < 6);
  CHECK(ServedModel(model).answer("continue", request)["pieces"].size() == 60);
}
