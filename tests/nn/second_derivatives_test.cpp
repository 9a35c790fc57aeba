#include "tests/golden.h"
#include "tests/message.h"

#include <heed/autograd/checkpoint.h>
#include <heed/autograd/derivatives.h>
#include <heed/nn/layers.h>

#include <numbers>

using namespace heed;

// The cases that make_second_derivatives.py computes with PyTorch.
namespace {

constexpr double golden_error = 1e-10;

struct PlainNet {
  std::vector<Linear> layers;
  PlainNet(const Scope& scope, const std::vector<int>& sizes) {
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
      layers.emplace_back(scope / static_cast<int>(i), sizes[i], sizes[i + 1]);
    }
  }
  Tensor operator()(Tensor x, Tensor (*activation)(const Tensor&) = tanh) const {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      x = layers[i](x);
      if (i + 1 < layers.size()) x = activation(x);
    }
    return x;
  }
};

struct NetCase {
  Golden golden{"second_derivatives"};
  std::string name;
  Parameters parameters{};
  PlainNet net;
  NetCase(const std::string& n, const std::vector<int>& sizes)
      : name(n), net(Scope(parameters, 1, DType::float64), sizes) {
    golden.load(name, parameters);
  }
  Tensor operator()(const std::string& key) const { return golden(name + "." + key); }
  void check(const Gradients& gradients, const std::string& prefix = "gradient.") const {
    for (const auto& [key, p] : parameters) {
      INFO(name << " " << key);
      CHECK(error(gradients[p], (*this)(prefix + key)) < golden_error);
    }
  }
};

struct GoldenBlock {
  const Parameters& p;
  Tensor operator()(const Tensor& x, bool is_composed = false) const {
    const auto heads = [&](const Tensor& h, const char* name) {
      return transpose(reshape(linear(h, p[name], {}), {2, 4, 2, 4}), 1, 2);
    };
    const Tensor h = layer_norm(x, p["norm1.gain"], p["norm1.bias"]);
    const Tensor Q = heads(h, "W_Q"), K = heads(h, "W_K"), V = heads(h, "W_V");
    const AttentionOptions options{.mask = Mask::causal()};
    const Tensor a = is_composed ? attention_composed(Q, K, V, options).output : attention(Q, K, V, options).output;
    const Tensor y = x + linear(reshape(transpose(a, 1, 2), {2, 4, 8}), p["W_O"], {});
    const Tensor up = gelu(linear(rms_norm(y, p["norm2.gain"]), p["up.weight"], p["up.bias"]));
    return y + linear(up, p["down.weight"], p["down.bias"]);
  }
};

Parameters transformer_parameters(const Golden& golden) {
  Parameters parameters;
  for (const char* name : {"words", "norm1.gain", "norm1.bias", "W_Q", "W_K", "W_V", "W_O", "norm2.gain", "up.weight",
                           "up.bias", "down.weight", "down.bias", "out"}) {
    parameters.add(name, variable(golden(std::string("transformer.") + name)));
  }
  return parameters;
}

}  // namespace

TEST_CASE(
    "Second derivatives through attention, norms and cross-entropy equal PyTorch's, with and without checkpoint") {
  const Golden golden("second_derivatives");
  const Parameters p = transformer_parameters(golden);
  const GoldenBlock block{p};
  const Ids ids({2, 4}, {0, 3, 1, 4, 2, 2, 0, 1}), labels({2, 4}, {3, 1, 4, 0, 2, -1, 1, 3});
  for (const char* way : {"fused", "composed", "checkpoint"}) {
    CAPTURE(way);
    const Recording recording;
    const Tensor x = embedding(p["words"], ids);
    const Tensor y = std::string(way) == "checkpoint" ? checkpoint(block, x) : block(x, std::string(way) == "composed");
    const Tensor loss = cross_entropy(linear(y, p["out"], {}), labels, {.label_smoothing = 0.1});
    CHECK(error(loss, golden("transformer.loss")) < golden_error);
    const Gradients first = backward(loss, {.record = true});
    Tensor squares = zeros({}, DType::float64);
    for (const auto& [name, parameter] : p) squares = squares + sum(square(first[parameter]));
    const Tensor total = loss + 0.1 * squares;
    CHECK(error(total, golden("transformer.total")) < golden_error);
    const Gradients second = backward(total);
    for (const auto& [name, parameter] : p) {
      CAPTURE(name);
      CHECK(error(second[parameter], golden("transformer.gradient." + name)) < golden_error);
    }
  }
}

TEST_CASE("A gradient penalty has PyTorch's gradients") {
  const NetCase c("penalty", {3, 16, 16, 1});
  const auto activation = [](const Tensor& h) { return leaky_relu(h, 0.2) * tanh(h); };
  const Tensor x = variable(c("x"));
  const Recording recording;
  const Tensor y = c.net(x, activation);
  const Tensor slopes = norm(grad(y, x), {1});
  const Tensor loss = mean(y) + 10 * mean(square(slopes - 1));
  CHECK(error(loss, c("loss")) < golden_error);
  c.check(backward(loss));
  // the same by the gradients of all variables
  const Tensor other = norm(backward(sum(y), {.record = true})[x], {1});
  c.check(backward(mean(y) + 10 * mean(square(other - 1))));
}

