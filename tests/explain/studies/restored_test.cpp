#include "tests/catch.h"
#include "tests/message.h"
#include "tests/models/sample.h"
#include "views/restored_view.h"

#include <heed/explain/intervention.h>
#include <heed/models/reading.h>

#include <algorithm>
#include <cmath>
#include <utility>

using namespace heed;

namespace {

// A decoder of single letters.
Model letters(int layers = 2) {
  Model model;
  model.tokenizer = Tokenizer::of_text(Split::characters);
  for (const char letter : std::string("abcdefgh")) model.vocabulary.add(std::string(1, letter));
  TransformerConfig shape = small_config();
  shape.vocabulary = 8, shape.layers = layers;
  model.build(Scope(model.parameters, 5), decoder_of(shape));
  return model;
}

TextPair pair_of(const Model& model, const std::string& clean, const std::string& corrupted) {
  return {question(model, clean), question(model, corrupted), {1}, {2}};
}

double log_odds_of(const Tensor& logits) { return logits.at({0, 1}) - logits.at({0, 2}); }

}  // namespace

TEST_CASE("restored patches activations of the clean text into the corrupted one") {
  const Model model = letters();
  const std::vector<TextPair> pairs{pair_of(model, "abcd", "aecd"), pair_of(model, "abfh", "agfh"),
                                    pair_of(model, "gbca", "gaca")};
  const Restored found = restored(model, pairs);
  REQUIRE(found.by_position);
  CHECK(found.tokens == std::vector<std::string>{"", "", "", ""});
  REQUIRE(found.tables.size() == 4);
  const auto& residual = found.tables[0].cells;
  REQUIRE((residual.size() == 4 && residual[0].size() == 2));
  // Only token 2 differs: its embedding restores everything, and no other embedding anything.
  CHECK(residual[1][0].restored.share == Approx(1).margin(1e-5));
  for (const std::size_t token : {0, 2, 3}) CHECK(std::abs(residual[token][0].restored.share) < 1e-5);
  CHECK(std::abs(residual[0][1].restored.share) < 1e-5);  // token 1 sees nothing of the change

  // A head's figure is that of patch().
  double gained = 0, lost = 0;
  for (const TextPair& pair : pairs) {
    const Batch clean = batch_of(model, pair.clean), corrupted = batch_of(model, pair.corrupted);
    const double before = log_odds_of(model.logits(corrupted));
    gained += log_odds_of(logits_under({patch({1, 0}, trace(model, clean))}, model, corrupted)) - before;
    lost += log_odds_of(model.logits(clean)) - before;
  }
  CHECK(found.tables[3].cells[0][1].restored.share == Approx(gained / lost).margin(1e-4));
}

TEST_CASE(
    "With one layer, the attention and MLP outputs at the last token restore what the residual stream does not have") {
  const Model model = letters(1);
  const std::vector<TextPair> pairs{pair_of(model, "abcd", "aecd"), pair_of(model, "abfh", "agfh")};
  const Restored found = restored(model, pairs);
  for (std::size_t token = 0; token < 3; ++token) {  // nothing reads these outputs
    CHECK(std::abs(found.tables[1].cells[token][0].restored.share) < 1e-5);
    CHECK(std::abs(found.tables[2].cells[token][0].restored.share) < 1e-5);
  }
  CHECK(found.tables[1].cells[3][0].restored.share == Approx(1).margin(1e-5));  // the MLP reads it
}

TEST_CASE("restored names roles where texts differ in length") {
  const Model model = letters();
  const std::vector<TextPair> pairs{pair_of(model, "abcd", "aecd"), pair_of(model, "bfhac", "bghac")};
  const Restored found = restored(model, pairs);
  CHECK(found.tokens ==
        std::vector<std::string>{"before the change", "changed tokens", "behind the change", "answering token"});
  CHECK(found.tables[0].cells[1][0].restored.share == Approx(1).margin(1e-5));
  const Json json = restored_json(found);
  CHECK((json["pairs"] == 2 && json["by_position"] == false && json["restored"]["mlp"].size() == 4));
  CHECK(message([&] { (void)restored(model, std::span(pairs).first(1)); }) ==
        "causes: expected at least 2 different pairs of texts, got 1");
  const std::vector<TextPair> one_text{pair_of(model, "abcd", "aecd"), pair_of(model, "abcd", "afcd")};
  CHECK(message([&] { (void)restored(model, one_text); }) ==
        "causes: expected at least 2 different pairs of texts, got 1 (pairs of one clean text count as one)");
}

TEST_CASE("restored counts a role among the pairs that have it") {
  const Model model = letters();
  const std::vector<TextPair> pairs{pair_of(model, "abcd", "aecd"), pair_of(model, "bfhac", "bghac"),
                                    pair_of(model, "abfg", "abfh")};  // only the answering token of the last differs
  const Restored found = restored(model, pairs);
  CHECK(found.tables[0].cells[1][0].restored.share == Approx(1).margin(1e-5));
}

TEST_CASE("restored shows no cell where the clean texts are not shown to favour the right answers more") {
  const Model model = letters();
  std::vector<TextPair> pairs, exchanged;
  for (const char first : std::string("acdfgh")) {
    for (const char third : std::string("acdfgh")) {
      const std::string clean{first, 'b', third, 'd'}, corrupted{first, 'e', third, 'd'};
      pairs.push_back(pair_of(model, clean, corrupted));
      exchanged.push_back(pair_of(model, corrupted, clean));
    }
  }
  Restored with = restored(model, pairs), without = restored(model, exchanged);
  if (with.behaviour.share < 0) std::swap(with, without);
  REQUIRE((with.behaviour.low > 0 && without.behaviour.high < 0));
  const auto shown = [](const Restored& found) {
    int count = 0;
    for (const Restored::Table& table : found.tables) {
      for (const auto& row : table.cells)
        count += static_cast<int>(std::ranges::count_if(row, &Restored::Cell::is_shown));
    }
    return count;
  };
  CHECK(shown(with) > 0);
  CHECK(shown(without) == 0);
}

TEST_CASE("restored_view prints cells that are shown, and no table without a behaviour") {
  Restored found{.pairs = 9,
                 .clean = {1, 0.5, 1.5},
                 .corrupted = {-1, -1.5, -0.5},
                 .behaviour = {2, 1, 3},
                 .tokens = {"changed tokens", "answering token"},
                 .tables = {}};
  using Cell = Restored::Cell;
  const Cell shown{{0.8, 0.7, 0.9}, true}, hidden{{0.1, -0.1, 0.3}, false};
  found.tables.push_back({Restored::What::residual, {{shown, hidden}, {hidden, shown}}});
  const std::string text = restored_view(found, {});
  CHECK(text.find("\nlayer                 1    2\nchanged tokens       80    ·\nanswering token       ·   80\n"
                  "most: layer 1, changed tokens: 80.0 % (70.0 to 90.0)\n") != std::string::npos);
  found.behaviour.low = -1;
  CHECK(restored_view(found, {}).find("layer") == std::string::npos);
  CHECK(restored_view(found, {}).find("not shown to be above 0") != std::string::npos);
}
