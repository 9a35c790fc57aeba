// All matrices of self-attention on one sentence, small enough to follow with a pencil. The matrices are hand-made to
// show what they can express; training finds them by itself.
#include "examples/helpers.h"

#include <heed/tokenizers/tokenize.h>

#include <cmath>

using namespace heed;

void show(const char* name, const Tensor& x) { fmt::print("{:9}{}\n", name, to_string(x.shape())); }

int main() {
  const std::vector<std::string> words = tokenize("苹果 很 甜", Split::words);  // an apple, very, sweet
  constexpr int d_model = 4, d_k = d_model;

  // Four features: thing, degree, quality, pleasant.
  const Tensor X = tensor({3, d_model}, {1, 0, 0, 0,    // 苹果: a thing
                                         0, 1, 0, 0,    // 很: a degree
                                         0, 0, 1, 1});  // 甜: a quality, and pleasant
  print("X", X, words);

  // Rows: features of the word. Columns: features of its query, key or value.
  const Tensor W_Q = tensor({d_model, d_k}, {0, 0, 4, 0,  // a thing asks for a quality,
                                             0, 0, 2, 0,  // a degree for a quality,
                                             4, 0, 0, 0,  // a quality for a thing
                                             0, 0, 0, 0});
  const Tensor W_K = tensor({d_model, d_k}, {1, 0, 0, 0,    // the key of each word is its kind,
                                             0, 1, 0, 0,    //
                                             0, 0, 1, 0,    //
                                             0, 0, 0, 0});  // without the feature "pleasant":
  const Tensor W_V = tensor({d_model, d_k}, {1, 0, 0, 0,    // that one is part of the value
                                             0, 1, 0, 0,    //
                                             0, 0, 0, 0,    //
                                             0, 0, 0, 1});
  print("W_Q", W_Q);
  print("W_K", W_K);
  print("W_V", W_V);

  const Tensor Q = matmul(X, W_Q), K = matmul(X, W_K), V = matmul(X, W_V);
  print("Q = X W_Q", Q, words);
  print("K = X W_K", K, words);
  print("V = X W_V", V, words);

  const Tensor scores = matmul(Q, transpose(K));  // row: query; column: key
  const Tensor scaled = scores / std::sqrt(d_k);  // keeps the size of scores independent of d_k
  const Tensor weights = softmax(scaled);         // each row sums to 1
  const Tensor output = matmul(weights, V);       // row i: sum over j of weights_ij V_j
  print("scores = Q K^T", scores, words, words);
  print("scaled = scores / sqrt(4)", scaled, words, words);
  print("weights = softmax(scaled)", weights, words, words);
  print("output = weights V", output, words);

  // The usual sizes, d_k = d_v = 64 and 8 heads, change only the shapes. These matrices are random, not trained.
  constexpr int heads = 8, width = 64;
  Random random(1);
  std::vector<Tensor> outputs;
  fmt::print("\neach of {} heads of width {}\n", heads, width);
  for (int head = 0; head < heads; ++head) {
    const Tensor q = matmul(X, normal({d_model, width}, random)), k = matmul(X, normal({d_model, width}, random)),
                 v = matmul(X, normal({d_model, width}, random));
    const AttentionResult attended = attention(q, k, v, {.weights = true});
    outputs.push_back(attended.output);
    if (head > 0) continue;
    show("Q", q);
    show("K^T", transpose(k));
    show("weights", attended.weights);
    show("output", attended.output);
  }
  const Tensor joined = concat(outputs, 1);
  fmt::print("\nthe heads side by side, and mixed by W_O\n");
  show("joined", joined);
  show("output", matmul(joined, normal({heads * width, d_model}, random)));
}
