#include "bench/rows.h"

#include <heed/heed.h>

#include <fmt/format.h>

#include <map>
#include <type_traits>
#include <utility>

namespace heed::bench {
namespace {

using Tensors = std::vector<Tensor>;

// A call of a public function: its name in ops.h or convolution.h, how the row calls it, the shapes of its inputs, and the call. The peers make
// the same inputs from the same shape.
struct Call {
  std::string function, shown;
  std::vector<Shape> inputs;
  std::function<Tensor(Tensors&)> differentiable = {};
  std::function<void(Tensors&)> constant = {};  // instead, without a gradient
};

// Returns make(), called once per key.
template <class Make>
const auto& made_once(const std::string& key, Make make) {
  static std::map<std::string, decltype(make())> made;
  const auto entry = made.find(key);
  return entry == made.end() ? made.emplace(key, make()).first->second : entry->second;
}

// Returns i * 7919 % below for i < shape.numel().
const Ids& ids(const Shape& shape, std::int64_t below) {
  return made_once(fmt::format("{} {}", to_string(shape), below), [&] {
    std::vector<std::int32_t> values(static_cast<std::size_t>(shape.numel()));
    for (std::int64_t i = 0; i < shape.numel(); ++i) {
      values[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i * 7919 % below);
    }
    return Ids(shape, std::move(values));
  });
}

const Booleans& third(const Shape& shape) {  // every third is true
  return made_once(to_string(shape), [&] { return equal(ids(shape, 3), 0); });
}

template <class F>
constexpr std::size_t inputs_of = std::is_invocable_v<F>                     ? 0
                                  : std::is_invocable_v<F, Tensor&>          ? 1
                                  : std::is_invocable_v<F, Tensor&, Tensor&> ? 2
                                                                             : 3;

// Returns a call for each public function of ops.h, array_ops.h, indexing.h, convolution.h and recurrent.h that
// computes, with inputs of n x c numbers.
std::vector<Call> calls(std::int64_t n, std::int64_t c) {
  std::vector<Call> all;
  const Shape x{n, c}, row{c}, flat{n * c};
  using T = const Tensor&;
  // Adds a call "FUNCTION AND MORE" or "FUNCTION: SHOWN". It is differentiable if f computes a tensor from its inputs.
  const auto add = [&]<class F>(const std::string& name, F f, const std::vector<Shape>& inputs = {}) {
    const auto call = [f](Tensors& t) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) { return f(t[I]...); }
      (std::make_index_sequence<inputs_of<F>>{});
    };
    const std::size_t colon = name.find(": ");
    const std::size_t end =
        colon == name.npos ? name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") : colon;
    Call& added = all.emplace_back(Call{name.substr(0, end), colon == name.npos ? name : name.substr(colon + 2),
                                        inputs.empty() ? std::vector<Shape>(inputs_of<F>, x) : inputs});
    if constexpr (inputs_of<F> != 0 && std::is_same_v<decltype(call(std::declval<Tensors&>())), Tensor>) {
      added.differentiable = call;
    } else {
      added.constant = call;
    }
  };

  add("operator+: a + b", [](T a, T b) { return a + b; });
  add("operator-: a - b", [](T a, T b) { return a - b; });
  add("operator*: a * b", [](T a, T b) { return a * b; });
  add("operator/: a / b", [](T a, T b) { return a / b; });
  add("operator+: a + row", [](T a, T b) { return a + b; }, {x, row});
  add("operator*: a * row", [](T a, T b) { return a * b; }, {x, row});
  add("operator+: x + 2", [](T t) { return t + 2; });
  add("operator*: x * 2", [](T t) { return t * 2; });
  add("operator/: x / 3", [](T t) { return t / 3; });
  add("operator/: 2 / x", [](T t) { return 2 / t; });
  add("operator-: -x", [](T t) { return -t; });

