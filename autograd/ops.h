#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/array_ops.h>
#include <heed/autograd/indexing.h>
#include <heed/autograd/mask.h>
#include <heed/autograd/mixed_ops.h>
#include <heed/autograd/random.h>
#include <heed/autograd/tensor.h>

#include <concepts>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

/// @file
/// Operations on tensors. The file named beside a family has the formula of each operation, its gradient, and the samples that
/// check it.
///
///     const Tensor scores = matmul(Q, transpose(K)) / std::sqrt(d_k);   // (B, H, T_q, T_k)
///     const Tensor context = matmul(softmax(scores), V);                // (B, H, T_q, d_v)
///
/// A result is a new tensor, or a view where the comment says so. All tensors of a call have one dtype. Shapes broadcast by
/// NumPy's rule where the comment says so. A negative axis counts from the end. Everything else throws `Error` that names the
/// operation and the shapes. Inside a Recording (record.h), results that depend on a variable are recorded.
namespace heed {

/// Arithmetic. Shapes broadcast. (elementwise.cpp)
///@{
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
Tensor operator%(const Tensor&, const auto&) = delete;  // the remainder: x - y * floor(x / y)
///@}
namespace detail {
[[noreturn, gnu::cold]] void fail_assignment(const Tensor& variable, char sign);
inline void check_assignable(const Tensor& a, char sign) {
  if (a.is_variable()) [[unlikely]]
    fail_assignment(a, sign);
}
}  // namespace detail
/// Assign a new tensor to the handle; nothing is written in place. Throw Error for a variable, which would stay as it is: write
/// x = x + y for a new tensor, or x.copy_from(x + y) for new values of the variable.
///@{
Tensor& operator+=(Tensor& a, const auto& b) {
  detail::check_assignable(a, '+');
  return a = a + b;
}
Tensor& operator-=(Tensor& a, const auto& b) {
  detail::check_assignable(a, '-');
  return a = a - b;
}
Tensor& operator*=(Tensor& a, const auto& b) {
  detail::check_assignable(a, '*');
  return a = a * b;
}
Tensor& operator/=(Tensor& a, const auto& b) {
  detail::check_assignable(a, '/');
  return a = a / b;
}
Tensor& operator+=(const Tensor&, const auto&) = delete;  // would change nothing: write it x.copy_from(x + y)
Tensor& operator-=(const Tensor&, const auto&) = delete;  // would change nothing: write it x.copy_from(x - y)
Tensor& operator*=(const Tensor&, const auto&) = delete;  // would change nothing: write it x.copy_from(x * y)
Tensor& operator/=(const Tensor&, const auto&) = delete;  // would change nothing: write it x.copy_from(x / y)
///@}

/// Functions of each element. The result has the shape of x. (functions.cpp, exponentials.cpp)
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);                   ///< natural logarithm; -infinity at 0, NaN below 0
Tensor sqrt(const Tensor& x);                  ///< square root
Tensor square(const Tensor& x);                ///< x^2
Tensor abs(const Tensor& x);                   ///< gradient 0 at 0
Tensor sin(const Tensor& x);                   ///< sine
Tensor cos(const Tensor& x);                   ///< cosine
Tensor tanh(const Tensor& x);                  ///< hyperbolic tangent
Tensor erf(const Tensor& x);                   ///< error function
Tensor log1p(const Tensor& x);                 ///< ln(1 + x), exact near 0
Tensor expm1(const Tensor& x);                 ///< e^x - 1, exact near 0
Tensor pow(const Tensor& x, double exponent);  ///< x^exponent
/// Returns min(max(x, low), high), with gradient 1 from low to high.
Tensor clamp(const Tensor& x, double low, double high = std::numeric_limits<double>::infinity());
Tensor sigmoid(const Tensor& x);                          ///< 1 / (1 + e^-x)
Tensor softplus(const Tensor& x);                         ///< ln(1 + e^x)
Tensor relu(const Tensor& x);                             ///< max(x, 0), gradient 0 at 0
Tensor leaky_relu(const Tensor& x, double slope = 0.01);  ///< x > 0 ? x : slope x
Tensor gelu(const Tensor& x);       ///< x Phi(x) with erf (Hendrycks & Gimpel 2016, arXiv:1606.08415)
Tensor gelu_tanh(const Tensor& x);  ///< its tanh approximation, same paper
Tensor silu(const Tensor& x);       ///< x sigmoid(x) (Elfwing et al. 2018, arXiv:1702.03118)
/// Steps: gradient 0. For a gradient of 1 write x + (round(x) - x).detach(). (rounding.cpp)
///@{
Tensor round(const Tensor& x);  ///< the nearest integer; halves go to the even one
Tensor floor(const Tensor& x);  ///< the next integer below
Tensor ceil(const Tensor& x);   ///< the next integer above
Tensor sign(const Tensor& x);   ///< -1, 0 or 1; 0 for NaN
///@}
/// Returns silu(gate) value, the product in SwiGLU (Shazeer 2020, arXiv:2002.05202). Both have one shape.
Tensor swiglu(const Tensor& gate, const Tensor& value);
void tan(const std::same_as<Tensor> auto&) = delete;    // the tangent: sin(x) / cos(x)
void log2(const std::same_as<Tensor> auto&) = delete;   // the binary logarithm: log(x) / std::log(2)
void log10(const std::same_as<Tensor> auto&) = delete;  // the decimal logarithm: log(x) / std::log(10)
void isnan(const std::same_as<Tensor> auto&) = delete;  // which elements are NaN: x != x

