#include "tests/catch.h"
#include "tests/explain/circuits/induction_by_hand.h"

#include <heed/explain/circuits/heads_in_pair.h>
#include <heed/explain/circuits/pair_task.h>
#include <heed/explain/intervention.h>

#include <algorithm>

using namespace heed;

namespace {

CircuitNode head(int layer, int number) { return {CircuitNode::Kind::head, layer, number}; }

// Returns the log odds of a pair when a head has its corrupted output at some tokens.
double patched(const Model& model, const TextPair& pair, const CircuitNode& node, const std::vector<int>& tokens) {
  const PairBatch batch = pair_batches(model, std::span(&pair, 1), 1).at(0);
  const Place place = Place::head_output(node.layer, node.head).at(tokens);
  return log_odds(logits_under({patch(place, trace(model, batch.corrupted))}, model, batch.clean), batch).at({0});
}

}  // namespace

TEST_CASE("heads_in_pair names the token at which a head matters, and what it attends to") {
  const InductionByHand made;
  const std::vector<TextPair> pairs = made.pairs(4);
  const std::vector<CircuitNode> heads{head(0, 0), head(1, 0), head(1, 1)};
  for (const TextPair& pair : pairs) {
    const std::vector<HeadInPair> found = heads_in_pair(made.model, pair, heads);
    REQUIRE(found.size() == 3);
    // Head 1 of layer 2 answers at the last token: it attends to the token behind an earlier one like it. The first token counts
    // as its own predecessor.
    CHECK(found[1].token == 4);
    CHECK((found[1].clean.token <= 1 && found[1].clean.weight > 0.4));
    CHECK((found[1].corrupted.token == 3 && found[1].corrupted.weight > 0.6));
    // Head 1 of layer 1 matters where the token before differs, and attends to that.
    CHECK((found[0].token <= 1 || found[0].token == 3));
    CHECK(found[0].clean.token == std::max(found[0].token - 1, 0));
    CHECK(found[1].at_token > 20 * std::abs(found[2].at_token));
    for (std::size_t i = 0; i < heads.size(); ++i) {
      CAPTURE(i);
      CHECK(found[i].head == heads[i]);
      const double clean = patched(made.model, pair, heads[i], {});
      double largest = 0;
      for (int t = 0; t < 5; ++t)
        largest = std::max(largest, std::abs(clean - patched(made.model, pair, heads[i], {t})));
      CHECK(found[i].effect == Approx(clean - patched(made.model, pair, heads[i], {0, 1, 2, 3, 4})).margin(1e-9));
      CHECK(std::abs(found[i].at_token) == Approx(largest).margin(1e-9));
    }
  }
}

TEST_CASE("heads_over_pairs counts the held-out pairs in which a head looks at the answers") {
  const InductionByHand made;
  std::vector<TextPair> pairs = made.pairs(20);
  const CircuitStudy study = circuit_study(made.model, pairs);
  const std::vector<CircuitNode> heads{head(1, 0), head(0, 0)};
  std::vector<HeadOverPairs> found = heads_over_pairs(made.model, pairs, study, heads);
  REQUIRE(found.size() == 2);
  CHECK(found[0].head == heads[0]);
  // Head 1 of layer 2 attends to the answer, or to the token before that, which differs.
  std::vector<bool> right;
  for (const std::size_t pair : study.held_out_pairs) {
    right.push_back(heads_in_pair(made.model, pairs[pair], heads)[0].clean.token == 1);
  }
  REQUIRE((std::ranges::count(right, true) > 0 && std::ranges::count(right, false) > 0));
  CHECK(found[0].right.share == share_of(right).share);
  CHECK(found[0].right.low == share_of(right).low);
  CHECK(found[0].difference.share == Approx(1 - found[0].right.share));
  CHECK(found[0].wrong.share == 1);
  // Head 1 of layer 1 attends to the token before, which is the wrong answer of both texts.
  CHECK((found[1].right.share == 0 && found[1].wrong.share == 1 && found[1].difference.share == 0));

  // Exchanged answers; then texts that do not differ where the head looks.
  for (const std::size_t pair : study.held_out_pairs) std::swap(pairs[pair].right, pairs[pair].wrong);
  CHECK(heads_over_pairs(made.model, pairs, study, heads)[0].right.share == 0);
  for (const std::size_t pair : study.held_out_pairs) pairs[pair].corrupted.tokens[0] = pairs[pair].clean.tokens[0];
  CHECK(heads_over_pairs(made.model, pairs, study, heads)[0].difference.share == 0);
}

TEST_CASE("heads_in_pair finds the token of a head in a text of more than 16 tokens") {
  Model model;
  for (int word = 0; word < 20; ++word) model.vocabulary.add(std::string(1, static_cast<char>('a' + word)));
  TransformerConfig shape = gpt2(2, 2, 16);
  shape.vocabulary = 20, shape.max_length = 40;
  model.build(Scope(model.parameters, 4, DType::float64), language_model(shape, {.tied = false}));
  TextPair pair;
  pair.right = {3}, pair.wrong = {5};
  Random random(2);
  for (int t = 0; t < 40; ++t) {
    pair.clean.tokens.push_back(model.vocabulary.word(static_cast<int>(random.below(20))));
    pair.corrupted.tokens.push_back(t == 20 ? model.vocabulary.word(static_cast<int>(random.below(20)))
                                            : pair.clean.tokens.back());
  }
  pair.clean.query = pair.corrupted.query = 39;
  REQUIRE(pair.clean.tokens != pair.corrupted.tokens);
  for (const CircuitNode& node : {head(0, 0), head(1, 1)}) {
    const HeadInPair found = heads_in_pair(model, pair, std::vector{node}).at(0);
    const double clean = patched(model, pair, node, {});
    std::vector<double> effects;
    for (int t = 0; t < 40; ++t) effects.push_back(clean - patched(model, pair, node, {t}));
    CHECK(found.at_token == Approx(effects[static_cast<std::size_t>(found.token)]).margin(1e-9));
    const double largest = std::abs(std::ranges::max(effects, {}, [](double effect) { return std::abs(effect); }));
    CHECK(std::abs(found.at_token) > 0.5 * largest);
    CHECK(found.token >= 20);  // a causal model: no earlier token differs
  }
}

TEST_CASE("A circuit is shown by its heads in a held-out pair of median difference") {
  const InductionByHand made;
  const std::vector<TextPair> pairs = made.pairs(20);
  const PairTask task(made.model, pairs);
  CircuitStudy study = circuit_study(task.task());
  REQUIRE(study.verdict == CircuitStudy::Verdict::circuit);
  CHECK(circuit_heads(study, 24) == std::vector{head(0, 0), head(1, 0)});
  CHECK(circuit_heads(study, 1).size() <= 1);
  study.verdict = CircuitStudy::Verdict::no_behaviour;
  CHECK(circuit_heads(study, 24).empty());

  const std::size_t middle = median_pair(task.task(), study);
  const auto difference = [&](std::size_t i) { return task.task().clean[i] - task.task().corrupted[i]; };
  const auto below = [&](std::size_t i) { return difference(i) < difference(middle); };
  const auto above = [&](std::size_t i) { return difference(i) > difference(middle); };
  const auto half = std::ssize(study.held_out_pairs) / 2;
  CHECK(std::ranges::find(study.held_out_pairs, middle) != study.held_out_pairs.end());
  CHECK(std::ranges::count_if(study.held_out_pairs, below) <= half);
  CHECK(std::ranges::count_if(study.held_out_pairs, above) <= half);
}
