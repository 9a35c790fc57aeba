// Attention without parameters: a word's new vector is a weighted mean of all the words' vectors, weighted by their
// similarity.
#include "examples/helpers.h"

#include <heed/tokenizers/tokenize.h>

using namespace heed;

int main() {
  const std::vector<std::string> words = tokenize("Your journey starts with one step", Split::words);
  const Tensor X = tensor({6, 3}, {0.43, 0.15, 0.89,    // Your
                                   0.55, 0.87, 0.66,    // journey
                                   0.57, 0.85, 0.64,    // starts
                                   0.22, 0.58, 0.33,    // with
                                   0.77, 0.25, 0.10,    // one
                                   0.05, 0.80, 0.55});  // step
  print("X", X, words);

  fmt::print("\n--- one query: journey ---\n");
  const Tensor query = slice(X, 0, 1, 2);  // (1, 3)

  // How similar is each word to the query? The dot product tells: sum over features of x_j * query_j.
  const Tensor scores = sum(X * query, {1});  // (6)
  print("scores of journey", scores, {}, words);

  // Softmax turns the scores into positive weights with sum 1.
  const Tensor weights = softmax(scores);  // (6)
  print("weights of journey", weights, {}, words);
  fmt::print("\ntheir sum: {:.4f}\n", sum(weights).item());

  // Each word contributes its vector times its weight.
  const Tensor context = sum(reshape(weights, {6, 1}) * X, {0});  // (3)
  print("context of journey", context);

  fmt::print("\n--- every word is a query: three matrix products in place of loops ---\n");
  const Tensor all_scores = matmul(X, transpose(X));   // (6, 6): row = query, column = key
  const Tensor all_weights = softmax(all_scores);      // (6, 6): each row sums to 1
  const Tensor all_contexts = matmul(all_weights, X);  // (6, 3)
  print("scores = X X^T", all_scores, words, words);
  print("weights = softmax(scores)", all_weights, words, words);
  print("contexts = weights X", all_contexts, words);
}
