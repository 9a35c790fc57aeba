#pragma once
#include <heed/explain/sentence_attention.h>

#include <optional>
#include <string>
#include <vector>

namespace heed {

/// Decomposes the score of one edge in one head into a sum over the parts of the model that wrote to the residual
/// stream at its two tokens (ResidualParts): embeddings, contributions of each earlier head from each token, MLPs and
/// biases. With norms linearised, queries and keys are sums over these parts p and r, and so is
///
///     score = scale q . k = sum over p and r of scale q_p . k_r
/// (Elhage et al. 2021, "A mathematical framework for transformer circuits": the QK circuit with every path open).
/// Adding a constant to all scores of a query changes no weight. The parts are therefore compared with those of another
/// key, or of the mean over all keys.
///
///     const ScoreParts parts = score_parts(model, example, 1, 0);
///     fmt::print("{} contributes {:.2f}\n", parts.query[0].what, parts.query[0].ahead);
struct ScoreParts {
  std::vector<std::string> tokens;
  int layer = 0, head = 0, from = 0, to = 0;    ///< from 0; the query and the key
  int rather = -1;                              ///< key to compare with; -1: the mean over all keys
  double score = 0, reference = 0, weight = 0;  ///< reference: the score to compare with
  std::string answer;                           ///< predicted answer; empty when the model cannot answer
  double probability = 0;                       ///< of the answer

  /// A part of the residual stream (ResidualPart), or "bias": the biases of the norm and of the matrix.
  struct Part {
    std::string what;
    int layer = -1, head = -1, token = -1;
    double score = 0, ahead = 0;  ///< sum of the products of this part; ahead: the difference from the reference
  };
  std::vector<Part> query, key;  ///< the same kinds, in the order of computation

  /// The product of one query part and one key part.
  struct Product {
    int query, key;  ///< indices of parts
    double score, ahead;
  };
  std::vector<Product> products;    ///< the largest by |ahead|; at most max_products
  Product others = {-1, -1, 0, 0};  ///< the sum of the rest

  /// The effect of removing one part from the layer's input at its token and recomputing everything after it.
  struct Cut {
    bool of_query;
    int part;
    double weight, probability;  ///< after the removal, for the same edge and the same answer
  };
  std::vector<Cut> cuts;  ///< the part with the largest difference for query and key
};

constexpr std::size_t max_products = 20;

/// With more heads of earlier layers times tokens than this, the contribution of a head is one part, not one per token.
constexpr std::int64_t max_head_parts = 6000;

/// Options of score_parts().
struct ScoreOptions {
  int from = -1;  ///< the token that attends; -1: the query
  int to = -1;    ///< the token attended to; -1: the antecedent or, if unknown, the token with the largest weight
  /// The token whose key is compared, or -1 for the mean over all keys. By default example.distractor for the antecedent, and the
  /// mean otherwise.
  std::optional<int> rather{};
  bool in_float64 = true;  ///< false: in the model's own type
};

/// Decomposes the score of head `head` in layer `layer` between two tokens. Throws `Error` when the sum differs from the score by
/// more than 1e-6 of it (absolutely below 1), or 1e-2 in the model's own type.
ScoreParts score_parts(const Model& model, const Example& example, int layer, int head,
                       const ScoreOptions& options = {});

/// Returns the antecedent's tokens: the candidate that contains it, or it alone. Empty if it is unknown (-1).
Span antecedent_span(int antecedent, const std::vector<Span>& candidates = {});

/// Returns the query's weight on the antecedent in one head: the sum over its tokens. Returns the largest weight of the query
/// when the antecedent is unknown.
double weight_on_antecedent(const SentenceAttention& sentence, int layer, int head);

/// A head, counted from 0.
struct ScoredHead {
  int layer, head;
};

/// Returns the head with the largest weight_on_antecedent().
ScoredHead pointing_head(const SentenceAttention& sentence);

}  // namespace heed
