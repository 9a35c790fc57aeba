#include "bench/rows.h"

#include <heed/heed.h>

#include <fmt/format.h>

#include <map>

namespace heed::bench {
namespace {

using Tensors = std::vector<Tensor>;

// A call of a public function: its name in ops.h, how the row calls it, the shapes of its inputs, and the call. The peers make
// the same inputs from the same shape.
struct Call {
  std::string function, shown;
  std::vector<Shape> inputs;
  std::function<Tensor(const Tensors&)> differentiable = {};
  std::function<void(Tensors&)> constant = {};  // instead, without a gradient
};

// Returns i * 7919 % below for i < shape.numel(), made once.
const Ids& ids(const Shape& shape, std::int64_t below) {
  static std::map<std::string, Ids> made;
  const auto [entry, is_new] = made.try_emplace(fmt::format("{} {}", to_string(shape), below));
  if (is_new) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(shape.numel()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) * 7919 % below);
    }
    entry->second = Ids(shape, std::move(values));
  }
  return entry->second;
}

const Booleans& third(const Shape& shape) {  // every third is true
  static std::map<std::string, Booleans> made;
  const auto [entry, is_new] = made.try_emplace(to_string(shape));
  if (is_new) entry->second = equal(ids(shape, 3), 0);
  return entry->second;
}