/// Functions of two elements. Shapes broadcast. (functions.cpp, choices.cpp)
Tensor maximum(const Tensor& a, const Tensor& b);        ///< NaN when either is NaN; equal elements share the gradient
Tensor minimum(const Tensor& a, const Tensor& b);        ///< as maximum()
Tensor maximum(const Tensor& a, double b);               ///< as above
Tensor minimum(const Tensor& a, double b);               ///< as above
Tensor pow(const Tensor& base, const Tensor& exponent);  ///< 0^b with b >= 0 has gradient 0 for b, as in PyTorch
Tensor pow(double base, const Tensor& exponent);         ///< pow(2, x)

/// Choices. Shapes broadcast. (select.cpp)
Tensor where(const Booleans& condition, const Tensor& a, const Tensor& b);                  ///< condition ? a : b
Tensor where(const Booleans& condition, const Tensor& a, double b);                         ///< condition ? a : b
Tensor where(const Booleans& condition, double a, const Tensor& b);                         ///< condition ? a : b
Tensor where(const Booleans& condition, double a, double b, DType dtype = DType::float32);  ///< condition ? a : b
Tensor masked_fill(const Tensor& x, const Booleans& mask, double value);                    ///< mask ? value : x
Ids where(const Booleans& condition, const Ids& a, const Ids& b);                           ///< condition ? a : b
Ids where(const Booleans& condition, const Ids& a, std::int32_t b);                         ///< condition ? a : b
Ids where(const Booleans& condition, std::int32_t a, const Ids& b);                         ///< condition ? a : b

/// Comparisons of each element. Shapes broadcast. NaN compares as false. (comparisons.cpp)
///@{
Booleans operator<(const Tensor& a, const Tensor& b);
Booleans operator<=(const Tensor& a, const Tensor& b);
Booleans operator>(const Tensor& a, const Tensor& b);
Booleans operator>=(const Tensor& a, const Tensor& b);
Booleans operator<(const Tensor& a, double b);
Booleans operator<=(const Tensor& a, double b);
Booleans operator>(const Tensor& a, double b);
Booleans operator>=(const Tensor& a, double b);
Booleans equal(const Tensor& a, const Tensor& b);
Booleans equal(const Tensor& a, double b);
Booleans operator==(const Tensor& a, const Tensor& b);  // equal(a, b): an element each, not one answer
Booleans operator==(const Tensor& a, double b);
Booleans operator!=(const Tensor& a, const Tensor& b);  // !equal(a, b), so true beside NaN
Booleans operator!=(const Tensor& a, double b);
///@}

