#include <heed/heed.h>

#include <functional>
#include <iostream>
#include <map>
#include <sstream>

// Computes graphs that random_graphs.py writes, one instruction per line. It prints every value, and for every input
// the gradient of the sum over all values of mean(value wave), wave_i = sin(1 + i).
using namespace heed;

namespace {

using Tensors = std::vector<Tensor>;
using Numbers = std::vector<double>;

struct Call {
  Tensors x;
  Numbers n;
  std::string text;
  int i(std::size_t at) const { return static_cast<int>(n.at(at)); }
  std::vector<std::int64_t> integers(std::size_t begin) const {
    return {n.begin() + static_cast<std::ptrdiff_t>(begin), n.end()};
  }
  std::vector<int> axes(std::size_t begin) const { return {n.begin() + static_cast<std::ptrdiff_t>(begin), n.end()}; }
  Ids ids(const Shape& shape, std::size_t begin) const {
    return Ids(shape, {n.begin() + static_cast<std::ptrdiff_t>(begin), n.end()});
  }
};

Tensor attend(
    const Call& c) {  // scale, soft_cap, what, has bias, at start, before, after, visible: rank, shape, values
  Shape shape;
  for (int axis = 0; axis < c.i(7); ++axis) shape.append(c.i(8 + static_cast<std::size_t>(axis)));
  const Booleans visible(shape, {c.n.begin() + 8 + shape.rank(), c.n.end()});
  const Mask band = Mask::window(c.i(5), c.i(6), c.i(4) ? Mask::Align::start : Mask::Align::end);
  AttentionOptions options{.mask = band & Mask(visible), .scale = c.n[0], .soft_cap = c.n[1]};
  if (c.i(3) == 1) options.bias = c.x[3];
  options.weights = c.i(2) == 1;
  options.scores = c.i(2) == 2;
  const AttentionResult parts = attention(c.x[0], c.x[1], c.x[2], options);
  return c.i(2) == 0 ? parts.output : c.i(2) == 1 ? parts.weights : parts.scores;
}

Tensor chosen(const Call& c) {  // index of the comparison
  const Tensor &a = c.x[0], &b = c.x[1];
  const std::vector<std::function<Booleans()>> comparisons{[&] { return a < b; },       [&] { return a <= b; },
                                                           [&] { return a > b; },       [&] { return a >= b; },
                                                           [&] { return equal(a, b); }, [&] { return !(a < b); }};
  return where(comparisons.at(static_cast<std::size_t>(c.i(0)))(), a * 2, b);
}

Tensor unrecorded(const Tensor& x) {
  const NoRecording none;
  return x + 0;
}

Tensor as_tensor(const Ids& ids) {
  return tensor(ids.shape(), std::vector<double>(ids.data(), ids.data() + ids.numel()), DType::float64);
}

Tensor entropy(const Call& c) {  // axis, smoothing, reduction, weighted, ignored label, labels
  const Tensor& x = c.x[0];
  Shape shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axis != c.i(0)) shape.append(x.size(axis));
  }
  const Tensor weights = arange(1, static_cast<double>(x.size(c.i(0))) + 1, 1, DType::float64);
  return cross_entropy(x, c.ids(shape, 5),
                       {.ignored_label = c.i(4),
                        .label_smoothing = c.n[1],
                        .axis = c.i(0),
                        .class_weights = c.i(3) ? weights : Tensor(),
                        .reduction = static_cast<Reduction>(c.i(2))});
}