// Returns a call for each public function of ops.h that computes, with inputs of n x c numbers.
std::vector<Call> calls(std::int64_t n, std::int64_t c) {
  std::vector<Call> all;
  const Shape x{n, c}, row{c}, flat{n * c};
  const auto unary = [&](const char* function, const char* shown, auto f) {
    all.push_back({function, shown, {x}, [f](const Tensors& t) { return f(t[0]); }});
  };
  const auto binary = [&](const char* function, const char* shown, auto f) {
    all.push_back({function, shown, {x, x}, [f](const Tensors& t) { return f(t[0], t[1]); }});
  };
  const auto with = [&](const char* function, const char* shown, const std::vector<Shape>& inputs, auto f) {
    all.push_back({function, shown, inputs, f});
  };
  const auto constant = [&](const char* function, const char* shown, const std::vector<Shape>& inputs, auto f) {
    all.push_back({function, shown, inputs, {}, f});
  };
  using T = const Tensor&;

  binary("operator+", "a + b", [](T a, T b) { return a + b; });
  binary("operator-", "a - b", [](T a, T b) { return a - b; });
  binary("operator*", "a * b", [](T a, T b) { return a * b; });
  binary("operator/", "a / b", [](T a, T b) { return a / b; });
  with("operator+", "a + row", {x, row}, [](const Tensors& t) { return t[0] + t[1]; });
  with("operator*", "a * row", {x, row}, [](const Tensors& t) { return t[0] * t[1]; });
  unary("operator+", "x + 2", [](T t) { return t + 2; });
  unary("operator*", "x * 2", [](T t) { return t * 2; });
  unary("operator/", "x / 3", [](T t) { return t / 3; });
  unary("operator/", "2 / x", [](T t) { return 2 / t; });
  unary("operator-", "-x", [](T t) { return -t; });

  unary("exp", "exp", exp);
  unary("log", "log", log);
  unary("sqrt", "sqrt", sqrt);
  unary("square", "square", square);
  unary("abs", "abs", abs);
  unary("sin", "sin", sin);
  unary("cos", "cos", cos);
  unary("tanh", "tanh", tanh);
  unary("erf", "erf", erf);
  unary("log1p", "log1p", log1p);
  unary("expm1", "expm1", expm1);
  unary("pow", "pow(x, 3)", [](T t) { return pow(t, 3); });
  unary("pow", "pow(x, 2.5)", [](T t) { return pow(t, 2.5); });
  unary("clamp", "clamp", [](T t) { return clamp(t, -0.5, 0.5); });
  unary("sigmoid", "sigmoid", sigmoid);
  unary("softplus", "softplus", softplus);
  unary("relu", "relu", relu);
  unary("leaky_relu", "leaky_relu", [](T t) { return leaky_relu(t); });
  unary("gelu", "gelu", gelu);
  unary("gelu_tanh", "gelu_tanh", gelu_tanh);
  unary("silu", "silu", silu);
  binary("swiglu", "swiglu", swiglu);
  binary("maximum", "maximum", maximum);
  binary("minimum", "minimum", minimum);
  binary("pow", "pow(a, b)", [](T a, T b) { return pow(a, b); });
  binary("where", "where", [=](T a, T b) { return where(third(x), a, b); });
  unary("masked_fill", "masked_fill", [=](T t) { return masked_fill(t, third(x), -1); });

  constant("operator<", "a < b", {x, x}, [](const Tensors& t) { return t[0] < t[1]; });
  constant("operator<=", "a <= b", {x, x}, [](const Tensors& t) { return t[0] <= t[1]; });
  constant("operator>", "a > b", {x, x}, [](const Tensors& t) { return t[0] > t[1]; });
  constant("operator>=", "a >= b", {x, x}, [](const Tensors& t) { return t[0] >= t[1]; });
  constant("equal", "equal", {x, x}, [](const Tensors& t) { return equal(t[0], t[1]); });
  constant("operator!", "!booleans", {}, [=](const Tensors&) { return !third(x); });
  constant("operator&", "booleans & booleans", {}, [=](const Tensors&) { return third(x) & third(x); });
  constant("operator|", "booleans | booleans", {}, [=](const Tensors&) { return third(x) | third(x); });
  constant("any", "any", {}, [=](const Tensors&) { return any(third(x)); });
  constant("all", "all", {}, [=](const Tensors&) { return heed::all(third(x)); });
  constant("count", "count", {}, [=](const Tensors&) { return count(third(x)); });

  unary("sum", "sum", [](T t) { return sum(t); });
  unary("sum", "sum, last axis", [](T t) { return sum(t, {-1}); });
  unary("sum", "sum, first axis", [](T t) { return sum(t, {0}); });
  unary("mean", "mean", [](T t) { return mean(t); });
  unary("max", "max", [](T t) { return max(t); });
  unary("max", "max, last axis", [](T t) { return max(t, {-1}); });
  unary("max", "max, first axis", [](T t) { return max(t, {0}); });
  unary("min", "min, last axis", [](T t) { return min(t, {-1}); });
  unary("var", "var", [](T t) { return var(t); });
  unary("var", "var, last axis", [](T t) { return var(t, {-1}); });
  unary("norm", "norm", [](T t) { return norm(t); });
  unary("norm", "norm, last axis", [](T t) { return norm(t, {-1}); });
  unary("logsumexp", "logsumexp, last axis", [](T t) { return logsumexp(t, {-1}); });
  unary("cumsum", "cumsum, last axis", [](T t) { return cumsum(t, -1); });
  constant("argmax", "argmax, last axis", {x}, [](const Tensors& t) { return argmax(t[0]); });
  constant("argmin", "argmin, last axis", {x}, [](const Tensors& t) { return argmin(t[0]); });
  unary("topk", "topk 8, last axis", [](T t) { return topk(t, 8).values; });
  unary("sort", "sort, last axis", [](T t) { return sort(t).values; });

  unary("reshape", "reshape of a transposed", [=](T t) { return reshape(transpose(t), flat); });
  unary("flatten", "flatten", [](T t) { return flatten(t); });
  unary("transpose", "transpose", [](T t) { return transpose(t); });
  unary("permute", "permute", [](T t) { return permute(t, {1, 0}); });
  unary("contiguous", "contiguous of a transposed", [](T t) { return contiguous(transpose(t)); });
  unary("contiguous", "clone", [](T t) { return t.clone(); });
  unary("reshape", "view by strides", [=](T t) { return t.view({n, c}, {c, 1}); });
  unary("slice", "slice of half the columns", [=](T t) { return slice(t, 1, 0, c / 2); });
  unary("split", "split in two, the second", [=](T t) { return split(t, {n / 2, n - n / 2}, 0)[1]; });
  unary("unbind", "unbind, the second", [](T t) { return unbind(t)[1]; });
  with("broadcast_to", "broadcast_to", {row}, [=](const Tensors& t) { return broadcast_to(t[0], x); });
  unary("squeeze", "squeeze", [=](T t) { return squeeze(reshape(t, {n, 1, c}), 1); });
  unary("unsqueeze", "unsqueeze", [](T t) { return unsqueeze(t, 0); });
  binary("concat", "concat, first axis", [](T a, T b) { return concat({a, b}, 0); });
  binary("concat", "concat, last axis", [](T a, T b) { return concat({a, b}, 1); });
  binary("stack", "stack", [](T a, T b) { return stack({a, b}); });
  unary("pad", "pad", [](T t) { return pad(t, 1, 1, 1); });
  unary("repeat", "repeat 2 x 2", [](T t) { return repeat(t, {2, 2}); });
  unary("tril", "tril", [](T t) { return tril(t); });
  unary("triu", "triu", [](T t) { return triu(t); });
  unary("cast", "cast to float64", [](T t) { return cast(t, DType::float64); });
  constant("tensor", "tensor of ids", {}, [=](const Tensors&) { return tensor(ids(x, c)); });

  unary("gather", "gather, last axis", [=](T t) { return gather(t, ids(x, c), 1); });
  binary("scatter_add", "scatter_add, last axis", [=](T a, T b) { return scatter_add(a, ids(x, c), b, 1); });
  unary("index_select", "index_select", [=](T t) { return index_select(t, ids({n}, n)); });
  unary("embedding", "embedding", [=](T t) { return embedding(t, ids({n}, n)); });
  with("select_rows", "select_rows", {{n / 4, 4, c}},
       [=](const Tensors& t) { return select_rows(t[0], ids({n / 4}, 4)); });
  constant("one_hot", "one_hot", {}, [=](const Tensors&) { return one_hot(ids({n}, c), c); });
  constant("arange", "arange", {}, [=](const Tensors&) { return arange(0, static_cast<double>(n * c)); });
  const auto random = std::make_shared<Random>(1);
  const std::int32_t count = static_cast<std::int32_t>(n * c);
  constant("arange_ids", "arange_ids", {}, [=](const Tensors&) { return arange_ids(0, count); });
  constant("random_uniform", "random_uniform", {}, [=](const Tensors&) { return random_uniform(x, *random); });
  constant("random_normal", "random_normal", {}, [=](const Tensors&) { return random_normal(x, *random); });
  constant("random_ids", "random_ids", {}, [=](const Tensors&) { return random_ids(x, *random, 1000); });
  constant("random_permutation", "random_permutation", {},
           [=](const Tensors&) { return random_permutation(count, *random); });
  unary("dropout", "dropout", [=](T t) { return dropout(t, 0.1, *random); });

  with("matmul", "matmul", {x, {c, c}}, [](const Tensors& t) { return matmul(t[0], t[1]); });
  with("linear", "linear", {x, {c, c}, row}, [](const Tensors& t) { return linear(t[0], t[1], t[2]); });
  with("einsum", "einsum", {x, {c, c}}, [](const Tensors& t) { return einsum("ij,kj->ik", t[0], t[1]); });
  unary("softmax", "softmax", [](T t) { return softmax(t); });
  unary("softmax", "softmax, first axis", [](T t) { return softmax(t, 0); });
  unary("log_softmax", "log_softmax", [](T t) { return log_softmax(t); });
  with("layer_norm", "layer_norm", {x, row, row}, [](const Tensors& t) { return layer_norm(t[0], t[1], t[2]); });
  with("rms_norm", "rms_norm", {x, row}, [](const Tensors& t) { return rms_norm(t[0], t[1]); });
  unary("cross_entropy", "cross_entropy", [=](T t) { return cross_entropy(t, ids({n}, c)); });
  binary("mse_loss", "mse_loss", [](T a, T b) { return mse_loss(a, b); });
  const auto target = [=] { return tensor(third(x)); };
  unary("bce_with_logits", "bce_with_logits", [=](T t) { return bce_with_logits(t, target()); });
  constant("accuracy", "accuracy", {x}, [=](const Tensors& t) { return accuracy(t[0], ids({n}, c)); });

  // sentences of up to 128 tokens, heads of up to 64 numbers
  const std::int64_t d = std::min<std::int64_t>(64, c), T_ = std::min<std::int64_t>(128, n * c / d);
  const Shape heads{n * c / (T_ * d), T_, d}, angles{T_, d / 2};
  with("rotary", "rotary", {heads, angles, angles},
       [](const Tensors& t) { return rotary(t[0], t[1].detach(), t[2].detach(), RotaryPairs::halves); });
  with("attention", "attention", {heads, heads, heads},
       [](const Tensors& t) { return attention(t[0], t[1], t[2]).output; });
  with("attention", "attention with weights", {heads, heads, heads},
       [](const Tensors& t) { return attention(t[0], t[1], t[2], {}, Weights::yes).weights; });
  with("attention_composed", "attention_composed", {heads, heads, heads},
       [](const Tensors& t) { return attention_composed(t[0], t[1], t[2]).output; });

  constant("add_in_place", "add_in_place", {x, x}, [](Tensors& t) { add_in_place(t[0], t[1]); });
  constant("sum_of_squares", "sum_of_squares", {x}, [](const Tensors& t) { return sum_of_squares(t[0]); });
  constant("scale_in_place", "scale_in_place", {x}, [](Tensors& t) { scale_in_place(t[0], -1); });
  return all;
}