/// Reductions over one axis, sum(x, -1), several, sum(x, {0, 1}), or all. `keepdim` leaves them with size 1. sum() adds 256
/// elements beside each other in their type, and all else in double. (reduce.cpp, statistics.cpp)
Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdim = false);   ///< the sum over the axes
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  ///< the mean over the axes
/// Return NaN when x holds one. The first of several equal extremes gets the gradient. Throw `Error` without elements.
Tensor max(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor min(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  ///< as max()
void max(const Tensor&, const Tensor&) = delete;                           // of two tensors: maximum(a, b)
void min(const Tensor&, const Tensor&) = delete;                           // of two tensors: minimum(a, b)
void sum(const AnyArray auto&, auto&&...) = delete;   // the sum of numbers: sum(tensor(ids)); of booleans: count(mask)
void mean(const AnyArray auto&, auto&&...) = delete;  // the mean of numbers, or the share that is true: mean(tensor(x))
/// Returns the sum of (x - mean)^2 divided by max(n - correction, 0). Use a correction of 1 to estimate the variance from a sample.
Tensor var(const Tensor& x, const Axes& axes = {}, bool keepdim = false, double correction = 0);
/// Returns the standard deviation, the root of var(). The gradient at 0 is 0.
Tensor stddev(const Tensor& x, const Axes& axes = {}, bool keepdim = false, double correction = 0);
/// Returns the product, accumulated in double; 1 without elements. Its gradient is exact beside zeros. (prod.cpp)
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// Returns sqrt(sum x^2). The gradient at 0 is 0.
Tensor norm(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// Returns log sum e^x; -infinity without elements.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// Options of cumsum(): y_j = sum of x_i for i <= j along the axis. `exclusive` sums i < j; `reversed` sums from the end. (cumsum.cpp)
struct CumsumOptions {
  bool exclusive = false, reversed = false;
};
/// Returns the cumulative sums, accumulated in double.
Tensor cumsum(const Tensor& x, int axis, const CumsumOptions& options = {});

/// Returns the positions of the greatest elements along an axis: of equal ones the first, and of NaN if there is one, as max()
/// returns. (comparisons.cpp)
Ids argmax(const Tensor& x, int axis = -1, bool keepdim = false, bool last_of_equals = false);
/// As argmax(), for the smallest element.
Ids argmin(const Tensor& x, int axis = -1, bool keepdim = false, bool last_of_equals = false);
/// Elements in order, and where they were. NaN counts as the greatest.
struct Ordered {
  Tensor values;  ///< differentiable
  Ids indices;    ///< positions along the axis, with the same shape
};
Ordered topk(const Tensor& x, std::int64_t k, int axis = -1, bool largest = true);  ///< the first k, in order
Ordered sort(const Tensor& x, int axis = -1, bool descending = false);              ///< all elements, in order

/// As the end of slice(): the end of the axis.
inline constexpr std::int64_t to_end = std::numeric_limits<std::int64_t>::max();

/// Shapes. Views of x where its strides allow it, else copies. (shape_ops.cpp, arranging.cpp; x[i] is a member of Tensor)
Tensor reshape(const Tensor& x, const Shape& shape);                  ///< one size may be -1: the remaining elements
void reshape(const Tensor& x, std::integral auto... sizes) = delete;  // sizes go in braces: reshape(x, {2, 3})
Tensor transpose(const Tensor& x, int axis_a = -2, int axis_b = -1);  ///< swaps two axes
Tensor permute(const Tensor& x, const std::vector<int>& axes);        ///< axis i of the result is axis axes[i] of x
/// Returns x[begin : end : step] along `axis`, step > 0. A negative begin or end counts from the end.
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end = to_end, std::int64_t step = 1);
Tensor broadcast_to(const Tensor& x, const Shape& shape);       ///< repeated with stride 0
Tensor contiguous(const Tensor& x);                             ///< x itself if contiguous, else a copy
Tensor squeeze(const Tensor& x, int axis);                      ///< removes an axis of size 1
Tensor squeeze(const Tensor& x);                                ///< removes all axes of size 1
Tensor unsqueeze(const Tensor& x, int axis);                    ///< adds an axis of size 1 at `axis` of the result
Tensor flatten(const Tensor& x, int first = 0, int last = -1);  ///< joins the axes from first to last
/// Cuts x along `axis` into parts of these sizes, which add up to its size.
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis);
/// Cuts x along `axis` into its elements, without that axis: x[0], x[1], ... for axis 0.
std::vector<Tensor> unbind(const Tensor& x, int axis = 0);
/// Copies.
Tensor concat(const std::vector<Tensor>& parts, int axis = 0);  ///< along an axis that exists
Tensor stack(const std::vector<Tensor>& parts, int axis = 0);   ///< along a new axis
/// Adds `value` at both ends of an axis.
Tensor pad(const Tensor& x, int axis, std::int64_t before, std::int64_t after, double value = 0);
Tensor repeat(const Tensor& x, const std::vector<std::int64_t>& times);  ///< one number per axis
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);                 ///< (..., n, m): 0 where j > i + diagonal
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);                 ///< 0 where j < i + diagonal
Tensor cast(const Tensor& x, DType dtype);                               ///< x.to(dtype) (cast.cpp)

