#include "tests/autograd/helpers.h"

#include <heed/autograd/convolution.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/recurrent.h>

#include <exception>
#include <string>

using namespace heed;

// Calls every public operation with arguments that a user may pass by mistake. It must give a result, or an Error that begins with
// its own name.
namespace {

constexpr std::int64_t huge = std::int64_t{1} << 62;
constexpr double endless = std::numeric_limits<double>::infinity();

// The arguments of one call, each taken at random from a list.
class Given {
 public:
  explicit Given(std::uint64_t seed) : random(seed) {}

  Tensor tensor() {
    static const std::vector<Tensor> all{Tensor(),
                                         ones({}),
                                         ones({0}),
                                         ones({0, 3}),
                                         ones({3}),
                                         ones({2, 3}),
                                         ones({3, 2}),
                                         ones({1, 3}),
                                         ones({2, 3, 4}),
                                         ones({2, 2}),
                                         ones({3, 1}),
                                         ones({3, 3}, DType::float64),
                                         ones({2, 0}),
                                         ones({2, 3}),
                                         ones({2, 2, 3}),
                                         ones({0, huge}),
                                         ones({huge, 0, 3}),
                                         transpose(ones({3, 2})),
                                         ones({2, 2, 3, 3}),
                                         ones({1, 1, 1, 1, 1, 1, 1, 2}),
                                         ones({2, 3}, DType::float64)};
    const Tensor x = one_of(all);
    if (!x.defined() || random.below(2) != 0) return x;
    drew_variable = true;
    return variable(x);
  }
  // A parameter of the channels of x, or any tensor.
  Tensor for_channels(const Tensor& x) {
    return x.rank() > 1 && x.size(1) < 9 && flag() ? ones({x.size(1)}, x.dtype()) : tensor();
  }
  Ids ids() {
    return one_of<Ids>({Ids(), Ids({}, {0}), Ids({2}, {1, 0}), Ids({3}, {0, 1, 2}), Ids({2}, {7, -1}),
                        Ids({2, 3}, {0, 1, 0, 1, 0, 1}), Ids({1, 1, 1, 1, 1, 1, 1, 1}, {0})});
  }
  Booleans booleans() {
    return one_of<Booleans>({Booleans(), Booleans({}, {1}), Booleans({3}, {0, 1, 1}), Booleans({2, 1}, {0, 1}),
                             Booleans({5}, {0, 1, 1, 0, 1}), Booleans({1, 1, 1, 1, 1, 1, 1, 1}, {1})});
  }
  Shape shape() {
    return one_of<Shape>({{},
                          {3},
                          {2, 3},
                          {6},
                          {0},
                          {-1},
                          {-1, -1},
                          {-2, 3},
                          {huge, huge},
                          {huge},
                          {huge, 0},
                          {0, huge, huge},
                          {3, -1},
                          {2, 3, 1, 1, 1, 1, 1, 1}});
  }
  std::vector<int> axes() {
    return one_of<std::vector<int>>({{}, {0}, {1}, {-1}, {0, 0}, {0, -1}, {1, 0}, {7}, {0, 1, 2}});
  }
  int axis() { return one_of<int>({0, 1, -1, 2, -2, 9, -9, std::numeric_limits<int>::min()}); }
  std::int64_t size() { return one_of<std::int64_t>({0, 1, 2, 3, -1, huge, std::numeric_limits<std::int64_t>::min()}); }
  std::vector<std::int64_t> sizes() {
    return one_of<std::vector<std::int64_t>>({{}, {2}, {1, 1}, {2, 1}, {-1, 3}, {huge, huge}, {1, 2, 0}});
  }
  double number() { return one_of<double>({0, 1, -1, 0.5, 1e300, std::nan(""), endless, -endless}); }
  DType dtype() { return flag() ? DType::float32 : DType::float64; }
  bool flag() { return random.below(2) == 0; }
  std::vector<Tensor> tensors() {
    std::vector<Tensor> all;
    for (std::int64_t i = random.below(4); i > 0; --i) all.push_back(tensor());
    return all;
  }
  Reduction reduction() { return one_of<Reduction>({Reduction::mean, Reduction::sum, Reduction::none}); }
  AttentionOptions attention_options() {
    return {.mask = flag() ? Mask() : Mask(booleans()),
            .scale = flag() ? 0 : number(),
            .soft_cap = flag() ? 0 : number(),
            .bias = flag() ? Tensor() : tensor(),
            .weights = !flag(),
            .scores = flag()};
  }
  PoolOptions pool_options() { return {flag() ? 0 : size(), flag() ? 0 : size()}; }
  ConvOptions conv_options() { return flag() ? ConvOptions{} : ConvOptions{size(), {size(), 0}, size(), size()}; }
  const char* formula() {
    return one_of<const char*>({"ij,jk->ik", "i,j->ij", "...i,...i", "ij", "ii", "...", "i->", "", ",", "->", "a1",
                                "ij,ij->k", "...a,...b->...ab", "abcdefgh,ijklmnop->abcdefghijklmnop", "abc->ac"});
  }

