#include "01_tape.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>

#include <algorithm>
#include <cmath>

namespace learn {
namespace {

// A tape with one mistake.
enum class Fault { overwritten, seed_missing, forwards };
struct FaultyTape;
struct FaultyValue {
  FaultyTape* tape;
  std::size_t index;
  double number() const;
};
struct FaultyTape {
  struct Entry {
    double number;
    std::vector<std::pair<std::size_t, double>> inputs;
  };
  std::vector<Entry> entries;
  static inline Fault fault;

  FaultyValue leaf(double number) { return record(number, {}); }
  FaultyValue record(double number, std::vector<std::pair<std::size_t, double>> inputs) {
    entries.push_back({number, std::move(inputs)});
    return {this, entries.size() - 1};
  }
  std::vector<double> backward(FaultyValue y) const {
    std::vector<double> gradient(entries.size());
    if (fault != Fault::seed_missing) gradient[y.index] = 1;
    for (std::size_t i = 0; i <= y.index; ++i) {
      const std::size_t u = fault == Fault::forwards ? i : y.index - i;
      for (const auto& [v, derivative] : entries[u].inputs) {
        gradient[v] = (fault == Fault::overwritten ? 0 : gradient[v]) + gradient[u] * derivative;
      }
    }
    return gradient;
  }
};
double FaultyValue::number() const { return tape->entries[index].number; }
FaultyValue operator+(FaultyValue a, FaultyValue b) {
  return a.tape->record(a.number() + b.number(), {{a.index, 1}, {b.index, 1}});
}

Results results(const Differentiated& y) { return {{"y", y.value}, {"gradient", y.gradient}}; }

template <class Expression>
Compute with_fault(Fault fault, Expression expression, Inputs x) {
  return [=] {
    FaultyTape::fault = fault;
    return results(differentiated<FaultyTape>(x, expression));
  };
}

// Returns the results of a wrong derivative rule.
Compute rule(double value, Inputs gradient) {
  return [=] { return results({value, gradient}); };
}

// The value by C++, the derivatives by central differences.
Compute exact(std::function<double(const Inputs&)> f, Inputs x) {
  return [=] { return results({f(x), numerical_gradient(f, x)}); };
}

std::vector<Mistake> of_backward(auto expression, const Inputs& x) {
  const std::string formula = "dy/dv = [[sum over u]] of dy/du * du/dv";
  return {{"overwritten",
           {"The gradient is overwritten. An entry that is read several times keeps only its last term: write += "
            "instead of =.",
            "梯度被覆盖了：一项被读了几次，却只留下最后一个乘积。应该用 += 累加，而不是用 = 赋值。"},
           formula,
           with_fault(Fault::overwritten, expression, x)},
          {"seed_missing",
           {"The gradient of y itself is 0. It must start as 1.", "y 自己的梯度是 0。它的初值应为 1。"},
           "[[dy/dy = 1]]",
           with_fault(Fault::seed_missing, expression, x)},
          {"forwards",
           {"Only the inputs of y itself got a gradient. The loop runs forwards, or ends too early: it must run from y "
            "back to entry 0.",
            "只有 y 的直接输入得到了梯度：循环从前往后走，或者结束得太早。应该从 y 倒着一直走到第 0 项。"},
           "for u = [[y, ..., 1, 0]]",
           with_fault(Fault::forwards, expression, x)}};
}

}  // namespace

Step step_01(const TapeSolution& yours) {
  const auto on = [](Run run, const Inputs& x) -> Compute { return [=] { return results(run(x)); }; };
  const Inputs ab{2, -3}, abcd{2, -3, 0.5, 4}, positive{1.7}, small{0.6}, five{0.8, -0.4, 1.5, 0.3, 0.2};
  const std::string two = "a = 2, b = -3";
  const auto chain = [](auto& v) { return ((v[0] + v[1]) + v[2]) + v[3]; };
  const auto reused = [](auto& v) { return (v[0] + v[1]) + (v[0] + v[0]); };
  Step step{1, "01_tape", {"a tape that differentiates", "会求导的记录"}, {}};
  step.checks = {
      {{"a + b and its derivatives", "a + b 和它的导数"},
       "backward",
       two,
       on(yours.add, ab),
       exact([](const Inputs& x) { return x[0] + x[1]; }, ab),
       of_backward([](auto& v) { return v[0] + v[1]; }, ab)},
      {{"a sum of sums: the chain rule", "和的和：链式法则"},
       "backward",
       "a = 2, b = -3, c = 0.5, d = 4; y = ((a + b) + c) + d",
       on(yours.chain, abcd),
       exact([](const Inputs& x) { return x[0] + x[1] + x[2] + x[3]; }, abcd),
       of_backward(chain, abcd)},
      {{"a number that is used three times", "用了三次的数"},
       "backward",
       "a = 2, b = -3; y = (a + b) + (a + a)",
       on(yours.reused, ab),
       exact([](const Inputs& x) { return 3 * x[0] + x[1]; }, ab),
       of_backward(reused, ab)},
      {{"the gradient by every entry, of a y that is not the last one", "y 不是最后一项时，对每一项的梯度"},
       "backward",
       {"a = 2, b = -3; entry 2 is y = a + b, entry 3 is y + a", "a = 2，b = -3；第 2 项是 y = a + b，第 3 项是 y + a"},
       on(yours.earlier, ab),
       rule(-1, {1, 1, 1, 0}),
       {{"last_entry",
         {"These are the derivatives of the last entry. backward() must start at the entry of its argument: y.index.",
          "这是最后一项的导数。backward() 应该从参数所在的那一项开始：y.index。"},
         "for u = [[y]], ..., 1, 0",
         rule(-1, {2, 1, 1, 1})},
        {"too_short",
         {"The gradient ends at y. It must have an element for every entry of the tape: 0 for those after y.",
          "梯度到 y 为止。应该给记录里的每一项一个元素：y 之后的项是 0。"},
         "dy/dv for [[every entry]] v",
         rule(-1, {1, 1, 1})}}},
      {{"a - b", "a - b"},
       "subtract",
       two,
       on(yours.subtract, ab),
       exact([](const Inputs& x) { return x[0] - x[1]; }, ab),
       {{"sign",
         {"The derivative by b has the wrong sign.", "对 b 的导数符号反了。"},
         "dy/db = [[-]]1",
         rule(5, {1, 1})}}},
      {{"a b", "a b"},
       "multiply",
       two,
       on(yours.multiply, ab),
       exact([](const Inputs& x) { return x[0] * x[1]; }, ab),
       {{"own_value",
         {"Each factor got its own value as derivative. The derivative by a is the other factor, b.",
          "每个因数的导数用了它自己的值。对 a 的导数应该是另一个因数 b。"},
         "dy/da = [[b]],  dy/db = [[a]]",
         rule(-6, {2, -3})},
        {"as_of_a_sum",
         {"The derivatives are 1, those of a sum.", "导数成了 1：那是加法的导数。"},
         "dy/da = [[b]],  dy/db = a",
         rule(-6, {1, 1})}}},
      {{"a / b", "a / b"},
       "divide",
       two,
       on(yours.divide, ab),
       exact([](const Inputs& x) { return x[0] / x[1]; }, ab),
       {{"sign_of_divisor",
         {"The derivative by b has the wrong sign.", "对 b 的导数符号反了。"},
         "dy/db = [[-]]a / b^2",
         rule(2.0 / -3, {1.0 / -3, 2.0 / 9})},
        {"divisor_not_squared",
         {"The derivative by b divides by b. It must divide by b^2.", "对 b 的导数除以了 b，应该除以 b 的平方。"},
         "dy/db = -a / [[b^2]]",
         rule(2.0 / -3, {1.0 / -3, 2.0 / 3})}}},
      {{"e^x", "e^x"},
       "exp",
       "x = 0.6",
       on(yours.exp_of, small),
       exact([](const Inputs& x) { return std::exp(x[0]); }, small),
       {{"power_rule",
         {"The derivative is x e^(x - 1), by the rule for powers of x. Here x is the exponent.",
          "导数用了幂函数的规则 x e^(x - 1)，可这里 x 是指数。"},
         "dy/dx = [[e^x]]",
         rule(std::exp(0.6), {0.6 * std::exp(-0.4)})},
        {"of_one", {"The derivative is 1.", "导数成了 1。"}, "dy/dx = [[e^x]]", rule(std::exp(0.6), {1})}}},
      {{"ln x", "ln x"},
       "log",
       "x = 1.7",
       on(yours.log_of, positive),
       exact([](const Inputs& x) { return std::log(x[0]); }, positive),
       {{"not_inverted",
         {"The derivative is x. It must be 1 / x.", "导数成了 x，应该是 1 / x。"},
         "dy/dx = [[1 /]] x",
         rule(std::log(1.7), {1.7})}}},
      {{"tanh x", "tanh x"},
       "tanh",
       "x = 0.6",
       on(yours.tanh_of, small),
       exact([](const Inputs& x) { return std::tanh(x[0]); }, small),
       {{"of_input",
         {"The derivative is 1 - x^2, with the input x. It must be 1 - y^2, with the output y.",
          "导数写成了 1 - x²，用了输入 x。应该是 1 - y²，用输出 y。"},
         "dy/dx = 1 - [[y]]^2",
         rule(std::tanh(0.6), {1 - 0.36})},
        {"not_squared",
         {"The derivative is 1 - y. It must be 1 - y^2.", "导数写成了 1 - y，应该是 1 - y²。"},
         "dy/dx = 1 - y[[^2]]",
         rule(std::tanh(0.6), {1 - std::tanh(0.6)})}}},
      {{"all together: a neuron", "合在一起：一个神经元"},
       "backward",
       "y = tanh(a c + b d + e) / (1 + exp(-a))",
       on(yours.neuron, five),
       exact([](const Inputs& x) { return std::tanh(x[0] * x[2] + x[1] * x[3] + x[4]) / (1 + std::exp(-x[0])); },
             five)},
      {{"heed has the same gradients", "heed 算出同样的梯度"},
       "backward",
       "y = tanh(a c + b d + e) / (1 + exp(-a))",
       on(yours.neuron, five),
       [=] {
         const heed::Recording recording;
         std::vector<heed::Tensor> v;
         for (const double x : five) v.push_back(heed::variable(heed::full({}, x, heed::DType::float64)));
         const heed::Tensor y = tanh(v[0] * v[2] + v[1] * v[3] + v[4]) / (1.0 + exp(-v[0]));
         const heed::Gradients gradients = backward(y);
         Differentiated result{y.item(), {}};
         for (const heed::Tensor& x : v) result.gradient.push_back(gradients[x].item());
         return results(result);
       },
       {},
       1e-12}};
  step.picture = [drawn = yours.drawn](Language language) {
    return (language == Language::zh ? "你的记录，a = 2，b = -3，y = a b + a；backward 从下往上走：\n"
                                     : "Your tape for a = 2, b = -3, y = a b + a. The walk backward goes up:\n") +
           drawn();
  };
  step.svg = yours.svg;
  return step;
}

}  // namespace learn