const std::map<std::string, std::function<Tensor(const Call&)>>& table() {
  using C = const Call&;
  static const std::map<std::string, std::function<Tensor(C)>> operations{
      {"add", [](C c) { return c.x[0] + c.x[1]; }},
      {"sub", [](C c) { return c.x[0] - c.x[1]; }},
      {"mul", [](C c) { return c.x[0] * c.x[1]; }},
      {"div", [](C c) { return c.x[0] / (abs(c.x[1]) + 1); }},
      {"maximum", [](C c) { return maximum(c.x[0], c.x[1]); }},
      {"minimum", [](C c) { return minimum(c.x[0], c.x[1]); }},
      {"pow", [](C c) { return pow(abs(c.x[0]) + 0.5, tanh(c.x[1])); }},
      {"power", [](C c) { return pow(abs(c.x[0]) + 0.5, c.n[0]); }},
      {"abs", [](C c) { return abs(c.x[0]); }},
      {"sin", [](C c) { return sin(c.x[0]); }},
      {"cos", [](C c) { return cos(c.x[0]); }},
      {"erf", [](C c) { return erf(c.x[0]); }},
      {"log1p", [](C c) { return log1p(abs(c.x[0])); }},
      {"expm1", [](C c) { return expm1(tanh(c.x[0])); }},
      {"softplus", [](C c) { return softplus(c.x[0]); }},
      {"silu", [](C c) { return silu(c.x[0]); }},
      {"swiglu", [](C c) { return swiglu(c.x[0], c.x[1]); }},
      {"leaky_relu", [](C c) { return leaky_relu(c.x[0], c.n[0]); }},
      {"clamp", [](C c) { return clamp(c.x[0], c.n[0], c.n[1]); }},
      {"gelu", [](C c) { return gelu(c.x[0]); }},
      {"sigmoid", [](C c) { return sigmoid(c.x[0]); }},
      {"softmax", [](C c) { return softmax(c.x[0]); }},
      {"log_softmax", [](C c) { return log_softmax(c.x[0]); }},
      {"layer_norm", [](C c) { return layer_norm(c.x[0], {}, {}, 0.1); }},
      {"rms_norm", [](C c) { return rms_norm(c.x[0], {}, 0.1); }},
      {"min", [](C c) { return min(c.x[0], c.axes(1), c.i(0) != 0); }},
      {"max", [](C c) { return max(c.x[0], c.axes(1), c.i(0) != 0); }},
      {"sum", [](C c) { return sum(c.x[0], c.axes(1), c.i(0) != 0); }},
      {"mean", [](C c) { return mean(c.x[0], c.axes(1), c.i(0) != 0); }},
      {"var", [](C c) { return var(c.x[0], c.axes(1), c.i(0) != 0); }},
      {"prod", [](C c) { return prod(c.x[0], c.axes(1), c.i(0) != 0); }},
      {"norm", [](C c) { return norm(c.x[0], c.axes(1), c.i(0) != 0); }},
      {"logsumexp", [](C c) { return logsumexp(c.x[0], c.axes(1), c.i(0) != 0); }},
      {"cumsum",
       [](C c) {
         return cumsum(c.x[0], c.i(0), {c.i(1) != 0, c.i(2) != 0});
       }},
      {"conv",  // stride, padding, dilation, groups, each with two numbers but the last
       [](C c) {
         const ConvOptions o{{c.i(0), c.i(1)}, {c.i(2), c.i(3)}, {c.i(4), c.i(5)}, c.i(6)};
         return conv2d(c.x[0], c.x[1], {}, o);
       }},
      {"conv_transpose",
       [](C c) {
         return conv_transpose2d(c.x[0], c.x[1], {}, {{c.i(0), c.i(1)}, 0, 0, {c.i(4), c.i(5)}, c.i(6)});
       }},
      {"max_pool",
       [](C c) {
         return max_pool2d(c.x[0], {c.i(0), c.i(1)}, {{c.i(2), c.i(3)}, {c.i(4), c.i(5)}});
       }},
      {"avg_pool",
       [](C c) {
         return avg_pool2d(c.x[0], {c.i(0), c.i(1)}, {{c.i(2), c.i(3)}, {c.i(4), c.i(5)}});
       }},
      {"topk", [](C c) { return topk(c.x[0], c.i(1), c.i(0), c.i(2)).values; }},
      {"sort", [](C c) { return sort(c.x[0], c.i(0), c.i(1)).values; }},
      {"gather",
       [](C c) {
         Shape shape = c.x[0].shape();
         shape[c.i(0)] = c.i(1);
         return gather(c.x[0], c.ids(shape, 2), c.i(0));
       }},
      {"index_select", [](C c) { return index_select(c.x[0], c.ids({std::ssize(c.n) - 1}, 1), c.i(0)); }},
      {"scatter_add", [](C c) { return scatter_add(c.x[0], c.ids(c.x[1].shape(), 1), c.x[1], c.i(0)); }},
      {"scatter", [](C c) { return scatter(c.x[0], c.ids(c.x[1].shape(), 1), c.x[1], c.i(0)); }},
      {"index_add", [](C c) { return index_add(c.x[0], c.ids({std::ssize(c.n) - 1}, 1), c.x[1], c.i(0)); }},
      {"flip", [](C c) { return flip(c.x[0], c.axes(0)); }},
      {"roll", [](C c) { return roll(c.x[0], c.i(1), c.i(0)); }},
      {"stack", [](C c) { return stack(c.x, c.i(0)); }},
      {"split",
       [](C c) {
         return split(c.x[0], {c.i(1), c.x[0].size(c.i(0)) - c.i(1)}, c.i(0))[1];
       }},
      {"pad", [](C c) { return pad(c.x[0], c.i(0), c.i(1), c.i(2), c.n[3]); }},
      {"repeat", [](C c) { return repeat(c.x[0], c.integers(0)); }},
      {"tril", [](C c) { return tril(c.x[0], c.i(0)); }},
      {"triu", [](C c) { return triu(c.x[0], c.i(0)); }},
      {"flatten", [](C c) { return flatten(c.x[0], c.i(0), c.i(1)); }},
      {"transpose", [](C c) { return transpose(c.x[0], c.i(0), c.i(1)); }},
      {"row", [](C c) { return c.x[0][c.i(0)]; }},
      {"einsum", [](C c) { return c.x.size() == 1 ? einsum(c.text, c.x[0]) : einsum(c.text, c.x[0], c.x[1]); }},
      {"rotary",
       [](C c) {
         const Tensor angle = reshape(arange(0, static_cast<double>(c.x[0].size(-2)), 1, DType::float64), {-1, 1}) *
                              arange(1, c.n[0] + 1, 1, DType::float64);
         return rotary(c.x[0], cos(angle), sin(angle), static_cast<RotaryPairs>(c.i(1)));
       }},
      {"where", chosen},
      {"exp", [](C c) { return exp(tanh(c.x[0])); }},
      {"log", [](C c) { return log(abs(c.x[0]) + 0.5); }},
      {"sqrt", [](C c) { return sqrt(abs(c.x[0]) + 0.5); }},
      {"square", [](C c) { return square(c.x[0]); }},
      {"tanh", [](C c) { return tanh(c.x[0]); }},
      {"relu", [](C c) { return relu(c.x[0]); }},
      {"gelu_tanh", [](C c) { return gelu_tanh(c.x[0]); }},
      {"negate", [](C c) { return -c.x[0]; }},
      {"cast", [](C c) { return cast(cast(c.x[0], DType::float32), DType::float64); }},
      {"detached", [](C c) { return c.x[0] + unrecorded(c.x[0]); }},
      {"masked_fill", [](C c) { return masked_fill(c.x[0], c.x[0] > c.n[0], 0.25); }},
      {"best",
       [](C c) {
         const Ids best = c.i(1) ? argmax(c.x[0], c.i(0), true, c.i(2)) : argmin(c.x[0], c.i(0), true, c.i(2));
         return gather(c.x[0], best, c.i(0));
       }},
      {"order", [](C c) { return as_tensor(sort(c.x[0], c.i(0), c.i(1)).indices); }},
      {"one_hot", [](C c) { return one_hot(argmax(c.x[0], c.i(0)), c.x[0].size(c.i(0)), DType::float64); }},
      {"squeeze", [](C c) { return squeeze(c.x[0], c.i(0)); }},
      {"unsqueeze", [](C c) { return unsqueeze(c.x[0], c.i(0)); }},
      {"permute", [](C c) { return permute(c.x[0], c.axes(0)); }},
      {"slice", [](C c) { return slice(c.x[0], c.i(0), c.i(1), c.i(2), c.i(3)); }},
      {"concat", [](C c) { return concat(c.x, c.i(0)); }},
      {"broadcast_to",
       [](C c) {
         Shape shape;
         for (const std::int64_t n : c.integers(0)) shape.append(n);
         return broadcast_to(c.x[0], shape);
       }},
      {"matmul", [](C c) { return matmul(c.x[0], c.x[1]); }},
      {"linear", [](C c) { return linear(c.x[0], c.x[1], c.x[2]); }},
      {"embedding",
       [](C c) {
         return embedding(c.x[0], c.ids({2, 2}, 0));
       }},
      {"select_rows", [](C c) { return select_rows(c.x[0], c.ids({c.x[0].size(0)}, 0)); }},
      {"attention", attend},
      {"lstm", [](C c) { return lstm(c.x[0], c.x[1], c.x[2], c.x[3]); }},
      {"cross_entropy", entropy},
      {"mse", [](C c) { return mse_loss(c.x[0], c.x[1], static_cast<Reduction>(c.i(0))); }},
      {"huber", [](C c) { return huber_loss(c.x[0], c.x[1], static_cast<Reduction>(c.i(0)), 0.5); }},
      {"bce", [](C c) { return bce_with_logits(c.x[0], sigmoid(c.x[1]), static_cast<Reduction>(c.i(0))); }}};
  return operations;
}