  Random random;
  bool drew_variable = false;

 private:
  template <class T>
  T one_of(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(random.below(std::ssize(all)))];
  }
};

struct Call {
  std::string name;
  std::function<Tensor(Given&)> run;
};

template <class F>
Call call(const char* name, F f) {
  return {name, [f](Given& given) {
            if constexpr (std::is_same_v<decltype(f(given)), Tensor>) {
              return f(given);
            } else {
              f(given);
              return Tensor();
            }
          }};
}

std::vector<Call> elementwise_calls() {
  return {call("add", [](Given& g) { return g.tensor() + g.tensor(); }),
          call("subtract", [](Given& g) { return g.tensor() - g.tensor(); }),
          call("multiply", [](Given& g) { return g.tensor() * g.tensor(); }),
          call("divide", [](Given& g) { return g.tensor() / g.tensor(); }),
          call("add", [](Given& g) { return g.tensor() + g.number(); }),
          call("subtract", [](Given& g) { return g.tensor() - g.number(); }),
          call("multiply", [](Given& g) { return g.tensor() * g.number(); }),
          call("divide", [](Given& g) { return g.tensor() / g.number(); }),
          call("add", [](Given& g) { return g.number() + g.tensor(); }),
          call("subtract", [](Given& g) { return g.number() - g.tensor(); }),
          call("multiply", [](Given& g) { return g.number() * g.tensor(); }),
          call("divide", [](Given& g) { return g.number() / g.tensor(); }),
          call("negate", [](Given& g) { return -g.tensor(); }),
          call("exp", [](Given& g) { return exp(g.tensor()); }),
          call("log", [](Given& g) { return log(g.tensor()); }),
          call("sqrt", [](Given& g) { return sqrt(g.tensor()); }),
          call("square", [](Given& g) { return square(g.tensor()); }),
          call("tanh", [](Given& g) { return tanh(g.tensor()); }),
          call("sigmoid", [](Given& g) { return sigmoid(g.tensor()); }),
          call("relu", [](Given& g) { return relu(g.tensor()); }),
          call("gelu", [](Given& g) { return gelu(g.tensor()); }),
          call("gelu_tanh", [](Given& g) { return gelu_tanh(g.tensor()); }),
          call("abs", [](Given& g) { return abs(g.tensor()); }),
          call("sin", [](Given& g) { return sin(g.tensor()); }),
          call("cos", [](Given& g) { return cos(g.tensor()); }),
          call("erf", [](Given& g) { return erf(g.tensor()); }),
          call("log1p", [](Given& g) { return log1p(g.tensor()); }),
          call("expm1", [](Given& g) { return expm1(g.tensor()); }),
          call("softplus", [](Given& g) { return softplus(g.tensor()); }),
          call("silu", [](Given& g) { return silu(g.tensor()); }),
          call("swiglu", [](Given& g) { return swiglu(g.tensor(), g.tensor()); }),
          call("leaky_relu", [](Given& g) { return leaky_relu(g.tensor(), g.number()); }),
          call("clamp", [](Given& g) { return clamp(g.tensor(), g.number(), g.number()); }),
          call("pow", [](Given& g) { return pow(g.tensor(), g.number()); }),
          call("pow", [](Given& g) { return pow(g.tensor(), g.tensor()); }),
          call("maximum", [](Given& g) { return maximum(g.tensor(), g.tensor()); }),
          call("minimum", [](Given& g) { return minimum(g.tensor(), g.tensor()); }),
          call("where", [](Given& g) { return where(g.booleans(), g.tensor(), g.tensor()); }),
          call("masked_fill", [](Given& g) { return masked_fill(g.tensor(), g.booleans(), g.number()); }),
          call("<", [](Given& g) { return g.tensor() < g.tensor(); }),
          call("<=", [](Given& g) { return g.tensor() <= g.tensor(); }),
          call(">", [](Given& g) { return g.tensor() > g.tensor(); }),
          call(">=", [](Given& g) { return g.tensor() >= g.tensor(); }),
          call("<", [](Given& g) { return g.tensor() < g.number(); }),
          call("<=", [](Given& g) { return g.tensor() <= g.number(); }),
          call(">", [](Given& g) { return g.tensor() > g.number(); }),
          call(">=", [](Given& g) { return g.tensor() >= g.number(); }),
          call("equal", [](Given& g) { equal(g.tensor(), g.tensor()); }),
          call("!", [](Given& g) { !g.booleans(); }),
          call("cast", [](Given& g) { return cast(g.tensor(), g.dtype()); }),
          call("dropout", [](Given& g) { return dropout(g.tensor(), g.number(), g.random); })};
}

