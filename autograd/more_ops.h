#pragma once
#include <heed/autograd/ops.h>

#include <string_view>

// What models beyond the first one are made of: declared as in ops.h, in families, each in the file named beside it. What is
// said in terms of other operations is differentiated by theirs.
namespace heed {

// Of each element: any shape -> the same (functions.cpp)
Tensor abs(const Tensor& x);  // gradient 0 at 0
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor log1p(const Tensor& x);                            // ln(1 + x), exact near 0
Tensor expm1(const Tensor& x);                            // e^x - 1, exact near 0
Tensor softplus(const Tensor& x);                         // ln(1 + e^x)
Tensor silu(const Tensor& x);                             // x sigmoid(x) (Elfwing et al. 2018, arXiv:1702.03118)
Tensor leaky_relu(const Tensor& x, double slope = 0.01);  // x > 0 ? x : slope x
Tensor clamp(const Tensor& x, double low, double high);   // min(max(x, low), high), gradient 1 from low to high
Tensor pow(const Tensor& x, double exponent);             // x^exponent
// Of two, whose shapes broadcast. Where both are equal each has half of the gradient; NaN when one is.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& base, const Tensor& exponent);  // the exponent's gradient is 0 where the base is 0

// a = a + b, and so on: a new tensor, as by the operator; nothing is written in place.
template <class B>
Tensor& operator+=(Tensor& a, const B& b) {
  return a = a + b;
}
template <class B>
Tensor& operator-=(Tensor& a, const B& b) {
  return a = a - b;
}
template <class B>
Tensor& operator*=(Tensor& a, const B& b) {
  return a = a * b;
}
template <class B>
Tensor& operator/=(Tensor& a, const B& b) {
  return a = a / b;
}

// Over axes, all when empty, as max() and sum() (reduce.cpp, statistics.cpp)
Tensor min(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);
// Sum of (x - mean)^2 divided by n - correction, at least 0: 1 for the estimate from a sample.
Tensor var(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false, double correction = 0);
// sqrt(sum x^2), gradient 0 at 0
Tensor norm(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);
// log sum e^x; -infinity of none
Tensor logsumexp(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

// Comparisons, elementwise; shapes broadcast, NaN is neither (comparisons.cpp)
Booleans operator<(const Tensor& a, const Tensor& b);
Booleans operator<=(const Tensor& a, const Tensor& b);
Booleans operator>(const Tensor& a, const Tensor& b);
Booleans operator>=(const Tensor& a, const Tensor& b);
Booleans operator<(const Tensor& a, double b);
Booleans operator<=(const Tensor& a, double b);
Booleans operator>(const Tensor& a, double b);
Booleans operator>=(const Tensor& a, double b);
Booleans equal(const Tensor& a, const Tensor& b);
Booleans operator!(const Booleans& a);

// Which, along an axis, and in what order. NaN counts as the greatest; of equal elements the first comes first.
// (comparisons.cpp)
Ids argmax(const Tensor& x, int axis = -1, bool keepdim = false, bool last_of_equals = false);
Ids argmin(const Tensor& x, int axis = -1, bool keepdim = false, bool last_of_equals = false);
struct Ordered {
  Tensor values;  // with x's gradient
  Ids indices;    // of their shape: where each was along the axis
};
Ordered topk(const Tensor& x, std::int64_t k, int axis = -1, bool largest = true);  // in order, the first k
Ordered sort(const Tensor& x, int axis = -1, bool descending = false);

// Values by number: counted from 0, each in the range of the axis, else Error (indices.cpp)
Tensor gather(const Tensor& x, const Ids& indices, int axis);  // y[i, j, k] = x[i, indices[i, j, k], k] for axis 1
// y = x, then y[i, indices[i, j, k], k] += values[i, j, k], in order, for axis 1; indices and values have one shape.
Tensor scatter_add(const Tensor& x, const Ids& indices, const Tensor& values, int axis);
Tensor index_select(const Tensor& x, const Ids& indices, int axis);                  // the axis has size |indices|
Tensor one_hot(const Ids& ids, std::int64_t classes, DType dtype = DType::float32);  // (..., classes): 1 at ids, else 0

// New constants (indices.cpp)
Tensor arange(double begin, double end, double step = 1, DType dtype = DType::float32);  // begin + i step, before end
Ids arange_ids(std::int32_t begin, std::int32_t end);                                    // begin, ..., end - 1
Tensor random_uniform(const Shape& shape, Random& random, double low = 0, double high = 1,
                      DType dtype = DType::float32);
Tensor random_normal(const Shape& shape, Random& random, double mean = 0, double deviation = 1,
                     DType dtype = DType::float32);
Ids random_ids(const Shape& shape, Random& random, std::int32_t end);  // each of 0, ..., end - 1 as likely

// Shapes, in terms of reshape, slice and concat (arranging.cpp); x[i] is Tensor's
Tensor stack(const std::vector<Tensor>& parts, int axis = 0);  // along a new axis
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes,
                          int axis);                            // whose sum is the axis's
Tensor squeeze(const Tensor& x, int axis);                      // of size 1, else Error
Tensor unsqueeze(const Tensor& x, int axis);                    // a new one of size 1, counted in the result
Tensor flatten(const Tensor& x, int first = 0, int last = -1);  // these axes and those between become one
Tensor pad(const Tensor& x, int axis, std::int64_t before, std::int64_t after, double value = 0);
Tensor repeat(const Tensor& x,
              const std::vector<std::int64_t>& times);    // one number an axis: x that often, one after another
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);  // (..., n, m): 0 where j > i + diagonal
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);  // 0 where j < i + diagonal

