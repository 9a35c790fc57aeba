#include "explain/internal/logit_parts.h"

#include <heed/autograd/ops.h>
#include <heed/explain/answer_lens.h>

#include <algorithm>
#include <cmath>

namespace heed {

AnswerLens answer_lens(const Model& model, const Example& example, std::int64_t most) {
  check_has_head(model);
  const Model exact = in_float64(model);
  const Transformer& transformer = exact.transformer();
  const Batch asked = batch_of(exact, example);
  const Trace seen = trace(exact, asked);
  const std::int32_t answer = argmax(seen.logits)[0];
  const Tensor last_input = seen.layers.back().residual_in;  // (1, T, d)

  AnswerLens result;
  result.tokens = example.tokens;
  result.query = example.query;
  result.answer = answer_text(exact, example, answer);
  for (int l = 0; l <= exact.layers(); ++l) {
    const bool is_last = l == exact.layers();
    const Tensor& stream =
        is_last ? seen.layers.back().residual_out : seen.layers[static_cast<std::size_t>(l)].residual_in;
    const Tensor x = select_rows(stream, asked.query);  // (1, d)
    const Tensor state = transformer.final_norm ? (*transformer.final_norm)(x) : x;
    const Tensor p = softmax(
        exact.head().answer_logits({.output = state, .weights = {}, .last_input = last_input}, asked.candidates));
    const double own = p.at({0, answer});
    const Ordered first = topk(p, std::min(most, p.size(1)));
    AnswerLens::Layer layer{
        .layer = l, .answers = {}, .probability = own, .rank = 1 + static_cast<int>(count(p > own))};
    for (std::int64_t i = 0; i < first.indices.size(1); ++i) {
      layer.answers.push_back({answer_text(exact, example, first.indices[i]), first.values.at({0, i})});
    }
    result.layers.push_back(std::move(layer));
  }

  const LogitParts parts = logit_parts(exact, asked, seen, answer, result.answer, Sources::summed);
  result.logit = parts.logit;
  for (std::size_t p = 0; p < parts.logits.size(); ++p) result.parts.push_back({parts.names[p], parts.logits[p]});
  if (parts.constant) result.parts.push_back({{.what = "bias"}, *parts.constant});
  std::ranges::stable_sort(result.parts, std::greater(), [](const auto& part) { return std::abs(part.logit); });
  return result;
}

}  // namespace heed