std::vector<Call> reducing_calls() {
  return {call("sum", [](Given& g) { return sum(g.tensor(), g.axes(), g.flag()); }),
          call("mean", [](Given& g) { return mean(g.tensor(), g.axes(), g.flag()); }),
          call("max", [](Given& g) { return max(g.tensor(), g.axes(), g.flag()); }),
          call("min", [](Given& g) { return min(g.tensor(), g.axes(), g.flag()); }),
          call("var", [](Given& g) { return var(g.tensor(), g.axes(), g.flag(), g.number()); }),
          call("norm", [](Given& g) { return norm(g.tensor(), g.axes(), g.flag()); }),
          call("logsumexp", [](Given& g) { return logsumexp(g.tensor(), g.axes(), g.flag()); }),
          call("argmax", [](Given& g) { argmax(g.tensor(), g.axis(), g.flag(), g.flag()); }),
          call("argmin", [](Given& g) { argmin(g.tensor(), g.axis(), g.flag(), g.flag()); }),
          call("topk", [](Given& g) { return topk(g.tensor(), g.size(), g.axis(), g.flag()).values; }),
          call("sort", [](Given& g) { return sort(g.tensor(), g.axis(), g.flag()).values; }),
          call("cumsum",
               [](Given& g) {
                 return cumsum(g.tensor(), g.axis(), {g.flag(), g.flag()});
               }),
          call("softmax", [](Given& g) { return softmax(g.tensor(), g.axis()); }),
          call("log_softmax", [](Given& g) { return log_softmax(g.tensor(), g.axis()); }),
          call("where", [](Given& g) { return where(g.booleans(), g.tensor(), 1.0); }),
          call("where", [](Given& g) { return where(g.booleans(), 1.0, g.tensor()); }),
          call("layer_norm",
               [](Given& g) {
                 const Tensor gain = g.tensor();
                 return layer_norm(g.tensor(), gain, g.flag() ? gain : g.tensor(), g.number());
               }),
          call("layer_norm", [](Given& g) { return layer_norm(g.tensor(), {}, {}, g.number()); }),
          call("batch_norm",
               [](Given& g) {
                 const Tensor x = g.tensor();
                 return batch_norm(x, g.for_channels(x), g.for_channels(x), g.number()).output;
               }),
          call("group_norm",
               [](Given& g) {
                 const Tensor x = g.tensor();
                 return group_norm(x, g.size(), g.for_channels(x), g.for_channels(x), g.number());
               }),
          call("rms_norm", [](Given& g) { return rms_norm(g.tensor(), g.tensor(), g.number()); }),
          call("mse_loss", [](Given& g) { return mse_loss(g.tensor(), g.tensor(), g.reduction()); }),
          call("huber_loss", [](Given& g) { return huber_loss(g.tensor(), g.tensor(), g.reduction(), g.number()); }),
          call("bce_with_logits", [](Given& g) { return bce_with_logits(g.tensor(), g.tensor(), g.reduction()); }),
          call("accuracy", [](Given& g) { accuracy(g.tensor(), g.ids(), -1, g.axis()); }),
          call("cross_entropy", [](Given& g) {
            return cross_entropy(g.tensor(), g.ids(),
                                 {.label_smoothing = g.flag() ? 0 : g.number(),
                                  .axis = g.axis(),
                                  .class_weights = g.flag() ? Tensor() : g.tensor(),
                                  .reduction = g.reduction()});
          })};
}

