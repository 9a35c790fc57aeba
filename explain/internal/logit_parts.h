#pragma once
#include <heed/explain/residual_parts.h>

#include <optional>
#include <string>
#include <vector>

namespace heed {

/// The logit of an answer, before its cap, as a sum over the parts of the residual stream at the query and a constant.
struct LogitParts {
  std::vector<ResidualPart> names;
  std::vector<double> logits;        ///< of each part
  std::optional<double> constant{};  ///< of the final norm and of the head, where they have one
  double logit = 0;                  ///< as the head computes it
};

/// Splits the logit number `answer` for one question, whose trace is `seen`. Norms are linearised. Throws `Error` when the sum differs
/// from the logit by more than 1e-6 of it (absolutely below 1); the message calls the answer `text`.
LogitParts logit_parts(const Model& model, const Batch& asked, const Trace& seen, int answer, const std::string& text,
                       Sources sources);

}  // namespace heed
