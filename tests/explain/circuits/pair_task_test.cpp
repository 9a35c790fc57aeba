#include "tests/catch.h"
#include "tests/explain/circuits/induction_by_hand.h"
#include "tests/message.h"

#include <heed/explain/circuits/pair_task.h>

#include <algorithm>
#include <cmath>

using namespace heed;

namespace {

// Returns the probability that a true edge has a larger absolute mean effect than another edge.
double auroc(const Tensor& scores, const std::vector<int>& truth) {
  const std::vector<double> effects = mean(scores, {0}).to_vector();
  double above = 0, all = 0;
  for (const int edge : truth) {
    for (std::size_t other = 0; other < effects.size(); ++other) {
      if (std::ranges::count(truth, static_cast<int>(other)) > 0) continue;
      const double strength = std::abs(effects[static_cast<std::size_t>(edge)]), rival = std::abs(effects[other]);
      above += strength > rival ? 1 : strength == rival ? 0.5 : 0;
      ++all;
    }
  }
  return above / all;
}

}  // namespace

TEST_CASE("Both directions of a pair are one observation, in one half") {
  const InductionByHand made;
  std::vector<TextPair> pairs = made.pairs(8);
  const auto exchanged = [](const TextPair& pair) {
    return TextPair{pair.corrupted, pair.clean, pair.wrong, pair.right, pair.group};
  };
  for (int i = 0; i < 8; ++i) pairs.push_back(exchanged(pairs[static_cast<std::size_t>(i)]));
  CHECK(observations_of(pairs) == std::vector{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7});
  const CircuitStudy study = circuit_study(made.model, pairs);
  CHECK((study.pairs == 16 && study.observations == 8 && study.held_out == 8));
  for (const std::size_t pair : study.held_out_pairs) {
    CHECK(std::ranges::count(study.held_out_pairs, (pair + 8) % 16) == 1);
  }
  pairs.erase(pairs.begin() + 4, pairs.begin() + 12);  // 4 pairs, and the other 4 the other way round
  CHECK(observations_of(pairs) == std::vector{0, 1, 2, 3, 4, 5, 6, 7});
  for (int i = 0; i < 4; ++i) pairs[static_cast<std::size_t>(4 + i)] = exchanged(pairs[static_cast<std::size_t>(i)]);
  CHECK(message([&] { circuit_study(made.model, pairs); }) ==
        "circuit: expected at least 8 different pairs, got 4 (pairs of one clean text count as one); half of them "
        "choose the circuit, the others measure it");
  // So are the pairs of one clean text, but not those of one corrupted text.
  pairs = made.pairs(8);
  for (int i = 0; i < 8; ++i) {
    TextPair other = pairs[static_cast<std::size_t>(i)];
    other.corrupted = pairs[static_cast<std::size_t>(7 - i)].corrupted;
    pairs.push_back(other);
  }
  CHECK(observations_of(pairs) == std::vector{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7});
  // Groups that are observations keep both directions, and join pairs of other groups that have the same texts.
  std::vector<TextPair> grouped = made.pairs(20);
  for (std::size_t i = 0; i < 20; ++i) grouped[i].group = std::to_string(i / 2);
  grouped.push_back(exchanged(grouped[0]));
  grouped.back().group = "9";
  const std::vector<int> observations = observations_of(grouped);
  CHECK((observations[0] == 0 && observations[1] == 0 && observations[2] == 1 && observations[20] == 0));
  CHECK((observations[18] == 0 && observations[19] == 0));
}

TEST_CASE("Every method finds the induction circuit of a model with weights set by hand") {
  const InductionByHand made;
  const std::vector<TextPair> pairs = made.pairs(40);
  const PairTask task(made.model, pairs);
  using Kind = CircuitInput::Kind;
  const CircuitNode first{CircuitNode::Kind::head, 0, 0}, second{CircuitNode::Kind::head, 1, 0};
  const std::vector<int> truth{task.graph().edge({}, Kind::value, 0, 0), task.graph().edge(first, Kind::key, 1, 0),
                               task.graph().edge(second, Kind::logits)};
  REQUIRE(task.task().scores.size() == 4);
  for (const auto& [method, scores] : task.task().scores) {
    CAPTURE(name_of(method));
    CHECK(auroc(scores, truth) == 1);
  }
  const CircuitStudy study = circuit_study(task.task(), {});
  CHECK(study.verdict == CircuitStudy::Verdict::circuit);
  CHECK(study.circuit.edges == 3);
  CHECK(study.surviving.faithfulness.low > 0.9);
  std::vector<int> found;
  for (const CircuitStudy::Edge& edge : study.edges) {
    if (edge.survives) found.push_back(edge.edge);
  }
  std::ranges::sort(found);
  CHECK(found == truth);

  // The same for another portion of pairs, and by threshold.
  CircuitOptions options;
  options.choice = EdgeChoice::threshold, options.method = ScoreMethod::exact;
  const CircuitStudy exact = circuit_study(made.model, pairs, options);
  CHECK(exact.circuit.edges == 3);
  CHECK(exact.edges[0].effect.share == Approx(exact.edges[0].exact.share));
}

TEST_CASE("A task without a behaviour has no circuit to report") {
  const InductionByHand made;
  std::vector<TextPair> pairs = made.pairs(40);
  Random random(4);
  for (TextPair& pair : pairs) {  // the answers of a random half are exchanged
    if (random.below(2) == 1) std::swap(pair.right, pair.wrong);
  }
  CHECK(circuit_study(made.model, pairs).verdict != CircuitStudy::Verdict::circuit);
  for (TextPair& pair : pairs) pair.corrupted = pair.clean;
  CHECK(circuit_study(made.model, pairs).verdict == CircuitStudy::Verdict::no_behaviour);
  CHECK(message([&] { circuit_study(made.model, std::vector<TextPair>()); }) ==
        "circuit: expected pairs of texts, got none");
}