// y_j = sum of x_i for i <= j along the axis; exclusive: i < j; reversed: from the end. Accumulated in double. (cumsum.cpp)
struct CumsumOptions {
  bool exclusive = false, reversed = false;
};
Tensor cumsum(const Tensor& x, int axis, const CumsumOptions& options = {});

// Sums of products by a formula, as in NumPy: "bij,bjk->bik". Axes of one letter have one size, or 1, which broadcasts; a
// letter that the result does not name is summed over, one that an operand names twice takes its diagonal; "..." is any
// number of axes.
// Without "->" the result has the letters that occur once, in alphabetical order. (einsum.cpp)
Tensor einsum(std::string_view formula, const Tensor& a, const Tensor& b);
Tensor einsum(std::string_view formula, const Tensor& x);

// The same values in another dtype, with a gradient, unlike Tensor::to(). (cast.cpp)
Tensor cast(const Tensor& x, DType dtype);

// Losses: reduced over all elements, or one an element (losses.cpp); cross_entropy is in ops.h
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);  // (x - target)^2
// -t log s - (1 - t) log(1 - s), s = sigmoid(x), for targets t from 0 to 1.
Tensor bce_with_logits(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
double accuracy(const Tensor& logits, const Ids& labels);  // share of rows (..., C) whose largest is their label (...)

// x / sqrt(mean(x^2) + eps) * gain over the last axis, of n; gain (n) or undefined (Zhang & Sennrich 2019,
// arXiv:1910.07467). (layer_norm.cpp)
Tensor rms_norm(const Tensor& x, const Tensor& gain, double eps = 1e-6);

// silu(gate) value, of one shape, in one pass: SwiGLU's product (Shazeer 2020, arXiv:2002.05202). (functions.cpp)
Tensor swiglu(const Tensor& gate, const Tensor& value);

// Turns pairs of numbers by the angle of their position (Su et al. 2021, arXiv:2104.09864, equation 34). x (..., T, d);
// cosine and sine, constants that broadcast to (..., T, r / 2), r <= d even: (u, v) becomes (u cos - v sin, u sin + v cos).
// The last d - r features stay as they are. (rotary.cpp)
enum class RotaryPairs {
  halves,      // (x_i, x_{i + r/2}), as in GPT-NeoX and the files of LLaMA
  neighbours,  // (x_2i, x_{2i+1}), as in the paper
};
Tensor rotary(const Tensor& x, const Tensor& cosine, const Tensor& sine, RotaryPairs pairs);

// Attention with all its options, fused as attention() is; leading axes as there, or fewer heads of K and V (axis -3) than
// of Q, whose number they divide: query head h then reads head h / (H_q / H_kv) (Ainslie et al. 2023, arXiv:2305.13245).
//   scores = cap(scale Q K^T) + bias, cap(s) = soft_cap tanh(s / soft_cap)     output = softmax(masked scores) V
// Past keys and values are concatenated before the new ones; Mask::causal() is aligned at their end. (attention.cpp)
struct AttentionOptions {
  Mask mask = {};
  double scale = 0;     // 0: 1 / sqrt(d_k)
  double soft_cap = 0;  // 0: none (Gemma Team 2024, arXiv:2408.00118)
  Tensor bias = {};     // broadcasts to the weights' shape, with a gradient; undefined: none
  Weights weights = Weights::no;
  bool scores = false;  // whether to give scale Q K^T as well, before cap, bias and mask
};
struct AttentionParts {
  Tensor output;           // (..., T_q, d_v)
  Tensor weights, scores;  // (..., T_q, T_k), defined when asked for
};
AttentionParts attention(const Tensor& Q, const Tensor& K, const Tensor& V, const AttentionOptions& options);
AttentionParts attention_composed(Tensor Q, Tensor K, Tensor V, const AttentionOptions& options,
                                  const AttentionWatch& watch = {});

}  // namespace heed