  add("exp", exp);
  add("exp of a transposed", [](T t) { return exp(transpose(t)); });
  add("log", log);
  add("sqrt", sqrt);
  add("square", square);
  add("abs", abs);
  add("sin", sin);
  add("cos", cos);
  add("tanh", tanh);
  add("erf", erf);
  add("log1p", log1p);
  add("expm1", expm1);
  add("pow(x, 3)", [](T t) { return pow(t, 3); });
  add("pow(x, 0.5)", [](T t) { return pow(t, 0.5); });
  add("pow(x, 2.5)", [](T t) { return pow(t, 2.5); });
  add("clamp", [](T t) { return clamp(t, -0.5, 0.5); });
  add("sigmoid", sigmoid);
  add("softplus", softplus);
  add("relu", relu);
  add("round", heed::round);
  add("floor", heed::floor);
  add("ceil", heed::ceil);
  add("sign", sign);
  add("leaky_relu", [](T t) { return leaky_relu(t); });
  add("gelu", gelu);
  add("gelu_tanh", gelu_tanh);
  add("silu", silu);
  add("swiglu", swiglu);
  add("maximum", [](T a, T b) { return maximum(a, b); });
  add("minimum", [](T a, T b) { return minimum(a, b); });
  add("pow(a, b)", [](T a, T b) { return pow(a, b); });
  add("where", [=](T a, T b) { return where(third(x), a, b); });
  add("masked_fill", [=](T t) { return masked_fill(t, third(x), -1); });

  add("operator<: a < b", [](T a, T b) { return a < b; });
  add("operator<=: a <= b", [](T a, T b) { return a <= b; });
  add("operator>: a > b", [](T a, T b) { return a > b; });
  add("operator>=: a >= b", [](T a, T b) { return a >= b; });
  add("equal", [](T a, T b) { return equal(a, b); });
  add("operator==: a == b", [](T a, T b) { return a == b; });
  add("operator!=: a != b", [](T a, T b) { return a != b; });
  add("operator%: ids % 7", [=] { return ids(x, c) % 7; });
  add("operator!: !booleans", [=] { return !third(x); });
  add("operator&: booleans & booleans", [=] { return third(x) & third(x); });
  add("operator|: booleans | booleans", [=] { return third(x) | third(x); });
  add("any", [=] { return any(third(x)); });
  add("all", [=] { return heed::all(third(x)); });
  add("count", [=] { return count(third(x)); });

  add("sum", [](T t) { return sum(t); });
  add("sum, last axis", [](T t) { return sum(t, {-1}); });
  add("sum, first axis", [](T t) { return sum(t, {0}); });
  add("mean", [](T t) { return mean(t); });
  add("max", [](T t) { return max(t); });
  add("max, last axis", [](T t) { return max(t, {-1}); });
  add("max, first axis", [](T t) { return max(t, {0}); });
  add("min, last axis", [](T t) { return min(t, {-1}); });
  add("var", [](T t) { return var(t); });
  add("var, last axis", [](T t) { return var(t, {-1}); });
  add("stddev, last axis", [](T t) { return stddev(t, {-1}); });
  add("prod, last axis", [](T t) { return prod(t, -1); });
  add("prod, first axis", [](T t) { return prod(t, 0); });
  add("norm", [](T t) { return norm(t); });
  add("norm, last axis", [](T t) { return norm(t, {-1}); });
  add("logsumexp, last axis", [](T t) { return logsumexp(t, {-1}); });
  add("cumsum, last axis", [](T t) { return cumsum(t, -1); });
  add("argmax, last axis", [](T t) { return argmax(t); });
  add("argmin, last axis", [](T t) { return argmin(t); });
  add("topk 8, last axis", [](T t) { return topk(t, 8).values; });
  add("sort, last axis", [](T t) { return sort(t).values; });

  add("reshape of a transposed", [=](T t) { return reshape(transpose(t), flat); });
  add("flatten", [](T t) { return flatten(t); });
  add("transpose", [](T t) { return transpose(t); });
  add("permute", [](T t) { return permute(t, {1, 0}); });
  add("contiguous of a transposed", [](T t) { return contiguous(transpose(t)); });
  add("contiguous: clone", [](T t) { return t.clone(); });
  add("reshape: view by strides", [=](T t) { return t.view({n, c}, {c, 1}); });
  add("slice of half the columns", [=](T t) { return slice(t, 1, 0, c / 2); });
  add("split in two, the second", [=](T t) { return split(t, {n / 2, n - n / 2}, 0)[1]; });
  add("unbind, the second", [](T t) { return unbind(t)[1]; });
  add("broadcast_to", [=](T t) { return broadcast_to(t, x); }, {row});
  add("squeeze", [=](T t) { return squeeze(reshape(t, {n, 1, c}), 1); });
  add("unsqueeze", [](T t) { return unsqueeze(t, 0); });
  add("concat, first axis", [](T a, T b) { return concat({a, b}, 0); });
  add("concat, last axis", [](T a, T b) { return concat({a, b}, 1); });
  add("stack", [](T a, T b) { return stack({a, b}); });
  add("pad", [](T t) { return pad(t, 1, 1, 1); });
  add("repeat 2 x 2", [](T t) { return repeat(t, {2, 2}); });
  add("tril", [](T t) { return tril(t); });
  add("triu", [](T t) { return triu(t); });
  add("cast to float64", [](T t) { return cast(t, DType::float64); });
  add("tensor of ids", [=] { return tensor(ids(x, c)); });

