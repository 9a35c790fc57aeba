#pragma once
#include <heed/autograd/mask.h>
#include <heed/autograd/tensor.h>

namespace heed::cpu {

// Fused attention: softmax(cap(scale Q K^T) + bias) V. It computes one tile of scores at a time and keeps the running
// maximum and sum of each row, so it needs no (T_q x T_k) memory (Milakov & Gimelshein 2018, arXiv:1805.02867; Dao et
// al. 2022, arXiv:2205.14135). Q (batch..., T_q, d_k), K (batch..., T_k, d_k), V (batch..., T_k, d_v) have one dtype
// and any strides; the mask broadcasts to (batch..., T_q, T_k). The operation has checked the shapes and called
// blas_description().

// Transformations of Q K^T before softmax.
struct AttentionTerms {
  Mask mask;
  double scale;
  double soft_cap = 0;  // cap(s) = soft_cap tanh(s / soft_cap); 0: s
  Tensor bias = {};     // (batch..., T_q, T_k) with any strides, or undefined
};

struct AttentionForward {
  Tensor output;           // (batch..., T_q, d_v)
  Tensor weights;          // (batch..., T_q, T_k) if requested, else undefined
  Tensor row_max;          // (batches, T_q): the greatest score of each query; 0 in a fully masked row
  Tensor inverse_row_sum;  // (batches, T_q): 1 / sum of e^(score - row_max); 0 in a fully masked row
};
AttentionForward attention_forward(const Tensor& Q, const Tensor& K, const Tensor& V, const AttentionTerms& terms,
                                   bool want_weights);

struct AttentionGradients {
  Tensor dQ, dK, dV;  // shaped as Q, K, V
  Tensor dbias;       // (batch..., T_q, T_k) if requested
};
// Returns the gradients for dO (batch..., T_q, d_v), the gradient of forward.output. It recomputes the weights.
AttentionGradients attention_backward(const Tensor& Q, const Tensor& K, const Tensor& V, const AttentionTerms& terms,
                                      const AttentionForward& forward, const Tensor& dO, bool want_dbias = false);

}  // namespace heed::cpu