void print(const char* what, const Tensor& x) {
  fmt::print("{}", what);
  for (const double v : x.to_vector()) fmt::print(" {:.17g}", v);
  fmt::print("\n");
}

Tensor wave(const Shape& shape) {
  return reshape(sin(arange(1, static_cast<double>(shape.numel()) + 1, 1, DType::float64)), shape);
}

void compute(const std::vector<std::string>& lines) {
  const Recording recording;
  Tensors values, inputs;
  for (const std::string& line : lines) {
    std::istringstream in(line);
    std::string name;
    std::size_t count = 0;
    in >> name >> count;
    Call call;
    if (name == "input") {
      Shape shape;
      for (std::int64_t n; count > 0 && in >> n; --count) shape.append(n);
      for (double v; in >> v;) call.n.push_back(v);
      values.push_back(variable(tensor(shape, call.n, DType::float64)));
      inputs.push_back(values.back());
      continue;
    }
    for (std::size_t i; count > 0 && in >> i; --count) call.x.push_back(values.at(i));
    if (name == "einsum") in >> call.text;
    for (double v; in >> v;) call.n.push_back(v);
    values.push_back(table().at(name)(call));
  }
  Tensor loss = zeros({}, DType::float64);
  for (const Tensor& value : values) {
    loss += mean(value * wave(value.shape()));
    print("value", value);
  }
  const Gradients gradients = backward(loss);
  for (const Tensor& input : inputs) print("gradient", gradients[input]);
  fmt::print("end\n");
}

}  // namespace

int main() {
  std::vector<std::string> lines;
  try {
    for (std::string line; std::getline(std::cin, line);) {
      if (line != "end") {
        lines.push_back(line);
        continue;
      }
      compute(lines);
      lines.clear();
    }
  } catch (const std::exception& error) {
    fmt::print("error {}\n", error.what());
    return 1;
  }
}