/// The same for arrays; each returns a copy. (arrays.cpp, ids.cpp)
Ids reshape(const Ids& x, const Shape& shape);
/// As of a tensor.
Ids slice(const Ids& x, int axis, std::int64_t begin, std::int64_t end = to_end, std::int64_t step = 1);
Ids concat(const std::vector<Ids>& parts, int axis = 0);  ///< along an axis that exists
Ids broadcast_to(const Ids& x, const Shape& shape);       ///< repeated
Booleans reshape(const Booleans& x, const Shape& shape);  ///< one size may be -1
/// As of a tensor.
Booleans slice(const Booleans& x, int axis, std::int64_t begin, std::int64_t end = to_end, std::int64_t step = 1);
Booleans concat(const std::vector<Booleans>& parts, int axis = 0);  ///< along an axis that exists
/// New constants. (indices.cpp, random_tensors.cpp)
Tensor arange(double begin, double end, double step = 1, DType dtype = DType::float32);  ///< begin + i step, before end
Tensor arange(double end, DType dtype = DType::float32);                                 ///< 0, 1, ..., before end
Ids arange_ids(std::int32_t begin, std::int32_t end);                                    ///< begin, ..., end - 1
Ids arange_ids(std::int32_t end);                                                        ///< 0, ..., end - 1
Ids full_ids(const Shape& shape, std::int32_t value);                                    ///< one value
Ids full_ids(const Shape&, std::floating_point auto) = delete;  // integers: full(shape, 0.5) makes a tensor
/// Uniform in [low, high).
Tensor random_uniform(const Shape& shape, Random& random, double low = 0, double high = 1,
                      DType dtype = DType::float32);
Tensor random_uniform(const Shape& shape, Random& random, DType dtype);  ///< in [0, 1)
/// Normal numbers.
Tensor random_normal(const Shape& shape, Random& random, double mean = 0, double deviation = 1,
                     DType dtype = DType::float32);
Tensor random_normal(const Shape& shape, Random& random, DType dtype);  ///< of mean 0 and deviation 1
void random_uniform(std::integral auto, auto&&...) = delete;  // sizes go in braces: random_uniform({2, 3}, random)
void random_normal(std::integral auto, auto&&...) = delete;   // sizes go in braces: random_normal({2, 3}, random)
Ids random_ids(const Shape& shape, Random& random, std::int32_t end);  ///< uniform in [0, end)
/// Ids i with probability weights_i / sum(weights), independent of each other. weights (n), finite, at least 0.
Ids random_ids(const Shape& shape, Random& random, const Tensor& weights);
Ids random_permutation(std::int32_t n, Random& random);  ///< 0, ..., n - 1 in random order
/// Sets each element to 0 with probability p in [0, 1) and divides the rest by 1 - p (Srivastava et al. 2014). Advances `random`
/// by one number. (gather.cpp)
Tensor dropout(const Tensor& x, double p, Random& random);
Tensor dropout(const Tensor& x, double p,
               Random&& random) = delete;  // would drop the same elements at each step: keep a Random