std::vector<Call> arranging_calls() {
  return {
      call("reshape", [](Given& g) { return reshape(g.tensor(), g.shape()); }),
      call("transpose", [](Given& g) { return transpose(g.tensor(), g.axis(), g.axis()); }),
      call("permute", [](Given& g) { return permute(g.tensor(), g.axes()); }),
      call("slice", [](Given& g) { return slice(g.tensor(), g.axis(), g.size(), g.size(), g.size()); }),
      call("broadcast_to", [](Given& g) { return broadcast_to(g.tensor(), g.shape()); }),
      call("contiguous", [](Given& g) { return contiguous(g.tensor()); }),
      call("concat", [](Given& g) { return concat(g.tensors(), g.axis()); }),
      call("stack", [](Given& g) { return stack(g.tensors(), g.axis()); }),
      call("stack",
           [](Given& g) {
             const Tensor x = g.tensor();
             return stack({x, x}, g.axis());
           }),
      call("split", [](Given& g) { split(g.tensor(), g.sizes(), g.axis()); }),
      call("squeeze", [](Given& g) { return squeeze(g.tensor(), g.axis()); }),
      call("unsqueeze", [](Given& g) { return unsqueeze(g.tensor(), g.axis()); }),
      call("flatten", [](Given& g) { return flatten(g.tensor(), g.axis(), g.axis()); }),
      call("pad", [](Given& g) { return pad(g.tensor(), g.axis(), g.size(), g.size(), g.number()); }),
      call("repeat", [](Given& g) { return repeat(g.tensor(), g.sizes()); }),
      call("tril", [](Given& g) { return tril(g.tensor(), g.size()); }),
      call("triu", [](Given& g) { return triu(g.tensor(), g.size()); }),
      call("[]", [](Given& g) { return g.tensor()[g.size()]; }),
      call("gather", [](Given& g) { return gather(g.tensor(), g.ids(), g.axis()); }),
      call("scatter_add", [](Given& g) { return scatter_add(g.tensor(), g.ids(), g.tensor(), g.axis()); }),
      call("scatter_max", [](Given& g) { return scatter_max(g.tensor(), g.ids(), g.tensor(), g.axis()); }),
      call("index_select", [](Given& g) { return index_select(g.tensor(), g.ids(), g.axis()); }),
      call("index_select", [](Given& g) { index_select(g.ids(), g.ids(), g.axis()); }),
      call("reshape", [](Given& g) { reshape(g.ids(), g.shape()); }),
      call("slice", [](Given& g) { slice(g.booleans(), g.axis(), g.size(), g.size(), g.size()); }),
      call("concat",
           [](Given& g) {
             concat({g.ids(), g.ids()}, g.axis());
           }),
      call("&", [](Given& g) { g.booleans() & g.booleans(); }),
      call("equal", [](Given& g) { equal(g.ids(), g.ids()); }),
      call("random_permutation", [](Given& g) { random_permutation(static_cast<std::int32_t>(g.size()), g.random); }),
      call("embedding", [](Given& g) { return embedding(g.tensor(), g.ids()); }),
      call("select_rows", [](Given& g) { return select_rows(g.tensor(), g.ids()); }),
      call("one_hot", [](Given& g) { one_hot(g.ids(), g.size(), g.dtype()); }),
      call("full", [](Given& g) { full(g.shape(), g.number(), g.dtype()); }),
      call("zeros", [](Given& g) { zeros(g.shape(), g.dtype()); }),
      call("ones", [](Given& g) { ones(g.shape(), g.dtype()); }),
      call("tensor",
           [](Given& g) {
             tensor(g.shape(), {1, 2, 3}, g.dtype());
           }),
      call("tensor", [](Given& g) { Tensor(g.shape(), g.dtype()); }),
      call("array",
           [](Given& g) {
             Ids(g.shape(), {1, 2, 3});
           }),
      call("arange", [](Given& g) { arange(g.number(), g.number(), g.number(), g.dtype()); }),
      call("random_uniform", [](Given& g) { random_uniform(g.shape(), g.random, g.number(), g.number()); }),
      call("random_normal", [](Given& g) { random_normal(g.shape(), g.random, g.number(), g.number()); }),
      call("to_ids", [](Given& g) { to_ids(g.tensor()); }),
      call("random_ids", [](Given& g) { random_ids(g.shape(), g.random, g.axis()); })};
}