TEST_CASE("MAML differentiates through the steps of the inner loop") {
  const NetCase c("maml", {1, 12, 12, 1});
  const auto loss_on = [](const PlainNet& net, const Tensor& x) { return mse_loss(net(x), sin(x + 1)); };
  for (const bool is_exact : {true, false}) {
    const Recording recording;
    NamedTensors fast(c.parameters.begin(), c.parameters.end());
    for (int step = 0; step < 2; ++step) {
      const PlainNet net(Scope(fast), {1, 12, 12, 1});
      std::vector<Tensor> weights;
      for (const auto& [name, weight] : fast) weights.push_back(weight);
      const std::vector<Tensor> slopes = grad(loss_on(net, c("x")), weights);
      for (std::size_t i = 0; i < fast.size(); ++i) {
        fast[i].second = fast[i].second - 0.1 * (is_exact ? slopes[i] : slopes[i].detach());
      }
    }
    const Tensor loss = loss_on(PlainNet(Scope(fast), {1, 12, 12, 1}), c("query"));
    CHECK(error(loss, c("loss")) < golden_error);
    c.check(backward(loss), is_exact ? "gradient." : "first.gradient.");
  }
}

TEST_CASE("A network that solves u'' = -sin(x) has PyTorch's gradients") {
  const NetCase c("pinn", {1, 16, 16, 1});
  const Tensor x = variable(reshape(arange(0, 9, 1, DType::float64), {9, 1}) * (std::numbers::pi / 8));
  const Recording recording;
  const Tensor u = c.net(x), du = grad(u, x), ddu = grad(du, x);
  CHECK(error(du, c("du")) < golden_error);
  CHECK(error(ddu, c("ddu")) < golden_error);
  const Tensor loss = mean(square(ddu + sin(x.detach()))) + sum(square(u[0])) + sum(square(u[-1]));
  CHECK(error(loss, c("loss")) < golden_error);
  c.check(backward(loss));
}

TEST_CASE("hvp, jvp, vjp, jacobian and hessian equal PyTorch's, inside a Recording and outside") {
  const NetCase c("hvp", {2, 4, 1});
  std::vector<Tensor> v;
  for (const auto& [name, p] : c.parameters) v.push_back(c("v." + name));
  const std::vector<Tensor> Hv = hvp([&] { return mse_loss(c.net(c("x")), c("y")); }, c.parameters, v);
  std::size_t i = 0;
  for (const auto& [name, p] : c.parameters) {
    CHECK(error(Hv[i], c("Hv." + name)) < golden_error);
    CHECK(Hv[i++].tape_node() == TapeNode{});
  }
  const Golden& golden = c.golden;
  const Tensor W = golden("functions.W");
  const auto f = [&](const Tensor& t) { return log(cumsum(softmax(matmul(t, W)), -1)); };
  const auto s = [&](const Tensor& t) { return sum(square(f(t))) + pow(logsumexp(t), 3); };
  const Tensor x = golden("functions.x"), along = golden("functions.v");
  const auto check = [&](const Tensor& at) {
    CHECK(error(jvp(f, at, along), golden("functions.jvp")) < golden_error);
    CHECK(error(vjp(f, at, golden("functions.w")), golden("functions.vjp")) < golden_error);
    CHECK(error(jacobian(f, at), golden("functions.jacobian")) < golden_error);
    CHECK(error(hessian(s, at), golden("functions.hessian")) < golden_error);
    CHECK(error(hvp(s, at, along), sum(golden("functions.hessian") * along, {2, 3})) < golden_error);
  };
  check(x);
  const Recording recording;
  check(x);
  check(variable(x));
  check(variable(x) * 1);
}

TEST_CASE("Newton's method with conjugate gradients takes PyTorch's steps") {
  const NetCase c("hvp", {2, 4, 1});
  const auto loss = [&] { return mse_loss(c.net(c("x")), c("y")); };
  const auto dot = [](const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    double total = 0;
    for (std::size_t i = 0; i < a.size(); ++i) total += sum(a[i] * b[i]).item();
    return total;
  };
  for (int step = 0; step < 2; ++step) {
    std::vector<Tensor> d, r;
    {
      const Recording recording;
      const Gradients g = backward(loss());
      for (const auto& [name, p] : c.parameters) r.push_back(-g[p].detach()), d.push_back(zeros(p.shape(), p.dtype()));
    }
    std::vector<Tensor> p = r;
    for (int i = 0; i < 5; ++i) {
      std::vector<Tensor> Hp = hvp(loss, c.parameters, p);
      for (std::size_t k = 0; k < p.size(); ++k) Hp[k] += 2 * p[k];
      const double rr = dot(r, r), length = rr / dot(p, Hp);
      for (std::size_t k = 0; k < p.size(); ++k) d[k] += length * p[k], r[k] -= length * Hp[k];
      for (std::size_t k = 0; k < p.size(); ++k) p[k] = r[k] + dot(r, r) / rr * p[k];
    }
    std::size_t k = 0;
    for (const auto& [name, w] : c.parameters) w.copy_from(w + d[k++]);
  }
  for (const auto& [name, w] : c.parameters) CHECK(error(w, c("newton." + name)) < golden_error);
}

TEST_CASE("Derivatives up to the fourth order equal PyTorch's") {
  const Golden golden("second_derivatives");
  const Tensor x = variable(arange(-2, 2.5, 0.5, DType::float64));
  const Recording recording;
  Tensor y = pow(tanh(x), 3) * exp(sin(x)) / (2 + x * x);
  for (int order = 0; order < 5; ++order) {
    CAPTURE(order);
    CHECK(error(y, golden(fmt::format("orders.{}", order))) < golden_error);
    y = grad(y, x);
  }
}
