#include "04_softmax.h"

#include <heed/autograd/ops.h>

#include <limits>

namespace learn {
namespace {

using heed::Tensor;
using Of = std::function<Tensor(const Tensor&)>;

}  // namespace

Step step_04(const SoftmaxSolution& yours) {
  const Array scores({2, 3}, {2, 1, 0.1, 0.5, -1, 1.5});
  const Array large({2, 3}, {0, 1000, 1001, -1000, -1000, -1000});
  const Array hidden({2, 3}, {1, -infinity, 2, -infinity, -infinity, -infinity});
  const Array dy({2, 3}, {0.3, -0.5, 1, 0.2, 0.7, -0.4});
  const auto mine = [=](const Array& x) -> Compute { return [=] { return Results{{"y", yours.softmax(x)}}; }; };
  const auto of = [](const Of& f, const Array& x) -> Compute {
    return [=] { return Results{{"y", f(tensor_of(x))}}; };
  };
  const Of right = [](const Tensor& x) { return softmax(x); };
  const Of naive = [](const Tensor& x) { return exp(x) / sum(exp(x), {1}, true); };
  const Of one_maximum = [](const Tensor& x) { return exp(x - max(x)) / sum(exp(x - max(x)), {1}, true); };
  const auto backward_of = [=](const std::function<Tensor(const Tensor&, const Tensor&)>& f) -> Compute {
    return [=] { return Results{{"dx", f(tensor_of(dy), softmax(tensor_of(scores)))}}; };
  };
  const std::string stable = "y_ij = e^(x_ij [[- m_i]]) / sum over k of e^(x_ik [[- m_i]])";
  const std::string backward = "dx_ij = y_ij (dy_ij - [[sum over k of dy_ik y_ik]])";

  Step step{4, "04_softmax", {"softmax", "softmax"}, {}};
  step.checks = {
      {{"shares that add up to 1 in each row", "每一行的份额加起来是 1"},
       "softmax",
       "x = [[2, 1, 0.1], [0.5, -1, 1.5]]",
       mine(scores),
       of(right, scores),
       {{"first_axis",
         {"This is the softmax over the first axis: each column adds up to 1. Sum over the elements of a row.",
          "这是沿第一个轴的 softmax：加起来是 1 的是每一列。应该对一行里的元素求和。"},
         "y_ij = e^x_ij / [[sum over k of e^x_ik]]",
         of([](const Tensor& x) { return softmax(x, 0); }, scores)},
        {"whole_matrix",
         {"The whole matrix adds up to 1. Each row needs a sum of its own: a loop sets it to 0 at the start of each "
          "row, NumPy has sum(axis=1, keepdims=True).",
          "加起来是 1 的是整个矩阵。每一行要有自己的和：循环在换行时把它清零，NumPy 用 sum(axis=1, keepdims=True)。"},
         "y_ij = e^x_ij / [[sum over k of e^x_ik]]",
         of([](const Tensor& x) { return exp(x) / sum(exp(x)); }, scores)},
        {"not_divided",
         {"The exponentials are not divided by their sum.", "取了指数，却没有除以它们的和。"},
         "y_ij = e^(x_ij - m_i) [[/ sum over k of e^(x_ik - m_i)]]",
         of([](const Tensor& x) { return exp(x - max(x, {1}, true)); }, scores)},
        {"no_exponential",
         {"The scores themselves are divided by their sum. Take e to their power first.",
          "直接把分数除以它们的和了。要先取 e 的幂。"},
         "y_ij = [[e^]]x_ij / sum over k of e^x_ik",
         of([](const Tensor& x) { return x / sum(x, {1}, true); }, scores)}}},
      {{"large scores", "很大的分数"},
       "softmax",
       "x = [[0, 1000, 1001], [-1000, -1000, -1000]]",
       mine(large),
       of(right, large),
       {{"no_maximum",
         {"The maximum is not subtracted: e^1000 is infinite, and infinity / infinity is nan.",
          "没有减去最大值：e^1000 是无穷大，无穷大除以无穷大是 nan。"},
         stable,
         of(naive, large)},
        {"one_maximum",
         {"The maximum of the whole matrix is subtracted. In a row of much smaller numbers all e^x become 0, and 0 / 0 "
          "is nan.",
          "减去的是整个矩阵的最大值。在数值小得多的行里，所有的 e^x 都成了 0，0 / 0 是 nan。"},
         "m_i = max [[over k]] of x_ik",
         of(one_maximum, large)}}},
      {{"elements of -infinity, as a mask sets them", "掩码设成负无穷的元素"},
       "softmax",
       "x = [[1, -inf, 2], [-inf, -inf, -inf]]",
       mine(hidden),
       of(right, hidden),
       {{"hidden_row",
         {"A row that is -infinity throughout gives nan. It must give 0: test for it before you subtract the maximum.",
          "整行都是负无穷时得到了 nan，应该得到 0：减去最大值之前先判断这种情况。"},
         "a row that is -infinity throughout [[gets 0]]",
         of(
             [=](const Tensor& x) {
               return softmax(x) + tensor({2, 1}, {0, infinity - infinity}, heed::DType::float64);
             },
             hidden)},
        {"uniform",
         {"A row that is -infinity throughout attends equally to every key that is hidden from it. It must give 0.",
          "整行都是负无穷时，份额平均分给了所有被遮住的键，应该得到 0。"},
         "a row that is -infinity throughout [[gets 0]]",
         of(
             [](const Tensor& x) {
               return softmax(x) + tensor({2, 1}, {0, 1.0 / 3}, heed::DType::float64);
             },
             hidden)}}},
      {{"the gradient: the gradient check", "梯度：梯度检查"},
       "softmax_backward",
       "x = [[2, 1, 0.1], [0.5, -1, 1.5]], dy = [[0.3, -0.5, 1], [0.2, 0.7, -0.4]]",
       [=] {
         return Results{{"dx", yours.softmax_backward(dy, yours.softmax(scores))}};
       },
       [=] {
         return Results{{"dx", numerical_gradient(yours.softmax, scores, dy)}};
       },
       {{"sum_missing",
         {"The sum is missing: raising one score also lowers the shares of the others.",
          "缺了求和项：一个分数变大，其他元素的份额也会变小。"},
         backward,
         backward_of([](const Tensor& g, const Tensor& y) { return y * g; })},
        {"diagonal_only",
         {"Only the derivative of each element by its own score: dx = dy y (1 - y), as for the sigmoid. The other "
          "scores of the row count, too.",
          "只算了每个元素对自己分数的导数：dx = dy y (1 - y)，那是 sigmoid 的导数。同一行的其他分数也有影响。"},
         backward,
         backward_of([](const Tensor& g, const Tensor& y) { return g * y * (1 - y); })},
        {"unweighted_sum",
         {"The sum is without the factor y_ik.", "求和时漏了因数 y_ik。"},
         "dx_ij = y_ij (dy_ij - sum over k of dy_ik [[y_ik]])",
         backward_of([](const Tensor& g, const Tensor& y) { return y * (g - sum(g, {1}, true)); })},
        {"factor_missing",
         {"The factor y_ij in front is missing.", "缺了最前面的因数 y_ij。"},
         "dx_ij = [[y_ij]] (dy_ij - sum over k of dy_ik y_ik)",
         backward_of([](const Tensor& g, const Tensor& y) { return g - sum(g * y, {1}, true); })}}}};
  step.picture = [=](Language language) {
    return (language == Language::zh ? "你的 softmax，分数 2、1、0.1：\n" : "Your softmax of the scores 2, 1, 0.1:\n") +
           table(yours.softmax(Array({1, 3}, {2, 1, 0.1})));
  };
  return step;
}

}  // namespace learn