// Returns numbers from 0.5 to 2, which every function accepts.
Tensor values(const Shape& shape, std::uint64_t seed) {
  Random random(seed);
  return random_uniform(shape, random, 0.5, 2);
}

Row row_of(const Call& call, std::int64_t n, std::int64_t c, const std::string& size, bool is_forward) {
  return {.name = fmt::format("{} {}, {}", call.shown, is_forward ? "forward" : "backward", size),
          .twin = {{"row", "function"},
                   {"function", call.function},
                   {"call", call.shown},
                   {"shape", {n, c}},
                   {"forward", is_forward}},
          .prepare = [=]() -> std::function<void()> {
            Tensors inputs;
            for (std::size_t i = 0; i < call.inputs.size(); ++i) {
              const Tensor made = values(call.inputs[i], i);
              inputs.push_back(is_forward ? made : variable(made));
            }
            if (call.constant) return [=]() mutable { call.constant(inputs); };
            if (is_forward) return [=] { call.differentiable(inputs); };
            const auto recording = std::make_shared<Recording>();
            const Tensor y = call.differentiable(inputs), dy = values(y.shape(), 9).to(y.dtype());
            return [=, keep = recording] { backward(y, dy); };
          }};
}

}  // namespace

std::vector<Row> function_rows(bool quick) {
  std::vector<Row> rows;
  for (const auto& [size, elements] : {std::pair("1 KB", 1 << 8), {"32 KB", 1 << 13}, {"16 MB", 1 << 22}}) {
    if (quick && elements > 1 << 8) continue;
    const std::int64_t c = std::min<std::int64_t>(elements / 4, 1024), n = elements / c;
    for (const Call& call : calls(n, c)) {
      rows.push_back(row_of(call, n, c, size, true));
      if (call.differentiable) rows.push_back(row_of(call, n, c, size, false));
    }
  }
  return rows;
}

}  // namespace heed::bench