/// Returns a b: (..., n, k) x (..., k, m) -> (..., n, m). Leading axes broadcast. A vector (k) is a row on the left and a column on the
/// right: (..., n, k) x (k) -> (..., n). On x86-64, products of several rows with k > 1 treat subnormal numbers as 0. (matmul.cpp)
Tensor matmul(const Tensor& a, const Tensor& b);
/// Returns x W + b: x (..., n), W (n, m), b (m) or undefined -> (..., m).
Tensor linear(const Tensor& x, const Tensor& W, const Tensor& b);
/// Sum products by a formula, as in NumPy: "bij,bjk->bik". Axes with the same letter have the same size, or 1, which broadcasts.
/// A letter missing from the result is summed over. A letter that occurs twice in an operand takes its diagonal. "..." stands
/// for any number of axes. Without "->" the result has the letters that occur once, in alphabetical order. (einsum.cpp)
Tensor einsum(std::string_view formula, const Tensor& a, const Tensor& b);
Tensor einsum(std::string_view formula, const Tensor& x);  ///< of one operand

/// Softmax along an axis. The gradient of a row that is -infinity throughout is 0. (softmax.cpp)
Tensor softmax(const Tensor& x, int axis = -1);      ///< e^x / sum(e^x); 0 for such a row
Tensor log_softmax(const Tensor& x, int axis = -1);  ///< x - log sum(e^x); -infinity for such a row

/// Norms over the last axis, of size n. gain and bias: (n) or undefined. (layer_norm.cpp)
/// Returns (x - mean) / sqrt(variance + eps) * gain + bias (Ba et al. 2016, arXiv:1607.06450). A bias needs a gain.
Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps = 1e-5);
/// Returns x / sqrt(mean(x^2) + eps) * gain (Zhang & Sennrich 2019, arXiv:1910.07467).
Tensor rms_norm(const Tensor& x, const Tensor& gain, double eps = 1e-6);

/// Losses. (losses.cpp)
/// How a loss of many elements becomes one number.
enum class Reduction { mean, sum, none };
/// Options of cross_entropy().
struct CrossEntropyOptions {
  std::int32_t ignored_label = -1;
  double label_smoothing = 0;
  int axis = -1;                          ///< axis of the classes
  Tensor class_weights = {};              ///< (C), a constant: weight of the rows of each label; undefined: 1
  Reduction reduction = Reduction::mean;  ///< mean: divides by the total weight of the rows; none: labels' shape
};
/// Returns the mean over rows of -log softmax(logits)[label]: logits (..., C), labels (...) in [0, C) -> (). Rows with the
/// ignored label do not count; the loss is 0 if all are ignored. Smoothing e in [0, 1) mixes the target with uniform e / C
/// (Szegedy et al. 2016, arXiv:1512.00567). A row of -infinity has loss infinity and gradient 0, as in log_softmax().
Tensor cross_entropy(const Tensor& logits, const Ids& labels, const CrossEntropyOptions& options = {});
/// Returns the mean over rows of -sum(p log softmax(logits)) over the classes, for targets that are probabilities p, of logits'
/// shape: of a teacher (Hinton et al. 2015, arXiv:1503.02531) or of mixed examples. ignored_label does not apply.
Tensor cross_entropy(const Tensor& logits, const Tensor& probabilities, const CrossEntropyOptions& options = {});
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);  ///< (x - target)^2
/// Returns d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), for d = x - target (Huber 1964). smooth_l1_loss() of
/// PyTorch with beta = delta is this divided by delta.
Tensor huber_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean, double delta = 1);
/// Returns -w t log s - (1 - t) log(1 - s), s = sigmoid(x), for targets t from 0 to 1. The weight w of positive targets broadcasts
/// to x; undefined: 1.
Tensor bce_with_logits(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean,
                       const Tensor& positive_weight = {});
