#include "inspect/causal/attribution.h"

#include <heed/autograd/ops.h>
#include <heed/nn/hook.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace heed {
namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double mean_of(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

// How much one vector of a sum adds to a logit, behind a norm whose mean (of RMSNorm: 0) and deviation are those of the
// whole sum.
class Projection {
 public:
  Projection(const Norm& norm, const std::vector<double>& whole, std::vector<double> word)
      : word_(std::move(word)), centred_(norm.kind == Norm::Kind::layer) {
    if (norm.bias.defined()) bias_ = dot(norm.bias.to_vector(), word_);
    const std::vector<double> gain = norm.gain.to_vector();
    const double centre = centred_ ? mean_of(whole) : 0;
    double variance = 0;
    for (const double x : whole) variance += (x - centre) * (x - centre) / static_cast<double>(whole.size());
    for (std::size_t i = 0; i < word_.size(); ++i) word_[i] *= gain[i] / std::sqrt(variance + norm.eps);
  }
  double operator()(const std::vector<double>& part) const {
    const double mean = centred_ ? mean_of(part) : 0;
    return dot(part, word_) - mean * std::accumulate(word_.begin(), word_.end(), 0.0);
  }
  double bias() const { return bias_; }

 private:
  std::vector<double> word_;  // its vector, as it is before the norm
  bool centred_;
  double bias_ = 0;
};

}  // namespace

double Attribution::sum() const {
  double total = 0;
  for (const Term& term : terms) total += term.logit;
  for (const Rest& part : rest) total += part.logit;
  return total;
}

Attribution attribute(const SavedModel& model, const Example& example) {
  const Reader& reader = *model.reader;
  const EncoderBlock& last = reader.encoder.blocks.back();
  const AttentionConfig& config = last.attention.config;
  std::map<std::string, Tensor> values;
  {
    const Hook hook([&](const std::string& name, Tensor& value) { values[name] = value.to(DType::float64); });
    reader(reader_input(reader, model.vocabulary, example));
  }
  const auto of_last = [&](const char* what) { return values.at(last.name + what); };
  const auto at_query = [&](const Tensor& x) {  // (1, T, d_model) -> (d_model)
    return slice(x, 1, example.query, example.query + 1).to_vector();
  };
  const std::vector<double> logits = values.at("logits").to_vector();
  const auto answer = std::max_element(logits.begin(), logits.end()) - logits.begin();

  Attribution result;
  result.tokens = example.tokens;
  result.query = example.query;
  result.antecedent = example.antecedent;
  result.answer = model.vocabulary.word(static_cast<int>(answer));
  result.logit = logits[static_cast<std::size_t>(answer)];
  result.layer = static_cast<int>(reader.encoder.blocks.size()) - 1;
  const Projection projection(reader.encoder.norm, at_query(of_last(".output")),
                              slice(reader.unembedding, 0, answer, answer + 1).to_vector());

  const Tensor W_O = last.attention.W_O.weight.to(DType::float64);
  const Tensor weights = of_last(".attention.weights"),
               V = of_last(".attention.V");  // (1, heads, T, T), (1, kv_heads, T, d_v)
  for (int head = 0; head < config.heads; ++head) {
    const int kv_head = head / (config.heads / config.kv_heads);
    const Tensor brought =  // (T, d_model): what each token has to give
        matmul(reshape(slice(V, 1, kv_head, kv_head + 1), {V.size(2), V.size(3)}),
               slice(W_O, 0, head * config.d_v, (head + 1) * config.d_v));
    for (int source = 0; source < std::ssize(example.tokens); ++source) {
      const double weight = weights.at({0, head, example.query, source});
      result.terms.push_back({head, source, weight * projection(slice(brought, 0, source, source + 1).to_vector())});
    }
  }
  if (last.residual == Residual::yes) {
    const bool is_only = result.layer == 0;
    const std::string before =
        is_only ? "embedded" : reader.encoder.blocks[static_cast<std::size_t>(result.layer) - 1].name + ".output";
    result.rest.push_back({is_only ? "the token itself" : "earlier layers", projection(at_query(values.at(before)))});
  }
  if (last.attention.W_O.bias.defined()) {
    result.rest.push_back({"W_O bias", projection(last.attention.W_O.bias.to_vector())});
  }
  if (last.mlp) result.rest.push_back({"MLP", projection(at_query(of_last(".mlp.out.output")))});
  if (reader.encoder.norm.bias.defined()) result.rest.push_back({"final norm bias", projection.bias()});
  if (reader.output_bias.defined()) result.rest.push_back({"output bias", reader.output_bias.at({answer})});

  const double sum = result.sum();
  if (!(std::abs(sum - result.logit) <= 1e-4 * std::max(1.0, std::abs(result.logit)))) {
    fail("the parts of the logit of '{}' sum to {:.6g}, but the model gives {:.6g}", result.answer, sum, result.logit);
  }
  return result;
}

}  // namespace heed