std::vector<Call> product_calls() {
  return {
      call("matmul", [](Given& g) { return matmul(g.tensor(), g.tensor()); }),
      call("linear", [](Given& g) { return linear(g.tensor(), g.tensor(), g.tensor()); }),
      call("lstm",
           [](Given& g) {
             const Tensor h = ones({2, 3});
             const auto given = [&](const Tensor& fitting) { return g.flag() ? g.tensor() : fitting; };
             return lstm(given(ones({2, 2, 12})), given(ones({3, 12})), given(h), h);
           }),
      call("conv2d",
           [](Given& g) {
             const Tensor x = g.tensor();
             return conv2d(x, g.flag() ? x : g.tensor(), g.flag() ? Tensor() : g.tensor(), g.conv_options());
           }),
      call("conv_transpose2d",
           [](Given& g) {
             const Tensor x = g.tensor();
             const ConvOptions o = g.conv_options();
             return conv_transpose2d(x, x, {}, {o.stride, o.padding, g.flag() ? 0 : g.size(), o.dilation, o.groups});
           }),
      call("conv_transpose1d", [](Given& g) { return conv_transpose1d(g.tensor(), g.tensor(), {}, {g.size()}); }),
      call("max_pool2d", [](Given& g) { return max_pool2d(g.tensor(), g.size(), g.pool_options()); }),
      call("avg_pool1d", [](Given& g) { return avg_pool1d(g.tensor(), g.size(), g.pool_options()); }),
      call("einsum", [](Given& g) { return einsum(g.formula(), g.tensor()); }),
      call("einsum", [](Given& g) { return einsum(g.formula(), g.tensor(), g.tensor()); }),
      call("rotary",
           [](Given& g) {
             const Tensor x = g.tensor(), cosine = g.tensor(), sine = g.flag() ? cosine : g.tensor();  // in this order
             return rotary(x, cosine, sine, RotaryPairs::halves);
           }),
      call("attention",
           [](Given& g) { return attention(g.tensor(), g.tensor(), g.tensor(), g.attention_options()).output; }),
      call("attention",
           [](Given& g) {
             const Tensor x = g.tensor();
             return attention(x, x, x, g.attention_options()).output;
           }),
      call("attention_composed", [](Given& g) {
        const Tensor x = g.tensor();
        return attention_composed(x, x, g.tensor(), g.attention_options()).output;
      })};
}

