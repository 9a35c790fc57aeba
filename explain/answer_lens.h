#pragma once
#include <heed/explain/residual_parts.h>

#include <string>
#include <vector>

namespace heed {

/// What a model would answer after each of its layers (logit lens; nostalgebraist 2020), and what each of its parts adds directly to
/// the logit of its answer (direct logit attribution; Elhage et al. 2021, "A mathematical framework for transformer circuits").
///
///     const AnswerLens lens = answer_lens(model, question(model, "The capital of France is"));
///     lens.layers[3].answers[0].text;   // the most probable answer after three layers
///     lens.parts[0].logit;              // of the part that adds most
///
/// The answer after a layer is that of the final norm and the head on the residual stream at the query. Later layers were trained on
/// that stream, the head was not: an answer that first appears late need not have been computed late.
struct AnswerLens {
  /// An answer and its probability.
  struct Answer {
    std::string text;
    double probability;
  };
  /// The answers after the first `layer` layers; layer 0: of the embedding.
  struct Layer {
    int layer;
    std::vector<Answer> answers;  ///< the most probable, in order
    double probability;           ///< of the model's answer
    int rank;                     ///< of the model's answer, from 1
  };
  /// What one part of the model adds to the logit. A head is one part, over all tokens that it attends to.
  struct Part {
    ResidualPart part;  ///< "bias": the constants of the final norm and of the head
    double logit;
  };
  std::vector<std::string> tokens;
  int query = 0;
  std::string answer;  ///< of the model
  double logit = 0;    ///< of the answer, before its cap
  std::vector<Layer> layers;
  std::vector<Part> parts;  ///< in order of |logit|; they sum to `logit`
};

/// Computes the lens in float64, with the `most` most probable answers of each layer. Norms on the stream are linearised at the
/// model's own values. Throws `Error` for a model without a head, and when the parts' sum differs from the logit by more than 1e-6 of it
/// (absolutely below 1).
AnswerLens answer_lens(const Model& model, const Example& example, std::int64_t most = 3);

}  // namespace heed
