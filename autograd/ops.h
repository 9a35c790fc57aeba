#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/mask.h>
#include <heed/autograd/random.h>
#include <heed/autograd/tensor.h>

#include <functional>
#include <span>
#include <utility>
#include <vector>

// The differentiable operations that the first models use; more_ops.h has the others. The formula of each, its gradient and
// the samples that prove it are in the file named beside it.
//
//   const Tensor scores = matmul(Q, transpose(K)) / std::sqrt(d_k);   // (B, H, T_q, T_k)
//   const Tensor context = matmul(softmax(scores), V);                // (B, H, T_q, d_v)
//
// Results are new tensors, or views where that is said. Tensors that meet must have one dtype; their shapes broadcast by
// NumPy's rule where that is said. Negative axes count from the end. Anything else is an Error that names the operation and
// the shapes. Inside a Recording (record.h) results that depend on a variable are recorded.
namespace heed {

// Elementwise, shapes broadcast (elementwise.cpp)
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, double b);
Tensor operator-(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
Tensor operator/(const Tensor& a, double b);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);
Tensor operator-(const Tensor& x);

// Of each element: any shape -> the same (unary.cpp)
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);  // natural; -infinity at 0, NaN below
Tensor sqrt(const Tensor& x);
Tensor square(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);    // 1 / (1 + e^-x)
Tensor relu(const Tensor& x);       // max(x, 0), gradient 0 at 0
Tensor gelu(const Tensor& x);       // x Phi(x) with erf (Hendrycks & Gimpel 2016, arXiv:1606.08415)
Tensor gelu_tanh(const Tensor& x);  // its tanh approximation, same paper

// Choices; all shapes broadcast (select.cpp)
Tensor where(const Booleans& condition, const Tensor& a, const Tensor& b);  // condition ? a : b
Tensor masked_fill(const Tensor& x, const Booleans& mask, double value);    // mask ? value : x

// Over `axes`, all when empty; each axis once. `keepdim` leaves them with size 1. (reduce.cpp)
Tensor sum(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);  // accumulated in double
Tensor mean(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);
// NaN when there is one. Of several equal maxima the first takes the gradient. Of no elements: Error.
Tensor max(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

// Shapes: views of x where its strides allow it, else copies (shape_ops.cpp)
Tensor reshape(const Tensor& x, const Shape& shape);  // one size may be -1: whatever is left
Tensor transpose(const Tensor& x, int axis_a = -2, int axis_b = -1);
Tensor permute(const Tensor& x, const std::vector<int>& axes);  // axis i is x's axis axes[i]
// x[begin : end : step] along `axis`: 0 <= begin <= end <= size, step > 0.
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step = 1);
Tensor broadcast_to(const Tensor& x, const Shape& shape);   // repeated with stride 0
Tensor contiguous(const Tensor& x);                         // x itself when it has no gaps
Tensor concat(const std::vector<Tensor>& parts, int axis);  // one part or more, one after another: a copy

// Matrix products (matmul.cpp); on x86-64, of several rows, what is smaller than the smallest normal number counts as 0 in them.
Tensor matmul(const Tensor& a, const Tensor& b);  // (..., n, k) x (..., k, m) -> (..., n, m); leading axes broadcast
// x W + b: x (..., n), W (n, m), b (m) or undefined -> (..., m)
Tensor linear(const Tensor& x, const Tensor& W, const Tensor& b);

// Over the last axis; the gradient of a row that is -infinity throughout is 0 (softmax.cpp)
Tensor softmax(const Tensor& x);      // e^x / sum(e^x); 0 in such a row
Tensor log_softmax(const Tensor& x);  // x - log sum(e^x); such a row stays -infinity

// Mean over rows of -log softmax(logits)[label]: logits (..., C), labels (...) in [0, C) -> (). Rows whose label is
// `ignored_label` do not count; when none counts the loss is 0. Smoothing e in [0, 1) mixes the target with uniform e / C
// (Szegedy et al. 2016, arXiv:1512.00567). A row of -infinity throughout has the loss infinity and the gradient 0, as by
// log_softmax. (losses.cpp)
enum class Reduction { mean, sum, none };
struct CrossEntropyOptions {
  std::int32_t ignored_label = -1;
  double label_smoothing = 0;
  int axis = -1;                          // of the classes
  Tensor class_weights = {};              // (C), constants: how often a row of each label counts; undefined: 1
  Reduction reduction = Reduction::mean;  // mean: divided by the weights of the labels that count; none: labels' shape
};
Tensor cross_entropy(const Tensor& logits, const Ids& labels, const CrossEntropyOptions& options = {});

// (x - mean) / sqrt(variance + eps) * gain + bias over the last axis, of n; gain, bias (n), or both undefined
// (Ba et al. 2016, arXiv:1607.06450). (layer_norm.cpp)
Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps = 1e-5);

// By number, and by chance (gather.cpp)
Tensor embedding(const Tensor& table, const Ids& ids);      // rows of (V, d), ids in [0, V) -> (ids.shape()..., d)
Tensor select_rows(const Tensor& x, const Ids& positions);  // x[b, positions[b], :]: (B, T, d), (B) -> (B, d)
// Zeroes each element with probability p in [0, 1) and divides the rest by 1 - p (Srivastava et al. 2014). Advances `random`
// by one number.
Tensor dropout(const Tensor& x, double p, Random& random);

// softmax(Q K^T / sqrt(d_k)) V (Vaswani et al. 2017, equation 1, arXiv:1706.03762): Q (..., T_q, d_k), K (..., T_k, d_k),
// V (..., T_k, d_v), leading axes equal -> output (..., T_q, d_v), weights (..., T_q, T_k). The mask broadcasts to the
// weights. A query that sees no key gives output 0, weights 0, gradients 0. (attention.cpp)
struct AttentionResult {
  Tensor output;
  Tensor weights;  // defined only when asked for
};
// One operation after the other. `watch`, where there is one, sees Q, K, V, scores (before the mask), weights and heads (the
// output), and may replace each by a tensor of the same shape, with which the next goes on.
using AttentionWatch = std::function<void(const char* name, Tensor& value)>;
AttentionResult attention_composed(Tensor Q, Tensor K, Tensor V, const Mask& mask = {},
                                   const AttentionWatch& watch = {});
enum class Weights { no, yes };
// The same numbers in one operation, without (T_q x T_k) memory unless the weights are asked for.
AttentionResult attention(const Tensor& Q, const Tensor& K, const Tensor& V, const Mask& mask = {},
                          Weights weights = Weights::no);

// Not recorded, for what is done with gradients (reduce.cpp)
void add_in_place(Tensor& total,
                  const Tensor& x);             // total += x in total's own storage; same shape and dtype, else Error
double sum_of_squares(const Tensor& x);         // in double, the same for any number of threads
void scale_in_place(Tensor& x, double factor);  // x *= factor, in new storage where another handle sees x's

}  // namespace heed
