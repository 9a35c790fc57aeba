#include <heed/autograd/record.h>
#include <heed/explain/circuits/pair_halves.h>
#include <heed/explain/circuits/pair_intervals.h>
#include <heed/explain/studies/pair_lens.h>
#include <heed/explain/trace.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr std::size_t max_batch = 32;

// Returns the log odds after each layer, (layers + 1) tensors (B).
std::vector<std::vector<double>> log_odds_by_layer(const Model& model, const Batch& texts, const PairBatch& batch) {
  const Transformer& transformer = model.transformer();
  const Trace seen = trace(model, texts);
  std::vector<std::vector<double>> result;
  for (int layer = 0; layer <= model.layers(); ++layer) {
    const Tensor& stream = layer == 0 ? seen.embedded : seen.layers[static_cast<std::size_t>(layer) - 1].residual_out;
    const Tensor x = select_rows(stream, texts.query);  // (B, d_model)
    const Tensor state = transformer.final_norm ? (*transformer.final_norm)(x) : x;
    const Tensor& last_input = seen.layers.empty() ? seen.embedded : seen.layers.back().residual_in;
    const Hidden hidden{.output = state, .weights = {}, .last_input = last_input};
    result.push_back(finite_log_odds(model.head().answer_logits(hidden, texts.candidates), batch, "why"));
  }
  return result;
}

}  // namespace

PairLens pair_lens(const Model& model, std::span<const TextPair> pairs, const OnProgress& progress) {
  check_has_head(model);
  const std::vector<int> groups = checked_observations("why", pairs);
  const NoRecording unrecorded;
  const std::size_t count = static_cast<std::size_t>(model.layers()) + 1;
  std::vector<std::vector<double>> clean(count, std::vector<double>(pairs.size())), corrupted = clean;
  const std::vector<PairBatch> batches = pair_batches(model, pairs, max_batch);
  Passes passes("why", 2 * static_cast<double>(batches.size()), progress);
  for (const PairBatch& batch : batches) {
    for (const bool is_clean : {true, false}) {
      passes.next();
      const std::vector<std::vector<double>> found =
          log_odds_by_layer(model, is_clean ? batch.clean : batch.corrupted, batch);
      for (std::size_t layer = 0; layer < count; ++layer) {
        std::vector<double>& into = (is_clean ? clean : corrupted)[layer];
        for (std::size_t b = 0; b < found[layer].size(); ++b) into[batch.pairs[b]] = found[layer][b];
      }
    }
  }

  PairLens lens{.pairs = static_cast<int>(pairs.size()), .observations = 1 + std::ranges::max(groups)};
  for (std::size_t layer = 0; layer < count; ++layer) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < pairs.size(); ++i) differences.push_back(clean[layer][i] - corrupted[layer][i]);
    lens.layers.push_back({.layer = static_cast<int>(layer),
                           .clean = mean_interval(clean[layer], groups),
                           .corrupted = mean_interval(corrupted[layer], groups),
                           .difference = mean_interval(differences, groups),
                           .right = share_above_0(clean[layer], groups)});
  }
  return lens;
}

}  // namespace heed
