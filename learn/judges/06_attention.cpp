#include "06_attention.h"

#include "given/picture.h"

#include <heed/autograd/record.h>

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace learn {
namespace {

using heed::Booleans;
using heed::Tensor;
using Pair = AttentionSolution::Pair;

// Attention with at most one mistake.
struct AttentionFaults {
  double scale = 0;  // 0: 1 / sqrt(d_k)
  int axis = -1;
  bool mask_after = false, mask_inverted = false, transposed = false, keys_as_values = false, no_softmax = false;
  double hidden = -infinity;
};
Pair faulty(const Tensor& Q, const Tensor& K, const Tensor& V, const Booleans& visible,
            const AttentionFaults& fault = {}) {
  Tensor scores =
      matmul(Q, transpose(K)) * (fault.scale != 0 ? fault.scale : 1 / std::sqrt(static_cast<double>(Q.size(-1))));
  if (fault.transposed) scores = transpose(scores);
  const Booleans hidden = fault.mask_inverted ? visible : !visible;
  if (!fault.mask_after) scores = masked_fill(scores, hidden, fault.hidden);
  Tensor weights = fault.no_softmax ? scores : softmax(scores, fault.axis);
  if (fault.mask_after) weights = masked_fill(weights, hidden, 0);
  return {matmul(weights, fault.keys_as_values ? K : V), weights};
}

Results results(const Pair& y) { return {{"weights", y.second}, {"output", y.first}}; }

}  // namespace

Step step_06(const AttentionSolution& yours) {
  const auto float64 = heed::DType::float64;
  const std::vector<std::string> journey{"Your", "journey", "starts", "with", "one", "step"}, apple{"苹果", "很", "甜"};
  const Tensor X = heed::tensor(
      {6, 3},
      {0.43, 0.15, 0.89, 0.55, 0.87, 0.66, 0.57, 0.85, 0.64, 0.22, 0.58, 0.33, 0.77, 0.25, 0.10, 0.05, 0.80, 0.55},
      float64);
  heed::Random random(6);
  const auto draw = [&](int rows, int columns) { return random_normal({rows, columns}, random, 0, 1, float64); };
  const Tensor Q = draw(3, 4), K = draw(3, 4), V = draw(3, 4);
  const Booleans all({3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1}), causal({3, 3}, {1, 0, 0, 1, 1, 0, 1, 1, 1}),
      none({3, 3}, {1, 0, 1, 0, 0, 0, 1, 1, 1});
  // 苹果 很 甜: thing, degree, quality, pleasant
  const Tensor words = heed::tensor({3, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1}, float64);
  const Tensor W_Q = heed::tensor({4, 4}, {0, 0, 4, 0, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0}, float64);
  const Tensor W_K = heed::tensor({4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}, float64);
  const Tensor W_V = heed::tensor({4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, float64);
  const Tensor S = draw(3, 4), A = draw(4, 4), B = draw(4, 4), C = draw(4, 4);

  const auto mine = [=](const Booleans& visible) -> Compute {
    return [=] { return results(yours.attention(Q, K, V, visible)); };
  };
  const auto with = [=](const Booleans& visible, const AttentionFaults& fault) -> Compute {
    return [=] { return results(faulty(Q, K, V, visible, fault)); };
  };
  const auto mistakes = [=](const Booleans& visible) {
    const auto entry = [&](const char* name, const Text& what, const std::string& formula,
                           const AttentionFaults& fault) {
      return Mistake{name, what, formula, with(visible, fault)};
    };
    return std::vector<Mistake>{
        entry("scale_missing", {"The scores are not divided by sqrt(d_k).", "分数没有除以根号 d_k。"},
              "scores = Q K^T [[/ sqrt(d_k)]]", {.scale = 1}),
        entry("scale_not_root",
              {"The scores are divided by d_k. Divide by its square root.", "分数除以了 d_k，应该除以它的平方根。"},
              "scores = Q K^T / [[sqrt]](d_k)", {.scale = 0.25}),
        entry("scale_by_length",
              {"The scores are divided by the square root of the number of words. d_k is the number of columns of Q.",
               "分数除以了词数的平方根。d_k 是 Q 的列数。"},
              "scores = Q K^T / sqrt([[d_k]])", {.scale = 1 / std::sqrt(3.0)}),
        entry("scale_multiplied", {"The scores are multiplied by sqrt(d_k). Divide.", "分数乘以了根号 d_k，应该除。"},
              "scores = Q K^T [[/]] sqrt(d_k)", {.scale = 2}),
        entry("wrong_axis",
              {"Softmax runs over the queries: each column of the weights adds up to 1. Each query, a row, needs "
               "shares that add up to 1.",
               "softmax 沿查询的方向做了：加起来是 1 的是权重的每一列。每个查询是一行，它的份额加起来应该是 1。"},
              "weights = softmax(scores), [[of each row]]", {.axis = 0}),
        entry("scores_transposed",
              {"The scores are transposed: row i compares key i with all queries. Compute Q K^T, not K Q^T.",
               "分数转置了：第 i 行比较的是第 i 个键与所有查询。应该算 Q K^T，而不是 K Q^T。"},
              "scores = [[Q K^T]] / sqrt(d_k)", {.transposed = true}),
        entry("keys_as_values",
              {"The weights multiply the keys. The output mixes the values V.", "权重乘在了键上。输出应该混合值 V。"},
              "output = weights [[V]]", {.keys_as_values = true}),
        entry("no_softmax",
              {"The scores themselves mix the values: the softmax is missing.", "直接用分数混合了值：缺了 softmax。"},
              "weights = [[softmax]](scores)", {.no_softmax = true}),
        entry("mask_after",
              {"The mask is applied after the softmax: the weights of a row no longer add up to 1. Set the scores to "
               "-infinity before it.",
               "掩码加在了 softmax 之后：一行的权重加起来不再是 1。应该在 softmax 之前把分数设为负无穷。"},
              "scores = [[-infinity where visible is false]]", {.mask_after = true}),
        entry("mask_inverted",
              {"The mask is inverted: visible keys are hidden. masked_fill() writes where its argument is true: pass "
               "!visible. np.where() keeps x where it is true: pass visible.",
               "掩码反了：该看见的键被遮住了。masked_fill() 写在参数为真的地方：应该传入 !visible；np.where() "
               "在参数为真的地方保留 x：应该传入 visible。"},
              "scores = -infinity where visible is [[false]]", {.mask_inverted = true})};
  };
  const auto gradients = [=](bool numerical) {
    const auto loss = [=](const Tensor& q, const Tensor& k, const Tensor& v) {
      return sum(yours.attention(q, k, v, causal).first * S);
    };
    Results all_gradients;
    if (!numerical) {
      const heed::Recording recording;
      const Tensor q = variable(Q), k = variable(K), v = variable(V);
      const heed::Gradients g = backward(loss(q, k, v));
      return Results{{"dQ", g[q]}, {"dK", g[k]}, {"dV", g[v]}};
    }
    const auto by = [&](const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
      const auto values = numerical_gradient(
          [&](const std::vector<double>& w) {
            return f(heed::tensor({3, 4}, w, float64)).item();
          },
          x.to_vector());
      return heed::tensor({3, 4}, values, float64);
    };
    return Results{{"dQ", by(Q, [&](const Tensor& x) { return loss(x, K, V); })},
                   {"dK", by(K, [&](const Tensor& x) { return loss(Q, x, V); })},
                   {"dV", by(V, [&](const Tensor& x) { return loss(Q, K, x); })}};
  };
  const auto mask = [](auto&& is_visible) -> Compute {
    return [=] {
      Array x({4, 4});
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) x(i, j) = is_visible(i, j);
      return Results{{"visible", x}};
    };
  };
  const auto self = [=](const Tensor& q, const Tensor& k, const Tensor& v) -> Compute {
    return [=] { return results(faulty(q, k, v, all)); };
  };
  const Tensor SA = matmul(S, A), SB = matmul(S, B), SC = matmul(S, C);

  Step step{6, "06_attention", {"self-attention", "自注意力"}, {}};
  step.checks = {
      {{"Your journey starts with one step: attention with nothing to learn",
        "Your journey starts with one step：没有参数的注意力"},
       "simple_attention",
       {"X (6, 3), the words of the page", "X (6, 3)，讲解页里的六个词"},
       [=] { return results(yours.simple(X)); },
       [=] {
         return results(faulty(X, X, X, Booleans({1, 1}, {1}), {.scale = 1}));
       },
       {{"simple_wrong_axis",
         {"Softmax runs over the first axis: each column of the weights adds up to 1, not each row.",
          "softmax 沿第一个轴做了：加起来是 1 的是每一列，而不是每一行。"},
         "weights = softmax(scores), [[of each row]]",
         [=] {
           return results(faulty(X, X, X, Booleans({1, 1}, {1}), {.scale = 1, .axis = 0}));
         }},
        {"simple_no_softmax",
         {"The scores themselves mix the words: the softmax is missing.", "直接用分数混合了词：缺了 softmax。"},
         "weights = [[softmax]](scores)",
         [=] {
           return results(faulty(X, X, X, Booleans({1, 1}, {1}), {.scale = 1, .no_softmax = true}));
         }},
        {"simple_scaled",
         {"The scores are divided by sqrt(d). This first form has no scale yet.",
          "分数除以了根号 d。这个最简单的形式还没有缩放。"},
         "scores = [[X X^T]]",
         [=] {
           return results(faulty(X, X, X, Booleans({1, 1}, {1})));
         }}}},
      {{"attention, every key visible", "注意力，所有键都可见"},
       "attention",
       "Q, K, V (3, 4)",
       mine(all),
       with(all, {}),
       mistakes(all)},
      {{"attention under a causal mask", "因果掩码下的注意力"},
       "attention",
       "Q, K, V (3, 4), visible = [[1, 0, 0], [1, 1, 0], [1, 1, 1]]",
       mine(causal),
       with(causal, {}),
       mistakes(causal)},
      {{"a query that may attend to no key", "不能关注任何键的查询"},
       "attention",
       "visible = [[1, 0, 1], [0, 0, 0], [1, 1, 1]]",
       mine(none),
       with(none, {}),
       {{"large_number",
         {"Hidden scores are a large negative number, not -infinity: a query that may attend to no key then attends "
          "equally to all of them.",
          "被遮住的分数是一个很大的负数，而不是负无穷：不能关注任何键的查询，会平均地关注所有的键。"},
         "scores = [[-infinity]] where visible is false",
         with(none, {.hidden = -1e9})}}},
      {{"the gradients of Q, K and V: the gradient check", "Q、K、V 的梯度：梯度检查"},
       "attention",
       "Q, K, V (3, 4), causal",
       [=] { return gradients(false); },
       [=] { return gradients(true); }},
      {{"the causal mask", "因果掩码"},
       "causal_mask",
       "T = 4",
       [=] {
         const Booleans visible = yours.causal_mask(4);
         Results r{{"visible", heed::tensor(visible, float64)}};
         return r;
       },
       mask([](int i, int j) { return j <= i; }),
       {{"future",
         {"Each word sees itself and what comes after it. It must see what comes before.",
          "每个词看到的是自己和后面的词，应该是前面的词。"},
         "visible_ij = j [[<=]] i",
         mask([](int i, int j) { return j >= i; })},
        {"not_itself",
         {"A word does not see itself; the first one sees nothing.", "词看不到自己，第一个词什么也看不到。"},
         "visible_ij = j [[<=]] i",
         mask([](int i, int j) { return j < i; })},
        {"hides",
         {"The mask says what is hidden. It must say what is visible.", "掩码说的是什么被遮住，应该说什么可见。"},
         "visible_ij = j [[<=]] i",
         mask([](int i, int j) { return j > i; })}}},
      {{"self-attention", "自注意力"},
       "self_attention",
       "X (3, 4), W_Q, W_K, W_V (4, 4)",
       [=] { return results(yours.self(S, A, B, C, all)); },
       self(SA, SB, SC),
       {{"weights_transposed",
         {"The weights are transposed: you computed X W^T, as for torch.nn.Linear, which stores them so. Here Q = X "
          "W_Q.",
          "权重矩阵转置了：你算的是 X W^T，torch.nn.Linear 才那样存放。这里 Q = X W_Q。"},
         "Q = X [[W_Q]]",
         self(matmul(S, transpose(A)), matmul(S, transpose(B)), matmul(S, transpose(C)))},
        {"values_missing",
         {"The words themselves are mixed, without W_V.", "混合的是词本身，没有乘 W_V。"},
         "V = [[X W_V]]",
         self(SA, SB, S)},
        {"swapped",
         {"W_Q and W_K are swapped.", "W_Q 和 W_K 用反了。"},
         "[[Q = X W_Q      K = X W_K]]",
         self(SB, SA, SC)},
        {"one_matrix",
         {"W_Q makes the keys, too: then a word can only look for words like itself.",
          "键也用了 W_Q：这样一个词只能找与自己相似的词。"},
         "K = X [[W_K]]",
         self(SA, SA, SC)}}}};
  step.checks[4].is_recorded = true;  // the gradient check
  step.picture = [=](Language language) {
    const bool zh = language == Language::zh;
    const Pair attended = yours.self(words, W_Q, W_K, W_V, all);
    return (zh ? "你的注意力，第 2 个词 journey 的权重：\n" : "Your weights of the second word, journey:\n") +
           table(slice(yours.simple(X).second, 0, 1, 2), {"journey"}, journey) +
           (zh ? "\n你的自注意力，“苹果 很 甜”的权重：\n"
               : "\nYour self-attention of 苹果 很 甜, \"an apple is very sweet\": the weights\n") +
           table(attended.second, apple, apple);
  };
  step.svg = [=](Language language) {
    const bool zh = language == Language::zh;
    const Tensor queries = matmul(words, W_Q), keys = matmul(words, W_K), values = matmul(words, W_V),
                 scores = matmul(queries, transpose(keys)) / 2.0;
    const auto [output, weights] = yours.self(words, W_Q, W_K, W_V, all);
    // "0.02 × 1.00 + ...": the sum whose result stands at (i, j).
    const auto sums = [](const Tensor& a, const Tensor& b, const std::string& after) {
      std::vector<std::string> says;
      for (std::int64_t i = 0; i < a.size(0); ++i) {
        for (std::int64_t j = 0; j < b.size(1); ++j) {
          std::string sum;
          for (std::int64_t k = 0; k < a.size(1); ++k)
            sum += fmt::format("{}{:.2f} × {:.2f}", k > 0 ? " + " : "", a.at({i, k}), b.at({k, j}));
          says.push_back(after.empty() ? sum : "(" + sum + ")" + after);
        }
      }
      return says;
    };
    return picture({{{"Q = X W_Q", apple, {}, queries.to_vector(), sums(words, W_Q, "")},
                     {"K = X W_K", apple, {}, keys.to_vector(), sums(words, W_K, "")},
                     {"V = X W_V", apple, {}, values.to_vector(), sums(words, W_V, "")}},
                    {{"Q Kᵀ / √d_k", apple, apple, scores.to_vector(), sums(queries, transpose(keys), " / 2")},
                     {zh ? "你的权重" : "your weights", apple, apple, weights.to_vector()},
                     {zh ? "你的输出 = 权重 V" : "your output = weights V",
                      apple,
                      {},
                      output.to_vector(),
                      sums(weights, values, "")}}},
                   zh ? "“苹果 很 甜”的自注意力，d_k = 4。指向一个数，就看到它怎样算出；权重的每一行加起来是 1。"
                      : "Self-attention of 苹果 很 甜, \"an apple is very sweet\", d_k = 4. Point at a number to see "
                        "its sum; each row of the weights adds up to 1.");
  };
  return step;
}

}  // namespace learn
