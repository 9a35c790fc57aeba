#pragma once
#include <heed/explain/trace.h>

#include <string>
#include <vector>

namespace heed {

/// One part of a vector of the residual stream. `what` is "token", "position", "sentence", "head" (what a head of a layer
/// brought from one token), "W_O bias", "MLP" or "norm bias".
struct ResidualPart {
  std::string what;
  int layer = -1, head = -1, token = -1;
};

/// The residual stream as a sum over the parts of the model that wrote to it (Elhage et al. 2021, "A mathematical framework for
/// transformer circuits"). Norms on the stream itself are taken at their linear form, so parts sum to the vector for every
/// placement of norms.
///
///   const ResidualParts parts(model, questions, trace(model, questions), 2);
///   const Tensor rows = parts.of(token);   // (P, d_model): their sum is what layer 2 reads at the token
class ResidualParts {
 public:
  /// Takes apart what `layer` reads; the number of layers means what the final norm reads. Needs questions about one text, and
  /// `seen` of the same model and questions. All three must live as long as this.
  ResidualParts(const Transformer& transformer, const Questions& questions, const Trace& seen, int layer);

  const std::vector<ResidualPart>& names() const { return names_; }  // P
  /// Returns the parts at one token: (P, d_model).
  Tensor of(std::int64_t token) const;

 private:
  void name_parts();
  Tensor embedded_parts(std::int64_t token) const;
  Tensor head_parts(std::size_t layer, std::int64_t token) const;

  const Transformer& transformer_;
  const Questions& questions_;
  const Trace& seen_;
  std::size_t layer_;
  std::int64_t T_;
  std::vector<ResidualPart> names_;
  std::vector<std::vector<Tensor>> brought_;  // per layer and head (T, d_model): what each token has to give
};

}  // namespace heed
