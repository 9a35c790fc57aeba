#include <heed/autograd/ops.h>
#include <heed/explain/attribution.h>
#include <heed/explain/residual_parts.h>

#include <algorithm>
#include <cmath>

namespace heed {

double Attribution::sum() const {
  double total = 0;
  for (const Term& term : terms) total += term.logit;
  for (const Rest& part : rest) total += part.logit;
  return total;
}

Attribution attribute(const Model& model, const Example& example) {
  check_has_head(model);
  const Model exact = in_float64(model);
  const Transformer& transformer = exact.transformer();
  const Batch asked = batch_of(exact, example);
  const Trace seen = trace(exact, asked);
  const std::vector<double> logits = seen.logits.to_vector();
  const auto answer = std::max_element(logits.begin(), logits.end()) - logits.begin();
  const int last = exact.layers() - 1;

  Attribution result;
  result.tokens = example.tokens;
  result.query = example.query;
  result.antecedent = example.antecedent;
  result.answer = answer_text(exact, example, static_cast<int>(answer));
  result.layer = last;
  const ResidualParts residual(transformer, asked, seen, exact.layers());
  const Tensor parts = residual.of(example.query);  // (P, d_model)
  const AnswerPoint point{reshape(seen.state, {-1}), seen.layers.back().residual_in, asked.candidates};
  const Linearised to_logit = exact.head().linearised(point, static_cast<int>(answer));
  const Linearised whole =
      transformer.final_norm ? transformer.final_norm->linearised(sum(parts, {0})).then(to_logit) : to_logit;
  result.logit = heed::sum(to_logit.linear(reshape(seen.state, {1, -1}))).item();
  if (to_logit.constant.defined()) result.logit += to_logit.constant.item();

  const std::vector<double> shares = whole.linear(parts).to_vector();
  double earlier = 0;
  bool has_earlier = false;
  for (std::size_t p = 0; p < shares.size(); ++p) {
    const auto& [what, layer, head, token] = residual.names()[p];
    if (layer == last && what == "head") {
      result.terms.push_back({head, token, shares[p]});
    } else if (layer == last) {
      result.rest.push_back({what, shares[p]});
    } else {
      earlier += shares[p];
      has_earlier = true;
    }
  }
  if (has_earlier) {
    result.rest.insert(result.rest.begin(), {last == 0 ? "the token itself" : "earlier layers", earlier});
  }
  if (whole.constant.defined()) result.rest.push_back({"biases behind the last layer", whole.constant.item()});

  const double total = result.sum();
  if (!(std::abs(total - result.logit) <= 1e-6 * std::max(1.0, std::abs(result.logit)))) {
    fail("the parts of the logit of '{}' sum to {:.9g}, but the model gives {:.9g}", result.answer, total,
         result.logit);
  }
  return result;
}

}  // namespace heed
