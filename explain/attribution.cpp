#include "explain/internal/logit_parts.h"

#include <heed/explain/attribution.h>

#include <algorithm>

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
  const LogitParts parts = logit_parts(exact, asked, seen, static_cast<int>(answer), result.answer, Sources::each);
  result.logit = parts.logit;

  double earlier = 0;
  bool has_earlier = false;
  for (std::size_t p = 0; p < parts.logits.size(); ++p) {
    const auto& [what, layer, head, token] = parts.names[p];
    if (layer == last && what == "head") {
      result.terms.push_back({head, token, parts.logits[p]});
    } else if (layer == last) {
      result.rest.push_back({what, parts.logits[p]});
    } else {
      earlier += parts.logits[p];
      has_earlier = true;
    }
  }
  if (has_earlier) {
    result.rest.insert(result.rest.begin(), {last == 0 ? "the token itself" : "earlier layers", earlier});
  }
  if (parts.constant) result.rest.push_back({"biases behind the last layer", *parts.constant});
  return result;
}

}  // namespace heed