std::vector<Call> other_calls() {
  return {call("size", [](Given& g) { g.tensor().size(g.axis()); }),
          call("item", [](Given& g) { g.tensor().item(); }),
          call("at", [](Given& g) { g.tensor().at({g.size()}); }),
          call("at",
               [](Given& g) {
                 const Tensor x = g.tensor();
                 g.flag() ? x.at({}) : x.at({0, 0, 0, 0, 0, 0, 0, 0, 0});
               }),
          call("to_vector", [](Given& g) { g.tensor().to_vector(); }),
          call("copy_from", [](Given& g) { Tensor(g.tensor()).copy_from(g.tensor()); }),
          call("to", [](Given& g) { return g.tensor().to(g.dtype()); }),
          call("clone", [](Given& g) { return g.tensor().clone(); }),
          call("view", [](Given& g) { return g.tensor().view(g.shape(), g.shape(), g.size()); }),
          call("tensor",
               [](Given& g) {
                 const Tensor x = g.tensor();
                 x.data<float>();
               }),
          call("variable", [](Given& g) { variable(g.tensor()); }),
          call("is_finite", [](Given& g) { is_finite(g.tensor()); }),
          call("add_in_place",
               [](Given& g) {
                 Tensor total = g.tensor();
                 if (total.defined()) total = total.detach().clone();
                 add_in_place(total, g.tensor());
               }),
          call("sum_of_squares", [](Given& g) { sum_of_squares(g.tensor()); }),
          call("scale_in_place",
               [](Given& g) {
                 Tensor x = g.tensor();
                 scale_in_place(x, g.number());
               }),
          call("Random::below", [](Given& g) { g.random.below(g.size()); }),
          call("Random::uniform", [](Given& g) { g.random.uniform(g.number(), g.number()); }),
          call("mask", [](Given& g) { Mask(g.booleans()) & Mask(g.booleans()); }),
          call("Mask::window", [](Given& g) { Mask::window(g.size(), g.size()); }),
          call("Mask::padding",
               [](Given& g) {
                 Mask::padding(std::vector{g.axis(), g.axis()}, g.axis());
               }),
          call("Mask::hidden", [](Given& g) { (Mask(g.booleans()) & Mask::causal()).hidden(g.size(), g.size()); })};
}

// Returns the message that a call throws, or "" for a result. Its backward must not throw.
std::string outcome(const Call& call, std::uint64_t seed) {
  Given given(seed);
  const Recording recording;
  Tensor y;
  try {
    y = call.run(given);
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("not an Error: ") + error.what();
  }
  const bool is_recorded = y.tape_node().recording != 0;
  if (y.defined() && given.drew_variable && !is_recorded && !y.is_variable())
    return "the result of a variable is a constant";
  if (y.defined() && y.numel() < huge && is_recorded) backward(y, zeros(y.shape(), y.dtype()));
  return "";
}

}  // namespace

TEST_CASE("Every operation records its result or throws an Error that begins with its name") {
  const Threads one(1);
  for (const auto& calls : {elementwise_calls(), reducing_calls(), arranging_calls(), product_calls(), other_calls()}) {
    for (const Call& call : calls) {
      INFO(call.name);
      int results = 0;
      for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        const std::string text = outcome(call, seed);
        results += text.empty();
        if (!text.empty() && !text.starts_with(call.name + ":")) FAIL_CHECK("seed " << seed << ": " << text);
      }
      CHECK(results > 0);
    }
  }
}
