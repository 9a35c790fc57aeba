#include <heed/models/candidate_chooser.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr double padding_logit = -1e30;  // e^padding_logit is 0

// states (B, T, d_model), candidates (B, C, 2) -> the mean over each candidate (B, C, d_model)
Tensor candidate_means(const Tensor& states, const Ids& candidates) {
  const std::int64_t B = states.size(0), T = states.size(1);
  if (candidates.shape().rank() != 3 || candidates.shape()[0] != B || candidates.shape()[2] != 2) {
    fail("CandidateChooser: expected candidates ({}, C, 2), got {}", B, to_string(candidates.shape()));
  }
  const std::int64_t C = candidates.shape()[1];
  std::vector<double> shares(static_cast<std::size_t>(B * C * T));  // weight of each token in a candidate's mean
  for (std::int64_t n = 0; n < B * C; ++n) {
    const std::int64_t begin = candidates[2 * n], end = candidates[2 * n + 1];
    if (begin > end || end > T) {
      fail("CandidateChooser: a candidate from token {} to {} does not lie in a text of {} tokens", begin, end, T);
    }
    for (std::int64_t t = std::max<std::int64_t>(begin, 0); t < end; ++t) {
      shares[static_cast<std::size_t>(n * T + t)] = 1.0 / static_cast<double>(end - begin);
    }
  }
  return matmul(tensor({B, C, T}, shares, states.dtype()), states);
}

}  // namespace

CandidateChooser::CandidateChooser(Scope scope, const Config& given)
    : config(given),
      transformer(scope, config.transformer,
                  {.tokens = 1 / std::sqrt(config.transformer.d_model()), .positions = 1, .segments = 1}),
      pointer(scope / "candidates" / "pointer", transformer.config.d_model(), transformer.config.d_model(), Bias::no),
      none(config.or_none ? (scope / "candidates").parameter("none", {transformer.config.d_model()}, Init::gaussian(1))
                          : Tensor()) {
  if (config.transformer.layers < 1) fail("CandidateChooser: expected a transformer with layers, got none");
}

Answers CandidateChooser::answer(const Questions& questions, Compute compute, Weights weights,
                                 const Dropout& drop) const {
  Hidden hidden = states_at_query(transformer, questions, compute, weights, drop);
  const std::int64_t B = hidden.output.size(0), d = hidden.output.size(1);
  const Tensor means = candidate_means(layer_norm(hidden.last_input, {}, {}), questions.candidates);  // (B, C, d)
  const std::int64_t C = means.size(1);
  const Tensor sought = pointer(hidden.output) / std::sqrt(d);  // (B, d_model)
  std::vector<std::uint8_t> is_padding;
  for (std::int64_t n = 0; n < B * C; ++n) is_padding.push_back(questions.candidates[2 * n] < 0);
  Tensor logits = masked_fill(reshape(matmul(means, reshape(sought, {B, d, 1})), {B, C}),
                              Booleans({B, C}, std::move(is_padding)), padding_logit);
  if (none.defined()) logits = concat({logits, matmul(sought, reshape(none, {d, 1}))}, 1);
  Hook::show(transformer.name, "logits", logits);
  return {logits, std::move(hidden.weights)};
}

Linearised CandidateChooser::logit_linearised(const AnswerPoint& point, int index) const {
  const std::int64_t d = transformer.config.d_model(), C = point.questions.candidates.shape()[1];
  const Tensor means = candidate_means(layer_norm(point.last_input, {}, {}), point.questions.candidates);  // (1, C, d)
  const Tensor compared = index < C ? reshape(slice(means, 1, index, index + 1), {d, 1}) : reshape(none, {d, 1});
  return pointer.linearised().then({[=](const Tensor& parts) { return matmul(parts, compared) / std::sqrt(d); }});
}

}  // namespace heed
