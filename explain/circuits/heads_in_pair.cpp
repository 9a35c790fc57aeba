#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/explain/circuits/heads_in_pair.h>
#include <heed/explain/intervention.h>
#include <heed/models/reading.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr std::size_t max_groups = 16;  // of tokens that are patched in one pass
constexpr std::size_t texts_at_once = 32;

// Returns the key with the largest of a query's weights (T).
HeadInPair::Attended most_attended(const Tensor& weights) {
  const std::vector<double> row = weights.to_vector();
  const auto most = std::ranges::max_element(row);
  return {static_cast<int>(most - row.begin()), *most};
}

// Returns whether a token of a text is one of the answers, or part of a candidate that is.
bool is_answer(const Model& model, const Example& text, int token, const std::vector<int>& answers) {
  return std::ranges::any_of(answers, [&](int answer) {
    if (text.candidates.empty()) {
      return text.tokens[static_cast<std::size_t>(token)] == answer_text(model, text, answer);
    }
    if (answer >= std::ssize(text.candidates)) return false;  // none of them
    const Span& span = text.candidates[static_cast<std::size_t>(answer)];
    return token >= span.begin && token < span.end;
  });
}

// Measures a pair while one head has its corrupted output at some tokens.
class PatchedHead {
 public:
  PatchedHead(const Model& model, const TextPair& pair)
      : model_(model),
        pair_(pair),
        texts_(pair_batches(model, std::span(&pair, 1), 1).at(0)),
        clean_(trace(model, texts_.clean)),
        corrupted_(trace(model, texts_.corrupted)),
        measured_(finite_log_odds(clean_.logits, texts_, "circuit")[0]) {}

  HeadInPair effects(const CircuitNode& head) const {
    std::vector<int> tokens = changed_tokens(head);
    HeadInPair result{.head = head, .effect = lost(head, {tokens})[0], .token = tokens[0]};
    result.at_token = result.effect;
    while (tokens.size() > 1) {  // keeps the group with the largest effect
      const std::vector<std::vector<int>> groups = split(tokens);
      const std::vector<double> effects = lost(head, groups);
      const auto largest = std::ranges::max_element(effects, {}, [](double effect) { return std::abs(effect); });
      tokens = groups[static_cast<std::size_t>(largest - effects.begin())];
      result.token = tokens[0], result.at_token = *largest;
    }
    const auto attended = [&](const Trace& seen) {
      return most_attended(seen.layers[static_cast<std::size_t>(head.layer)].weights[0][head.head][result.token]);
    };
    result.clean = attended(clean_), result.corrupted = attended(corrupted_);
    return result;
  }

 private:
  // Returns the tokens at which the output differs between the texts; the asked one if it never does.
  std::vector<int> changed_tokens(const CircuitNode& head) const {
    const auto outputs = [&](const Trace& seen) {
      return seen.layers[static_cast<std::size_t>(head.layer)].head_output[0][head.head];
    };
    const std::vector<double> changes = sum(abs(outputs(corrupted_) - outputs(clean_)), {1}).to_vector();
    std::vector<int> tokens;
    for (std::size_t t = 0; t < changes.size(); ++t) {
      if (changes[t] != 0) tokens.push_back(static_cast<int>(t));
    }
    return tokens.empty() ? std::vector{pair_.clean.query} : tokens;
  }

  static std::vector<std::vector<int>> split(const std::vector<int>& tokens) {
    const std::size_t count = std::min(max_groups, tokens.size());
    std::vector<std::vector<int>> groups;
    for (std::size_t i = 0; i < count; ++i) {
      groups.emplace_back(tokens.begin() + static_cast<std::ptrdiff_t>(tokens.size() * i / count),
                          tokens.begin() + static_cast<std::ptrdiff_t>(tokens.size() * (i + 1) / count));
    }
    return groups;
  }

  // Returns the log odds that the answer loses when the output is the corrupted one at the tokens of each group.
  std::vector<double> lost(const CircuitNode& head, const std::vector<std::vector<int>>& groups) const {
    const std::vector<TextPair> copies(groups.size(), pair_);
    const PairBatch batch = pair_batches(model_, copies, copies.size()).at(0);
    const Tensor& stream = clean_.layers[static_cast<std::size_t>(head.layer)].residual_in;
    const Shape shape{std::ssize(groups), stream.size(1), stream.size(2)};
    const LayerInput from{head.layer, contiguous(broadcast_to(stream, shape))};
    const Place place = Place::head_output(head.layer, head.head).at_each(groups);
    const Intervention patched = patch(place, corrupted_, std::vector<int>(groups.size(), 0));
    std::vector<double> result = finite_log_odds(logits_under({patched}, model_, batch.clean, from), batch, "circuit");
    for (double& value : result) value = measured_ - value;
    return result;
  }

  const Model& model_;
  const TextPair& pair_;
  PairBatch texts_;
  Trace clean_, corrupted_;
  double measured_;
};

}  // namespace

std::vector<HeadInPair> heads_in_pair(const Model& model, const TextPair& pair, std::span<const CircuitNode> heads) {
  const NoRecording unrecorded;
  std::vector<HeadInPair> result;
  if (heads.empty()) return result;
  const PatchedHead patched(model, pair);
  for (const CircuitNode& head : heads) result.push_back(patched.effects(head));
  return result;
}

std::vector<HeadOverPairs> heads_over_pairs(const Model& model, std::span<const TextPair> pairs,
                                            const CircuitStudy& study, std::span<const CircuitNode> heads) {
  const NoRecording unrecorded;
  std::vector<TextPair> held_out;
  for (const std::size_t pair : study.held_out_pairs) held_out.push_back(pairs[pair]);
  struct Looks {
    std::vector<bool> difference, right, wrong;
  };
  const std::vector<bool> none(held_out.size());
  std::vector<Looks> looks(heads.size(), {none, none, none});
  for (const PairBatch& batch : pair_batches(model, held_out, texts_at_once)) {
    const RunOptions at_query{.compute = Compute::query, .weights = true};
    const ModelOutput clean = model.run(batch.clean, at_query), corrupted = model.run(batch.corrupted, at_query);
    for (std::size_t b = 0; b < batch.pairs.size(); ++b) {
      const std::size_t number = batch.pairs[b];
      const TextPair& pair = held_out[number];
      for (std::size_t h = 0; h < heads.size(); ++h) {
        const auto attended = [&](const ModelOutput& output) {
          const Tensor& weights = output.weights[static_cast<std::size_t>(heads[h].layer)];  // (B, heads, T)
          return most_attended(weights[static_cast<std::int64_t>(b)][heads[h].head]).token;
        };
        const int to = attended(clean);
        const auto token = static_cast<std::size_t>(to);
        looks[h].difference[number] = pair.clean.tokens[token] != pair.corrupted.tokens[token];
        looks[h].right[number] = is_answer(model, pair.clean, to, pair.right);
        looks[h].wrong[number] = is_answer(model, pair.corrupted, attended(corrupted), pair.wrong);
      }
    }
  }
  std::vector<HeadOverPairs> result;
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const auto share = [&](const std::vector<bool>& which) { return share_of(which, study.held_out_observations); };
    result.push_back({heads[h], share(looks[h].difference), share(looks[h].right), share(looks[h].wrong)});
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
