#include "explain/internal/logit_parts.h"

#include <heed/autograd/ops.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace heed {

LogitParts logit_parts(const Model& model, const Batch& asked, const Trace& seen, int answer, const std::string& text,
                       Sources sources) {
  const Transformer& transformer = model.transformer();
  const ResidualParts residual(transformer, asked, seen, model.layers(), sources);
  const Tensor parts = residual.of(asked.query[0]);  // (P, d_model)
  const AnswerPoint point{reshape(seen.state, {-1}), seen.layers.back().residual_in, asked.candidates};
  const Linearised to_logit = model.head().linearised(point, answer);
  const Linearised whole =
      transformer.final_norm ? transformer.final_norm->linearised(sum(parts, {0})).then(to_logit) : to_logit;

  LogitParts result{.names = residual.names(), .logits = whole.linear(parts).to_vector()};
  result.logit = sum(to_logit.linear(seen.state)).item();
  if (to_logit.constant.defined()) result.logit += to_logit.constant.item();
  if (whole.constant.defined()) result.constant = whole.constant.item();
  const double total = std::accumulate(result.logits.begin(), result.logits.end(), result.constant.value_or(0));
  if (!(std::abs(total - result.logit) <= 1e-6 * std::max(1.0, std::abs(result.logit)))) {
    fail("the parts of the logit of '{}' sum to {:.9g}, but the model gives {:.9g}", text, total, result.logit);
  }
  return result;
}

}  // namespace heed