/// Returns the share of rows (..., C) whose largest logit is that of the label (...). Rows with the ignored label do not
/// count, as in cross_entropy(). `axis` is the axis of the classes. Throws `Error` without another row, and for a row that holds NaN.
double accuracy(const Tensor& logits, const Ids& labels, std::int32_t ignored_label = -1, int axis = -1);

/// Rotary embedding (RoPE) rotates pairs of features by the angle of their position (Su et al. 2021, arXiv:2104.09864, equation
/// 34): (u, v) becomes (u cos - v sin, u sin + v cos). x (..., T, d); cosine and sine are constants that broadcast to
/// (..., T, r / 2), with r <= d even. The last d - r features are unchanged. (rotary.cpp)
enum class RotaryPairs {
  halves,       ///< (x_i, x_{i + r/2}), as in GPT-NeoX and the files of LLaMA
  interleaved,  ///< (x_2i, x_{2i+1}), as in the paper
};
Tensor rotary(const Tensor& x, const Tensor& cosine, const Tensor& sine, RotaryPairs pairs);  ///< rotates the pairs

/// Options of attention().
struct AttentionOptions {
  Mask mask = {};        ///< broadcasts to the weights, see Mask
  double scale = 0;      ///< 0: 1 / sqrt(d_k)
  double soft_cap = 0;   ///< 0: no cap (Gemma Team 2024, arXiv:2408.00118)
  Tensor bias = {};      ///< broadcasts to the weights, so that (heads, T_q, T_k) is one per head, and gets a gradient
  bool weights = false;  ///< whether to return the weights
  bool scores = false;   ///< whether to return scale Q K^T, before cap, bias and mask
};
/// Results of attention().
struct AttentionResult {
  Tensor output;     ///< (..., T_q, d_v)
  Tensor weights{};  ///< (..., T_q, T_k), if requested
  Tensor scores{};   ///< (..., T_q, T_k), if requested
};
/// softmax(Q K^T / sqrt(d_k)) V (Vaswani et al. 2017, equation 1, arXiv:1706.03762): Q (..., T_q, d_k), K (..., T_k, d_k),
/// V (..., T_k, d_v), leading axes equal. A fully masked row gives output 0, weights 0 and gradients 0. Without the weights,
/// attention needs no (T_q x T_k) memory. (attention.cpp)
///
///     scores = cap(scale Q K^T) + bias, cap(s) = soft_cap tanh(s / soft_cap)     output = softmax(masked scores) V
/// K and V may have fewer heads (axis -3) than Q if their number divides Q's: query head h reads head h / (H_q / H_kv)
/// (grouped-query attention; Ainslie et al. 2023, arXiv:2305.13245). To decode with a cache, concatenate earlier keys and values
/// before the new ones; Mask::causal() aligns at the end.
///
///     const AttentionResult y = attention(Q, K, V, {.mask = Mask::causal(), .weights = true});
AttentionResult attention(const Tensor& Q, const Tensor& K, const Tensor& V, const AttentionOptions& options = {});
/// Sees Q, K, V, scores (before the mask), weights and heads (the output) of attention_composed(), and may replace each by a tensor
/// of the same shape.
using AttentionWatch = std::function<void(const char* name, Tensor& value)>;
/// Computes attention with single operations. Returns all results, requested or not.
AttentionResult attention_composed(Tensor Q, Tensor K, Tensor V, const AttentionOptions& options = {},
                                   const AttentionWatch& watch = {});

/// For gradients: these functions are never recorded, and throw `Error` to write what the open Recording follows. (reduce.cpp)
void add_in_place(Tensor& total, const Tensor& x);  ///< total += x in total's storage; same shape and dtype
double sum_of_squares(const Tensor& x);             ///< in double; the same for any number of threads
void scale_in_place(Tensor& x, double factor);      ///< x *= factor; in new storage if another handle shares it

}  // namespace heed
