#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/mask.h>
#include <heed/autograd/random.h>
#include <heed/autograd/tensor.h>

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

// Every differentiable operation, one line each. Shapes broadcast by NumPy's rule where two tensors meet;
// both must have one dtype. Axes may be negative. Wrong shapes throw Error.
namespace heed {

// Elementwise
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
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor square(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor relu(const Tensor& x);       // gradient 0 at 0
Tensor gelu(const Tensor& x);       // x Phi(x) with erf (Hendrycks & Gimpel 2016, arXiv:1606.08415)
Tensor gelu_tanh(const Tensor& x);  // its tanh approximation, same paper
Tensor where(const Booleans& condition, const Tensor& a, const Tensor& b);
Tensor masked_fill(const Tensor& x, const Booleans& mask, double value);  // value where mask is true

// Not recorded, for what is done with gradients:
void add_in_place(Tensor& total, const Tensor& x);  // total += x in total's own storage; same shape and dtype
double sum_of_squares(const Tensor& x);             // in double, the same for any number of threads
void scale_in_place(Tensor& x, double factor);      // x *= factor, in new storage where another handle sees x's

// Reductions over `axes` (all when empty); `keepdim` leaves them with size 1. max over nothing is an Error;
// where several elements are the maximum, the first takes the gradient.
Tensor sum(const Tensor& x, std::vector<int> axes = {}, bool keepdim = false);
Tensor mean(const Tensor& x, std::vector<int> axes = {}, bool keepdim = false);
Tensor max(const Tensor& x, std::vector<int> axes = {}, bool keepdim = false);

// Shape: views where the strides allow it
Tensor reshape(const Tensor& x, const Shape& shape);  // one size may be -1
Tensor transpose(const Tensor& x, int axis_a = -2, int axis_b = -1);
Tensor permute(const Tensor& x, const std::vector<int>& axes);
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step = 1);
Tensor broadcast_to(const Tensor& x, const Shape& shape);  // strides 0
Tensor contiguous(const Tensor& x);
Tensor concat(const std::vector<Tensor>& parts, int axis);

// Matrix product (..., n, k) x (..., k, m) -> (..., n, m); the leading axes broadcast.
Tensor matmul(const Tensor& a, const Tensor& b);
// x W + b: (..., n) x (n, m) + (m) -> (..., m). `b` may be undefined.
Tensor linear(const Tensor& x, const Tensor& W, const Tensor& b);

// Over the last axis. A row that is -infinity throughout gives 0 and gradient 0.
Tensor softmax(const Tensor& x);
Tensor log_softmax(const Tensor& x);
// (x - mean) / sqrt(variance + eps) * gain + bias over the last axis (Ba et al. 2016, arXiv:1607.06450).
// gain, bias: (n), or both undefined.
Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps = 1e-5);

// Mean over rows of -log softmax(logits)[label]: logits (N, C), labels (N) -> (). Rows whose label is
// `ignored_label` do not count; when none counts the loss is 0. Smoothing e mixes the target with uniform e /
// C (Szegedy et al. 2016, arXiv:1512.00567).
struct CrossEntropyOptions {
  std::int32_t ignored_label = -1;
  double label_smoothing = 0;
};
Tensor cross_entropy(const Tensor& logits, const Ids& labels, const CrossEntropyOptions& options = {});

// Rows of `table` (V, d) -> (ids.shape()..., d). An id outside [0, V) is an Error that names it and its
// place.
Tensor embedding(const Tensor& table, const Ids& ids);
// x[b, positions[b], :] : (B, T, d), (B) -> (B, d)
Tensor select_rows(const Tensor& x, const Ids& positions);

// Zeroes each element with probability p and divides the rest by 1 - p (Srivastava et al. 2014).
// Advances `random` by one number.
Tensor dropout(const Tensor& x, double p, Random& random);

// softmax(Q K^T / sqrt(d_k)) V (Vaswani et al. 2017, equation 1): Q (..., T_q, d_k), K (..., T_k, d_k),
// V (..., T_k, d_v), leading axes equal -> output (..., T_q, d_v), weights (..., T_q, T_k).
// A query that sees no key gives output 0, weights 0, gradients 0.
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

}  // namespace heed