  add("gather, last axis", [=](T t) { return gather(t, ids(x, c), 1); });
  add("scatter_add, last axis", [=](T a, T b) { return scatter_add(a, ids(x, c), b, 1); });
  add("scatter, last axis", [=](T a, T b) { return scatter(a, ids(x, c), b, 1); });
  add("scatter_max, last axis", [=](T a, T b) { return scatter_max(a, ids(x, c), b, 1); });
  add("index_add", [=](T a, T b) { return index_add(a, ids({n}, n), b); });
  add("to_ids", [=] { return to_ids(third(x)); });
  add("nonzero", [=] { return nonzero(third(x)); });
  add("flip, first axis", [](T t) { return flip(t, 0); });
  add("flip, last axis", [](T t) { return flip(t, 1); });
  add("roll, last axis", [](T t) { return roll(t, 1, 1); });
  add("index_select", [=](T t) { return index_select(t, ids({n}, n)); });
  add("index_select, last axis", [=](T t) { return index_select(t, ids({c}, c), 1); });
  add("embedding", [=](T t) { return embedding(t, ids({n}, n)); });
  add("select_rows", [=](T t) { return select_rows(t, ids({n / 4}, 4)); }, {{n / 4, 4, c}});
  add("one_hot", [=] { return one_hot(ids({n}, c), c); });
  add("arange", [=] { return arange(0, static_cast<double>(n * c)); });
  const auto random = std::make_shared<Random>(1);
  const std::int32_t count = static_cast<std::int32_t>(n * c);
  add("arange_ids", [=] { return arange_ids(0, count); });
  add("full_ids", [=] { return full_ids(x, 7); });
  add("random_uniform", [=] { return random_uniform(x, *random); });
  add("random_normal", [=] { return random_normal(x, *random); });
  add("random_ids", [=] { return random_ids(x, *random, 1000); });
  add("random_permutation", [=] { return random_permutation(count, *random); });
  add("dropout", [=](T t) { return dropout(t, 0.1, *random); });

