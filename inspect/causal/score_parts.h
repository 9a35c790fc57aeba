#pragma once
#include "files/json.h"
#include "run/saved_model.h"

#include <string>
#include <vector>

namespace heed {

// Why a token attends to another in one head: its score as a sum over what wrote the two tokens' residual vectors. A vector
// x that a layer reads is the sum of its token's and position's embedding, of what each head of each earlier layer brought
// from each token (weight * V W_O), of MLPs and biases. With the mean and deviation of the layer's norm, and of the head's
// own where queries and keys are normalised, taken as they are, q and k are sums over these parts p and r, and so is
//   score = q . k / sqrt(d_k) = sum over p and r of q_p . k_r / sqrt(d_k)
// (Elhage et al. 2021, "A mathematical framework for transformer circuits", whose QK circuit this is with every path open).
// Adding a number to all scores of a query changes no weight: what counts is by how much a score is ahead of another key's,
// or of the mean over all keys. Keys have parts of the same kinds, so that this is a sum over p and r, too.
struct ScoreParts {
  std::vector<std::string> tokens;
  int layer = 0, head = 0, from = 0, to = 0;    // from 0; the query and the key
  int rather = -1;                              // ahead of this key's score; -1: of the mean over all keys
  double score = 0, reference = 0, weight = 0;  // reference: what the score is compared with
  std::string answer;                           // the word that the model predicts
  double probability = 0;                       // its

  // "token", "position", "sentence", "head" (of layer and head, from `token`), "W_O bias" and "MLP" (of a layer), "bias":
  // what the norm's and the matrix's bias add, which no part of the residual does.
  struct Part {
    std::string what;
    int layer = -1, head = -1, token = -1;
    double score = 0, ahead = 0;  // of all products that it is in
  };
  std::vector<Part> query, key;  // the same kinds; in the order in which they were written

  struct Product {
    int query, key;  // parts
    double score, ahead;
  };
  std::vector<Product> products;    // those furthest ahead or behind; at most most_products
  Product others = {-1, -1, 0, 0};  // the sum of the rest

  // A part taken out of what the layer reads at its token; everything after that, norms too, computed anew.
  struct Cut {
    bool of_query;
    int part;
    double weight, probability;  // then of the same edge, of the same answer
  };
  std::vector<Cut> cuts;  // the part that is furthest ahead on either side
};

constexpr std::size_t most_products = 20;

// In head `head` of layer `layer`, of the query (or token `from`, when it is not -1) to token `to` (-1: the antecedent, or
// where that is not known the token with the largest weight), rather than to example.distractor, where there is one.
// Computed in float64. Error when the parts do not add up to the score to 1e-6 of it (of 1 where it is smaller).
ScoreParts score_parts(const SavedModel& model, const Example& example, int layer, int head, int from = -1,
                       int to = -1);

/// Returns the query's weight on the antecedent in one head: the sum over its tokens. Returns the largest weight of the query
/// when the antecedent is unknown.
double weight_on_antecedent(const SentenceAttention& sentence, int layer, int head);

/// The head with the largest weight_on_antecedent().
struct ScoredHead {
  int layer, head;
};
ScoredHead pointing_head(const SentenceAttention& sentence);

// Layers, heads and tokens count from 0.
Json score_parts_json(const ScoreParts& parts);

}  // namespace heed
