#include "formats/internal/config_json.h"
#include "tests/catch.h"
#include "tests/explain/circuits/reference.h"
#include "tests/message.h"

#include <heed/autograd/record.h>
#include <heed/explain/circuits/edge_scores.h>

#include <algorithm>
#include <cmath>

using namespace heed;

namespace {

// The logit of answer 0 minus that of answer 1; of a model with one answer, its logit.
Tensor difference(const Tensor& logits) {
  const Tensor first = slice(logits, 1, 0, 1);
  return reshape(logits.size(1) > 1 ? first - slice(logits, 1, 1, 2) : first, {logits.size(0)});
}

double tolerance(double value) { return 1e-6 * std::max(1.0, std::abs(value)); }

// Returns the derivative of the measure as an edge goes from clean to corrupted, by central differences: (B).
Tensor slope(const EdgePatching& patching, std::size_t edge) {
  constexpr double h = 1e-4;
  const auto measured = [&](double share) {
    std::vector<double> corrupted(patching.graph().edges().size());
    corrupted[edge] = share;
    return difference(patching.logits(corrupted));
  };
  return (measured(h) - measured(-h)) * (8 / (12 * h)) - (measured(2 * h) - measured(-2 * h)) * (1 / (12 * h));
}

}  // namespace

TEST_CASE("eap is the linear limit of patching an edge, for random configurations") {
  RandomConfig draw(12);
  int linear = 0;
  for (int i = 0; i < 100; ++i) {
    const RandomCase made(draw, i);
    CAPTURE(i, format_json(to_json(made.model.config())));
    const EdgePatching patching(made.model, made.graph, made.clean, made.corrupted);
    linear += has_linear_stream(made.model.transformer());
    const Tensor scores = edge_scores(patching, difference, ScoreMethod::eap);
    for (std::size_t edge = 0; edge < made.graph.edges().size(); ++edge) {
      CAPTURE(made.graph.name(made.graph.edges()[edge]));
      const Tensor expected = slope(patching, edge);
      for (int b = 0; b < 2; ++b) {
        const double score = scores.at({b, static_cast<std::int64_t>(edge)});
        if (std::abs(-expected.at({b}) - score) > tolerance(score)) FAIL_CHECK(score << " " << -expected.at({b}));
      }
    }
  }
  CHECK((linear > 20 && linear < 80));  // both ways of computing it
}

TEST_CASE("eap_ig integrates the gradients of each edge, for random configurations") {
  RandomConfig draw(13);
  for (int i = 0; i < 60; ++i) {
    const RandomCase made(draw, i);
    CAPTURE(i, format_json(to_json(made.model.config())));
    const EdgePatching patching(made.model, made.graph, made.clean, made.corrupted);
    const Tensor x = made.model.transformer().embed(made.clean), y = made.model.transformer().embed(made.corrupted);
    const Tensor change = patching.clean().each - patching.corrupted().each;
    constexpr int steps = 3;
    std::vector<Tensor> expected(made.graph.edges().size(), zeros({2}, DType::float64));
    for (int k = 1; k <= steps; ++k) {
      const Recording recording;
      std::vector<Tensor> shifts;
      for (std::size_t e = 0; e < expected.size(); ++e) shifts.push_back(variable(zeros(x.shape(), DType::float64)));
      ReferenceRun run(made.model, made.graph, made.clean,
                       [&](std::size_t edge, int, const Tensor& output) { return output + shifts[edge]; });
      const Gradients gradients = backward(sum(difference(run.logits(y + (x - y) * (k / (1.0 * steps))))));
      for (std::size_t e = 0; e < expected.size(); ++e) {
        if (!gradients.contains(shifts[e])) continue;
        const int node = made.graph.edges()[e].from;
        const Tensor by_output = behind_first_tokens(zeros(x.shape(), DType::float64), change[node]);
        expected[e] = expected[e] + sum(by_output * gradients[shifts[e]], {1, 2}).detach() / steps;
      }
    }
    const Tensor scores = edge_scores(patching, difference, ScoreMethod::eap_ig, steps);
    for (std::size_t e = 0; e < expected.size(); ++e) {
      CAPTURE(made.graph.name(made.graph.edges()[e]));
      for (int b = 0; b < 2; ++b) {
        const double score = scores.at({b, static_cast<std::int64_t>(e)});
        if (std::abs(expected[e].at({b}) - score) > 1e-8 * std::max(1.0, std::abs(score)))
          FAIL_CHECK(score << " " << expected[e].at({b}));
      }
    }
    const GradientScores both = gradient_scores(patching, difference, steps);
    CHECK(max(abs(both.eap_ig - scores)).item() == 0);
    CHECK(max(abs(both.eap - edge_scores(patching, difference, ScoreMethod::eap))).item() == 0);
  }
}

TEST_CASE("deeplift divides the whole effect among the edges to the logits, for random configurations") {
  RandomConfig draw(15);
  int exact = 0;
  for (int i = 0; i < 120; ++i) {
    const RandomCase made(draw, i);
    CAPTURE(i, format_json(to_json(made.model.config())));
    const EdgePatching patching(made.model, made.graph, made.clean, made.corrupted);
    const Tensor scores = edge_scores(patching, difference, ScoreMethod::deeplift);
    CHECK(std::ranges::all_of(scores.to_vector(), [](double score) { return std::isfinite(score); }));
    const Transformer& transformer = made.model.transformer();
    const bool is_linear = !transformer.final_norm && made.model.head().is_linear() &&
                           made.model.config().logits.soft_cap == 0 && has_linear_stream(transformer);
    if (!is_linear) continue;
    ++exact;
    const int first = made.graph.inputs().back().first_edge;
    const Tensor sums = sum(slice(scores, 1, first, scores.size(1)), {1});
    const Tensor whole = difference(patching.clean().logits) - difference(patching.corrupted().logits);
    for (int b = 0; b < 2; ++b) CHECK(std::abs(sums.at({b}) - whole.at({b})) < 1e-9 * (1 + std::abs(whole.at({b}))));
  }
  CHECK(exact >= 3);
}

TEST_CASE("exact scores patch one edge at a time; node scores add up those of edges") {
  RandomConfig draw(14);
  const RandomCase made(draw, 1);
  const EdgePatching patching(made.model, made.graph, made.clean, made.corrupted);
  int passes = 0;
  const Tensor exact = edge_scores(patching, difference, ScoreMethod::exact, 1,
                                   [&](const std::string& what, double, double) { passes += what == "edges"; });
  std::vector<bool> kept(made.graph.edges().size(), true);
  const std::size_t edge = kept.size() / 2;
  kept[edge] = false;
  const Tensor expected = difference(patching.clean().logits) - difference(patching.logits(kept));
  CHECK(exact.at({1, static_cast<std::int64_t>(edge)}) == expected.at({1}));
  CHECK(passes >= 0);

  // A node that no other reads but the logits: the sum of its edges is one edge.
  const Tensor nodes = node_scores(made.graph, exact);
  CHECK(nodes.shape() == Shape{2, made.graph.sources()});
  const std::int64_t last = made.graph.sources() - 1;
  CHECK(nodes.at({0, last}) == exact.at({0, exact.size(1) - 1}));
  CHECK(sum(nodes).item() == Approx(sum(exact).item()));
  CHECK(message([&] { node_scores(made.graph, nodes); }).starts_with("node_scores: expected scores of edges (B, "));
  CHECK(message([&] { gradient_scores(patching, difference, 0); }) ==
        "gradient_scores: expected at least 1 step, got 0");
}
