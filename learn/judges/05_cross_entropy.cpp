#include "05_cross_entropy.h"

#include <heed/autograd/ops.h>

#include <cmath>

namespace learn {
namespace {

using heed::Tensor;

}  // namespace

Step step_05(const CrossEntropySolution& yours) {
  using Of = std::function<Tensor(const Tensor&, const Tensor&)>;  // of the logits, and 1 at each label
  const Array x({2, 3}, {2, 1, 0.1, 0.5, -1, 1.5}), equal({1, 4}, {0.5, 0.5, 0.5, 0.5}), large({1, 2}, {1000, 1001}),
      low({1, 2}, {-1000, -1000}), tiny({1, 2}, {0, -800});
  const std::vector<int> labels{0, 1}, one{2}, zero{0}, second{1};
  const auto mine = [=](const Array& logits, const std::vector<int>& right) -> Compute {
    return [=] { return Results{{"loss", yours.cross_entropy(logits, right)}}; };
  };
  const auto of = [](const Of& f, const Array& logits, const std::vector<int>& right) -> Compute {
    return [=] {
      const Tensor hot = heed::one_hot(heed::Ids({std::ssize(right)}, {right.begin(), right.end()}), logits.columns(),
                                       heed::DType::float64);
      return Results{{"loss", f(tensor_of(logits), hot).item()}};
    };
  };
  const Of each = [](const Tensor& logits, const Tensor& hot) { return sum(log_softmax(logits) * hot, {1}); };
  const Of loss = [=](const Tensor& logits, const Tensor& hot) { return -mean(each(logits, hot)); };
  const auto gradient = [=](const Of& f) -> Compute {
    return [=] {
      const Tensor hot = heed::one_hot(heed::Ids({2}, {0, 1}), 3, heed::DType::float64);
      return Results{{"dx", f(softmax(tensor_of(x)), hot)}};
    };
  };
  const std::string formula = "loss = mean over i of ([[ln(sum over k of e^x_ik)]] - x_i,label)";

  const std::string maximum = "ln(sum over k of e^x_ik) = [[m_i + ln(sum over k of e^(x_ik - m_i))]]";
  const Text no_maximum{"The maximum is not subtracted: e^1000 is infinite.", "没有减去最大值：e^1000 是无穷大。"};
  const auto mistakes = [=](const Array& logits, const std::vector<int>& right) {
    const auto entry = [&](const char* name, const Text& what, const std::string& where, const Of& f) {
      return Mistake{name, what, where, of(f, logits, right)};
    };
    return std::vector<Mistake>{
        entry("sign",
              {"The sign is wrong: a loss is never below 0, since a probability is at most 1.",
               "符号反了：概率不超过 1，损失不会小于 0。"},
              "loss = mean over i of [[-]]ln softmax(x)_i,label",
              [=](const Tensor& a, const Tensor& b) { return mean(each(a, b)); }),
        entry("base_two",
              {"The logarithm has base 2: this is in bits. Use the natural logarithm: std::log, in Python np.log.",
               "对数用了底数 2，单位成了比特。应该用自然对数：std::log，Python 里是 np.log。"},
              "loss = mean over i of -[[ln]] softmax(x)_i,label",
              [=](const Tensor& a, const Tensor& b) { return loss(a, b) / std::log(2.0); }),
        entry("probability",
              {"This is the probability of the label, without the logarithm.", "这是标签的概率，没有取对数。"},
              "loss = mean over i of [[-ln]] softmax(x)_i,label",
              [](const Tensor& a, const Tensor& b) { return mean(sum(softmax(a) * b, {1})); }),
        entry("maximum_not_added",
              {"The maximum is subtracted inside the exponentials but not added in front.",
               "在指数里减去了最大值，却没有在前面加回来。"},
              "ln(sum over k of e^x_ik) = [[m_i +]] ln(sum over k of e^(x_ik - m_i))",
              [](const Tensor& a, const Tensor& b) {
                return mean(log(sum(exp(a - max(a, {1}, true)), {1})) - sum(a * b, {1}));
              }),
        entry("all_columns",
              {"The mean runs over all elements. Divide by the number of rows.",
               "平均时除以了元素的总数，应该除以行数。"},
              "loss = mean [[over i]] of -ln softmax(x)_i,label",
              [](const Tensor& a, const Tensor& b) { return -mean(log_softmax(a) * b); }),
        entry("sum",
              {"The rows are summed. Divide by the number of rows, so that the loss does not depend on the size of the "
               "batch.",
               "各行的损失只是相加了。要除以行数，损失才不会随批的大小变化。"},
              "loss = [[mean]] over i of -ln softmax(x)_i,label",
              [=](const Tensor& a, const Tensor& b) { return -sum(each(a, b)); }),
        entry("softmax_twice",
              {"Softmax is applied twice. The formula takes logits; exponentials, sum and logarithm are the softmax.",
               "softmax 做了两次。公式的输入是 logit；取指数、求和、取对数已经是 softmax 了。"},
              formula, [=](const Tensor& a, const Tensor& b) { return loss(softmax(a), b); }),
        {"first_label",
         {"Every row uses the label of the first row.", "每一行都用了第一行的标签。"},
         "loss = mean over i of -ln softmax(x)_i,[[label]]",
         [=] {
           return Results{{"loss", -mean(slice(log_softmax(tensor_of(logits)), 1, right[0], right[0] + 1)).item()}};
         }},
        entry("no_maximum", no_maximum, maximum,
              [](const Tensor& a, const Tensor& b) { return mean(log(sum(exp(a), {1})) - sum(a * b, {1})); }),
        entry(
            "no_maximum", no_maximum, maximum,
            [](const Tensor& a, const Tensor& b) { return -mean(log(sum(exp(a) / sum(exp(a), {1}, true) * b, {1}))); }),
        entry("log_of_quotient",
              {"The logarithm of a finished softmax: e^-800 rounds to 0, and ln 0 is -infinity.",
               "先算完 softmax 再取对数：e^-800 舍入成 0，ln 0 是负无穷。"},
              maximum, [](const Tensor& a, const Tensor& b) { return -mean(log(sum(softmax(a) * b, {1}))); })};
  };

  Step step{5, "05_cross_entropy", {"cross-entropy", "交叉熵"}, {}};
  step.checks = {
      {{"four equal logits: ln 4", "四个相等的 logit：ln 4"},
       "cross_entropy",
       {"x = [[0.5, 0.5, 0.5, 0.5]], label 2", "x = [[0.5, 0.5, 0.5, 0.5]]，标签 2"},
       mine(equal, one),
       of(loss, equal, one),
       mistakes(equal, one)},
      {{"the mean over two rows", "两行的平均"},
       "cross_entropy",
       {"x = [[2, 1, 0.1], [0.5, -1, 1.5]], labels 0, 1", "x = [[2, 1, 0.1], [0.5, -1, 1.5]]，标签 0、1"},
       mine(x, labels),
       of(loss, x, labels),
       mistakes(x, labels)},
      {{"large logits", "很大的 logit"},
       "cross_entropy",
       {"x = [[1000, 1001]], label 0", "x = [[1000, 1001]]，标签 0"},
       mine(large, zero),
       of(loss, large, zero),
       mistakes(large, zero)},
      {{"logits far below 0", "远小于 0 的 logit"},
       "cross_entropy",
       {"x = [[-1000, -1000]], label 0", "x = [[-1000, -1000]]，标签 0"},
       mine(low, zero),
       of(loss, low, zero),
       {{"zero_maximum",
         {"The maximum starts at 0, so it is never below 0: e^-1000 rounds to 0, and ln 0 is -infinity. Start with an "
          "element of the row.",
          "最大值从 0 开始，不会小于 0：e^-1000 舍入成 0，ln 0 是负无穷。应该从这一行的一个元素开始。"},
         "m_i = [[max over k of x_ik]]",
         [] {
           return Results{{"loss", -infinity}};
         }}}},
      {{"a tiny probability", "极小的概率"},
       "cross_entropy",
       {"x = [[0, -800]], label 1", "x = [[0, -800]]，标签 1"},
       mine(tiny, second),
       of(loss, tiny, second),
       {mistakes(tiny, second).back()}},
      {{"the gradient: the gradient check", "梯度：梯度检查"},
       "cross_entropy_backward",
       {"x = [[2, 1, 0.1], [0.5, -1, 1.5]], labels 0, 1", "x = [[2, 1, 0.1], [0.5, -1, 1.5]]，标签 0、1"},
       [=] {
         return Results{{"dx", yours.cross_entropy_backward(x, labels)}};
       },
       [=] {
         const auto of_values = [&](const std::vector<double>& values) {
           return yours.cross_entropy(Array(x.shape, values), labels);
         };
         return Results{{"dx", Array(x.shape, numerical_gradient(of_values, x.values))}};
       },
       {{"not_divided",
         {"The gradient is not divided by the number of rows: the loss is a mean.", "梯度没有除以行数：损失是平均值。"},
         "dx_ij = (softmax(x)_ij - [j is the label]) [[/ n]]",
         gradient([](const Tensor& p, const Tensor& hot) { return p - hot; })},
        {"label_missing",
         {"The 1 at the label is missing: this gradient lowers every logit.",
          "标签处没有减 1：这样的梯度会压低所有的 logit。"},
         "dx_ij = (softmax(x)_ij [[- [j is the label]]]) / n",
         gradient([](const Tensor& p, const Tensor&) { return p / 2; })},
        {"reversed",
         {"The signs are reversed: a step against this gradient would raise the loss.",
          "符号反了：沿它的反方向走，损失反而变大。"},
         "dx_ij = (softmax(x)_ij [[-]] [j is the label]) / n",
         gradient([](const Tensor& p, const Tensor& hot) { return (hot - p) / 2; })},
        {"label_only",
         {"Only the label gets a gradient. All logits of a row share its probability, so each of them has one.",
          "只有标签有梯度。一行里的所有 logit 分享概率，每一个都有梯度。"},
         "dx_ij = ([[softmax(x)_ij]] - [j is the label]) / n",
         gradient([](const Tensor& p, const Tensor& hot) { return (p - 1) * hot / 2; })}}}};
  return step;
}

}  // namespace learn
