#include "tests/catch.h"
#include "tests/message.h"

#include <heed/explain/intervention.h>
#include <heed/explain/sentence_attention.h>
#include <heed/explain/studies/head_choices.h>

#include <algorithm>

using namespace heed;
using Direction = HeadChoices::Direction;

namespace {

// A model of 2 layers with 3 heads, and sentences of 8 shuffled words with a query and two candidates.
struct Asked {
  Model model{};
  std::vector<Example> examples{};

  explicit Asked(std::uint64_t seed = 4) {
    model.vocabulary = Vocabulary({"a", "b", "c", "d", "e", "f", "g", "h"});
    ModelConfig config = word_answerer(bert(2, 3, 24));
    config.transformer.vocabulary = model.vocabulary.size(), config.transformer.max_length = 8;
    model.build(Scope(model.parameters, seed), config);
    Random random(7);
    for (int i = 0; i < 40; ++i) {
      Example e{.tokens = model.vocabulary.words(), .query = 5};
      random.shuffle(e.tokens);
      e.candidates = {{0, 2}, {3, 4}};
      choose(e, static_cast<int>(random.below(2)));
      e.counterpart = i < 20 ? (i ^ 1) : -1;
      examples.push_back(e);
    }
  }

  // Returns whether the correct candidate has the larger weight.
  bool points(const Example& e, int layer, int head, Direction direction) const {
    const Tensor weights = attend(model, e).layers[static_cast<std::size_t>(layer)];
    const auto weight = [&](int i, int j) { return weights.at({head, i, j}); };
    const bool to = direction == Direction::to_candidate;
    const double first = to ? weight(5, 0) + weight(5, 1) : (weight(0, 5) + weight(1, 5)) / 2;
    const double second = to ? weight(5, 3) : weight(3, 5);
    return (first >= second ? 0 : 1) == e.chosen;
  }
};

}  // namespace

TEST_CASE("head_choices counts the candidate with the largest weight, per head and direction") {
  const Asked asked;
  const HeadChoices found = head_choices(asked.model, asked.examples);
  CHECK(found.sentences == 40);
  CHECK(found.pairs == 10);
  CHECK(found.coin == Approx(0.5));
  REQUIRE(found.heads.size() == 12);
  double mean = 0;
  for (const HeadChoices::Head& head : found.heads) {
    const auto right = std::ranges::count_if(
        asked.examples, [&](const Example& e) { return asked.points(e, head.layer, head.head, head.direction); });
    CHECK(head.right.share == Approx(static_cast<double>(right) / 40));
    CHECK((head.right.low <= head.right.share && head.right.share <= head.right.high));
    mean += head.right.share / 12;
  }
  CHECK(found.mean == Approx(mean));
  const auto meant = [&](int candidate) {
    return static_cast<double>(std::ranges::count(asked.examples, candidate, &Example::chosen)) / 40;
  };
  CHECK(found.nearest.share == Approx(meant(1)));
  CHECK(found.first.share == Approx(meant(0)));
}

TEST_CASE("head_choices selects the best head on one half and measures it on the other") {
  const Asked asked;
  const HeadChoices found = head_choices(asked.model, asked.examples);
  // Sentences 0, 1, 4, 5, ... of the pairs and 20, 22, ... of the others are the first half.
  const auto is_first = [](int i) { return i < 20 ? i / 2 % 2 == 0 : i % 2 == 0; };
  const auto share = [&](const HeadChoices::Head& head, bool first) {
    int right = 0;
    for (int i = 0; i < 40; ++i) {
      right += is_first(i) == first &&
               asked.points(asked.examples[static_cast<std::size_t>(i)], head.layer, head.head, head.direction);
    }
    return right / 20.0;
  };
  CHECK(found.chosen_on.share == Approx(share(found.best, true)));
  CHECK(found.best.right.share == Approx(share(found.best, false)));
  for (const HeadChoices::Head& head : found.heads) CHECK(share(head, true) <= found.chosen_on.share);
}

TEST_CASE("head_choices compares with the candidate that is most often meant in the other half") {
  Asked asked;
  for (Example& e : asked.examples) {  // "a" is a candidate of each sentence, and meant
    std::swap(e.tokens[3], *std::ranges::find(e.tokens, "a"));
    choose(e, 1);
    e.counterpart = -1;
  }
  const HeadChoices found = head_choices(asked.model, asked.examples);
  CHECK(found.most_frequent.share == 1);
  CHECK(found.over_most_frequent.share == Approx(found.best.right.share - 1));
  CHECK_FALSE(found.beats_baselines());
}

TEST_CASE("head_choices gives the accuracy after the best head's edge is cut") {
  int changed = 0;  // answers, over all seeds
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Asked asked(seed);
    for (const auto& [name, value] : asked.model.parameters) {  // makes attention sharp
      if (name.find("attention.W_") == name.npos || value.rank() != 2) continue;
      Tensor(value).copy_from((value.detach() * 30.0).detach());
    }
    const auto predicted = [&](const Example& e, const std::vector<Intervention>& while_holding) {
      const Batch asking = batch_of(asked.model, e);
      return static_cast<int>(argmax(logits_under(while_holding, asked.model, asking)).at({0}));
    };
    for (Example& e : asked.examples) {  // makes the answer of the unchanged model correct
      const auto word = std::ranges::find(e.tokens, asked.model.vocabulary.word(predicted(e, {}))) - e.tokens.begin();
      const int at = static_cast<int>(word), other = at == 0 ? 1 : 0;
      e.candidates = {{at, at + 1}, {other, other + 1}};
      choose(e, 0);
      e.counterpart = -1;
    }
    const HeadChoices found = head_choices(asked.model, asked.examples);
    const bool to = found.best.direction == Direction::to_candidate;
    int after = 0;
    for (const Example& e : asked.examples) {
      const Span meant = e.candidates[0];
      const Edge edge = to ? Edge{e.query, meant} : Edge{meant.end - 1, {e.query, e.query + 1}};
      after += predicted(e, {cut({found.best.layer, found.best.head}, edge)}) == right_answer(asked.model, e);
    }
    REQUIRE(found.answers);
    CHECK(found.answers->before.share == 1);
    CHECK(found.answers->without_edge.share == Approx(after / 40.0));
    changed += 40 - after;
  }
  CHECK(changed > 0);
}

TEST_CASE("head_choices leaves out sentences that do not fit, and keeps their counterparts") {
  Asked asked;
  asked.examples[0].candidates.pop_back();
  asked.examples[3].chosen = -1;
  asked.examples[5].tokens.push_back("a");
  const HeadChoices found = head_choices(asked.model, asked.examples);
  CHECK(found.without == 2);
  CHECK(found.too_long == 1);
  CHECK(found.sentences == 37);
  CHECK(found.pairs == 7);
  CHECK(message([&] {
          head_choices(asked.model, {asked.examples[1], asked.examples[4]});
        }) == "examples: a sentence has counterpart 5 of 2 sentences; set its twin to -1 if that is left out");
  asked.examples[0].counterpart = asked.examples[5].counterpart = -1;
  CHECK(message([&] {
          head_choices(asked.model, {asked.examples[0], asked.examples[5]});
        }) == "head_choices: no sentence is left: 1 without a correct candidate among two, 1 too long");
}