  add("matmul", [](T a, T b) { return matmul(a, b); }, {x, {c, c}});
  add("matmul: inner product", [](T a, T b) { return matmul(a, b); }, {flat, flat});
  add("linear", [](T t, T W, T bias) { return linear(t, W, bias); }, {x, {c, c}, row});
  add("einsum", [](T a, T b) { return einsum("ij,kj->ik", a, b); }, {x, {c, c}});
  add("einsum, outer product", [](T a, T b) { return einsum("i,j->ij", a, b); }, {{n}, row});
  // 4 steps of n / 4 texts with c / 4 states, which are the first cells as well
  const std::vector<Shape> steps{{4, n / 4, c}, {c / 4, c}, {n / 4, c / 4}};
  add(
      "lstm", [](T gates, T U, T h) { return lstm(gates, U, h, h); }, steps);
  add(
      "lstm_composed", [](T gates, T U, T h) { return lstm_composed(gates, U, h, h); }, steps);
  // images of 8 x 8 or 32 x 32 with 4, 16 or 64 channels
  const std::int64_t size = n * c, side = size < 1 << 20 ? 8 : 32,
                     channels = size < 1 << 12   ? 4
                                : size < 1 << 20 ? 16
                                                 : 64;
  const Shape images{size / (channels * side * side), channels, side, side}, kernel{channels, channels, 3, 3};
  const Shape signals{images[0], channels, side * side}, of_signal{channels, channels, 3}, of_channels{channels};
  add("conv2d, 3 x 3", [](T t, T W, T b) { return conv2d(t, W, b, {.padding = 1}); }, {images, kernel, of_channels});
  add("conv1d, 3", [](T t, T W, T b) { return conv1d(t, W, b, {.padding = 1}); }, {signals, of_signal, of_channels});
  add("conv_transpose2d, 3 x 3", [](T t, T W, T b) { return conv_transpose2d(t, W, b, {.padding = 1}); },
      {images, kernel, of_channels});
  add("conv_transpose1d, 3", [](T t, T W, T b) { return conv_transpose1d(t, W, b, {.padding = 1}); },
      {signals, of_signal, of_channels});
  add("max_pool2d, 2 x 2", [](T t) { return max_pool2d(t, 2); }, {images});
  add("max_pool1d, 2", [](T t) { return max_pool1d(t, 2); }, {signals});
  add("avg_pool2d, 2 x 2", [](T t) { return avg_pool2d(t, 2); }, {images});
  add("avg_pool1d, 2", [](T t) { return avg_pool1d(t, 2); }, {signals});
  add("softmax", [](T t) { return softmax(t); });
  add("softmax, first axis", [](T t) { return softmax(t, 0); });
  add("log_softmax", [](T t) { return log_softmax(t); });
  add("batch_norm", [](T t, T gain, T bias) { return batch_norm(t, gain, bias).output; },
      {images, of_channels, of_channels});
  add("group_norm", [](T t, T gain, T bias) { return group_norm(t, 2, gain, bias); },
      {images, of_channels, of_channels});
  add("layer_norm", [](T t, T gain, T bias) { return layer_norm(t, gain, bias); }, {x, row, row});
  add("rms_norm", [](T a, T b) { return rms_norm(a, b); }, {x, row});
  add("cross_entropy", [=](T t) { return cross_entropy(t, ids({n}, c)); });
  add("mse_loss", [](T a, T b) { return mse_loss(a, b); });
  add("huber_loss", [](T a, T b) { return huber_loss(a, b); });
  const auto target = [=] { return tensor(third(x)); };
  add("bce_with_logits", [=](T t) { return bce_with_logits(t, target()); });
  add("accuracy", [=](T t) { return accuracy(t, ids({n}, c)); });

  // sentences of up to 128 tokens, heads of up to 64 numbers
  const std::int64_t d = std::min<std::int64_t>(64, c), T_ = std::min<std::int64_t>(128, n * c / d);
  const Shape heads{n * c / (T_ * d), T_, d}, angles{T_, d / 2};
  add("rotary", [](T t, T cosine, T sine) { return rotary(t, cosine.detach(), sine.detach(), RotaryPairs::halves); },
      {heads, angles, angles});
  add("sum, middle axis", [](T t) { return sum(t, {1}); }, {heads});
  add("max, middle axis", [](T t) { return max(t, {1}); }, {heads});
  add("prod, middle axis", [](T t) { return prod(t, {1}); }, {heads});
  add("var, middle axis", [](T t) { return var(t, {1}); }, {heads});
  add("logsumexp, middle axis", [](T t) { return logsumexp(t, {1}); }, {heads});
  add("softmax, middle axis", [](T t) { return softmax(t, 1); }, {heads});
  add("attention", [](T Q, T K, T V) { return attention(Q, K, V).output; }, {heads, heads, heads});
  add("attention with weights", [](T Q, T K, T V) { return attention(Q, K, V, {.weights = true}).weights; },
      {heads, heads, heads});
  add("attention_composed", [](T Q, T K, T V) { return attention_composed(Q, K, V).output; }, {heads, heads, heads});

  add("add_in_place", [](Tensor& a, Tensor& b) { add_in_place(a, b); });
  add("sum_of_squares", [](T t) { return sum_of_squares(t); });
  add("scale_in_place", [](Tensor& t) { scale_in_place(t, -1); });
  return all;
}

// Returns numbers from 0.5 to 2, which every function accepts.
Tensor values(const Shape& shape, std::uint64_t seed) {
  Random random(seed);
  return random_uniform(shape, random, 0.5, 2);
}

Row row_of(const Call& call, std::int64_t n, std::int64_t c, const std::string& size, bool is_forward) {
  return {.name = fmt::format("{} {}, {}", call.shown, is_forward ? "forward" : "backward", size),
          .counterpart = {{"row", "function"},
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
            if (is_forward) return [=]() mutable { call.differentiable(inputs); };
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
