#pragma once
#include <heed/explain/trace.h>

#include <string>
#include <vector>

namespace heed {

/// One part of a vector of the residual stream. `what` is "token", "position", "sentence", "head" (the contribution of
/// one head of a layer from one token), "W_O bias", "MLP", "norm bias" or "projection bias".
struct ResidualPart {
  std::string what;
  int layer = -1, head = -1, token = -1;
};

/// Whether the contribution of a head is one part per source token, or one part in all (token -1).
enum class Sources { each, summed };

/// The residual stream as a sum over the parts of the model that wrote to it (Elhage et al. 2021, "A mathematical
/// framework for transformer circuits"). Norms on the stream itself are linearised, so the parts sum to the vector for
/// every placement of norms.
///
///     const ResidualParts parts(model, questions, trace(model, questions), 2);
///     const Tensor rows = parts.of(token);   // (P, d_model): they sum to the input of layer 2 at the token
class ResidualParts {
 public:
  /// Decomposes the input of `layer`; the number of layers stands for the input of the final norm. Needs questions
  /// about one text, and `seen` from the same model and questions. All three must outlive this object.
  ResidualParts(const Transformer& transformer, const Batch& texts, const Trace& seen, int layer,
                Sources sources = Sources::each);

  const std::vector<ResidualPart>& names() const { return names_; }  ///< P
  /// Returns the parts at one token: (P, d_model).
  Tensor of(std::int64_t token) const;

 private:
  void name_parts();
  Tensor embedded_parts(std::int64_t token) const;
  Tensor head_parts(std::size_t layer, std::int64_t token) const;

  const Transformer& transformer_;
  const Batch& texts_;
  const Trace& seen_;
  std::size_t layer_;
  Sources sources_;
  std::int64_t T_;
  std::vector<ResidualPart> names_;
  std::vector<std::vector<Tensor>>
      brought_;  // per layer and head (T, d_model): each token's value through W_O; Sources::each
};

}  // namespace heed
