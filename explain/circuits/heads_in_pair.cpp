#include <heed/autograd/record.h>
#include <heed/explain/circuits/heads_in_pair.h>
#include <heed/explain/intervention.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace heed {
namespace {

// Returns the key with the largest weight of a query.
HeadInPair::Attended most_attended(const Trace& seen, const CircuitNode& head, int query) {
  const Tensor& weights = seen.layers[static_cast<std::size_t>(head.layer)].weights;
  const std::vector<double> row = weights[0][head.head][query].to_vector();
  const auto most = std::ranges::max_element(row);
  return {static_cast<int>(most - row.begin()), *most};
}

}  // namespace

std::vector<HeadInPair> heads_in_pair(const Model& model, const TextPair& pair, std::span<const CircuitNode> heads) {
  const NoRecording unrecorded;
  const int T = static_cast<int>(pair.clean.tokens.size());
  // Text t of the copies is patched at token t, the last one at all tokens.
  const std::vector<TextPair> copies(static_cast<std::size_t>(T) + 1, pair);
  const PairBatch one = pair_batches(model, std::span(&pair, 1), 1).at(0);
  const PairBatch batch = pair_batches(model, copies, copies.size()).at(0);
  std::vector<std::vector<int>> patched;
  for (int t = 0; t < T; ++t) patched.push_back({t});
  patched.emplace_back(static_cast<std::size_t>(T));
  std::iota(patched.back().begin(), patched.back().end(), 0);
  const std::vector<int> from(copies.size(), 0);

  const Trace clean = trace(model, one.clean), corrupted = trace(model, one.corrupted);
  const auto before = [&](int layer) {  // what the copies give this layer
    const Tensor& stream = clean.layers[static_cast<std::size_t>(layer)].residual_in;
    return LayerInput{layer, contiguous(broadcast_to(stream, {T + 1, stream.size(1), stream.size(2)}))};
  };
  const double measured = finite_log_odds(clean.logits, one, "circuit")[0];
  std::vector<HeadInPair> result;
  for (const CircuitNode& head : heads) {
    const Place place = Place::head_output(head.layer, head.head).at_each(patched);
    const std::vector<double> left = finite_log_odds(
        logits_under({patch(place, corrupted, from)}, model, batch.clean, before(head.layer)), batch, "circuit");
    const auto largest = std::ranges::max_element(left.begin(), left.end() - 1, {},
                                                  [&](double value) { return std::abs(measured - value); });
    const int token = static_cast<int>(largest - left.begin());
    result.push_back({.head = head,
                      .effect = measured - left.back(),
                      .token = token,
                      .at_token = measured - *largest,
                      .clean = most_attended(clean, head, token),
                      .corrupted = most_attended(corrupted, head, token)});
  }
  return result;
}

std::vector<CircuitNode> circuit_heads(const CircuitStudy& study, std::size_t most) {
  std::vector<CircuitNode> heads;
  if (study.verdict != CircuitStudy::Verdict::circuit) return heads;
  for (const CircuitStudy::Edge& edge : study.edges) {
    if (!edge.in_circuit || most-- == 0) break;
    const bool is_new = std::ranges::find(heads, edge.from) == heads.end();
    if (edge.from.kind == CircuitNode::Kind::head && is_new) heads.push_back(edge.from);
  }
  std::ranges::sort(heads, {}, [](const CircuitNode& head) { return std::pair(head.layer, head.head); });
  return heads;
}

std::size_t median_pair(const CircuitTask& task, const CircuitStudy& study) {
  std::vector<std::size_t> pairs = study.held_out_pairs;
  const auto middle = pairs.begin() + std::ssize(pairs) / 2;
  std::ranges::nth_element(pairs, middle, {}, [&](std::size_t i) { return task.clean[i] - task.corrupted[i]; });
  return *middle;
}

}  // namespace heed
