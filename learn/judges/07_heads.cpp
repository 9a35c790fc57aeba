#include "07_heads.h"

#include <heed/autograd/ops.h>
#include <heed/nn/attention.h>

#include <cmath>

namespace learn {
namespace {

using heed::Tensor;
using Of = std::function<Tensor(const Tensor&)>;

Tensor split(const Tensor& x, int heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}
Tensor join(const Tensor& x) { return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)}); }

// Each feature of token t of text b is 100 b + 10 t + feature, so that a glance shows where it went.
Tensor labelled() {
  std::vector<double> values;
  for (int b = 0; b < 2; ++b)
    for (int t = 0; t < 3; ++t)
      for (int feature = 0; feature < 4; ++feature) values.push_back(100 * b + 10 * t + feature);
  return heed::tensor({2, 3, 4}, values, heed::DType::float64);
}

}  // namespace

Step step_07(const HeadsSolution& yours) {
  constexpr int heads = 2;
  heed::Random random(7);
  const auto draw = [&](const heed::Shape& shape) { return random_normal(shape, random, 0, 1, heed::DType::float64); };
  const Tensor x = draw({2, 3, 4}), W_Q = draw({4, 4}), W_K = draw({4, 4}), W_V = draw({4, 4}), W_O = draw({4, 4});
  const Tensor parts = labelled(), whole = split(parts, heads);
  const auto on = [](const Of& f, const Tensor& input) -> Compute { return [=] { return Results{{"y", f(input)}}; }; };
  const std::string cut = "(B, T, d) --reshape--> [[(B, T, heads, d_k) --transpose(1, 2)-->]] (B, heads, T, d_k)";
  const std::string back =
      "(B, heads, T, d_k) [[--transpose(1, 2)--> (B, T, heads, d_k)]] --reshape--> (B, T, heads d_k)";

  struct Faults {
    double scale = 0;
    bool output_missing = false, output_transposed = false, one_head = false, over_queries = false;
  };
  const auto attend = [=](const Faults& fault) -> Compute {
    return [=] {
      const auto cut_up = [&](const Tensor& y) { return split(y, fault.one_head ? 1 : heads); };
      const Tensor Q = cut_up(matmul(x, W_Q)), K = cut_up(matmul(x, W_K)), V = cut_up(matmul(x, W_V));
      const double scale = fault.scale != 0 ? fault.scale : 1 / std::sqrt(static_cast<double>(Q.size(-1)));
      const Tensor weights = softmax(matmul(Q, transpose(K)) * scale, fault.over_queries ? -2 : -1),
                   context = matmul(weights, V);
      const Tensor joined = join(context);
      return Results{
          {"output", fault.output_missing ? joined : matmul(joined, fault.output_transposed ? transpose(W_O) : W_O)}};
    };
  };
  Step step{7, "07_heads", {"several heads", "多头"}, {}};
  step.checks = {
      {{"features split into heads", "把特征分给各个头"},
       "split_heads",
       {"x (2, 3, 4): feature f of token t in text b is 100 b + 10 t + f; 2 heads",
        "x (2, 3, 4)：第 b 个文本、第 t 个词元的特征 f 是 100 b + 10 t + f；2 个头"},
       on([=](const Tensor& y) { return yours.split_heads(y, heads); }, parts),
       on([](const Tensor& y) { return split(y, heads); }, parts),
       {{"only_reshaped",
         {"The shape is right, but the numbers keep their order: a head holds all features of a few tokens, not a few "
          "features of all tokens. Transpose.",
          "形状对了，数字的次序却没有变：一个头里放的是几个词元的全部特征，而不是全部词元的几个特征。还要转置。"},
         cut,
         on(
             [](const Tensor& y) {
               return reshape(y, {2, heads, 3, 2});
             },
             parts)},
        {"interleaved",
         {"Head h gets every second feature, h, h + 2, ... It must get neighbours: reshape to (B, T, heads, d_k), not "
          "(B, T, d_k, heads).",
          "第 h 个头得到了间隔的特征 h、h + 2、……，应该是相邻的特征：先变成 (B, T, heads, d_k)，而不是 (B, T, d_k, "
          "heads)。"},
         "(B, T, d) --reshape--> (B, T, [[heads, d_k]]) --transpose(1, 2)--> (B, heads, T, d_k)",
         on(
             [](const Tensor& y) {
               return permute(reshape(y, {2, 3, 2, heads}), {0, 3, 1, 2});
             },
             parts)},
        {"not_transposed",
         {"The heads are the third axis. They must come before the tokens: transpose axes 1 and 2.",
          "头成了第三个轴。头要在词元之前：交换轴 1 和轴 2。"},
         cut,
         on(
             [](const Tensor& y) {
               return reshape(y, {2, 3, heads, 2});
             },
             parts)}}},
      {{"heads joined again", "把各个头重新并排"},
       "join_heads",
       {"what split_heads() must return", "split_heads() 应返回的结果"},
       on(yours.join_heads, whole),
       on(join, whole),
       {{"join_only_reshaped",
         {"The shape is right, but the numbers keep their order: features of different tokens lie side by side. "
          "Transpose first.",
          "形状对了，数字的次序却没有变：不同词元的特征排在了一起。要先转置。"},
         back,
         on(
             [](const Tensor& y) {
               return reshape(y, {2, 3, 4});
             },
             whole)},
        {"join_interleaved",
         {"The features of the heads alternate. They must lie head after head.",
          "各个头的特征交错了，应该一个头接一个头。"},
         back,
         on(
             [](const Tensor& y) {
               return reshape(permute(y, {0, 2, 3, 1}), {2, 3, 4});
             },
             whole)}}},
      {{"multi-head attention", "多头注意力"},
       "multi_head",
       {"x (2, 3, 4), 2 heads", "x (2, 3, 4)，2 个头"},
       [=] {
         return Results{{"output", yours.multi_head(x, W_Q, W_K, W_V, W_O, heads)}};
       },
       attend({}),
       {{"scale_by_width",
         {"The scores are divided by sqrt(d). d_k is the width of one head, d / heads.",
          "分数除以了根号 d。d_k 是一个头的维度 d / heads。"},
         "head_h = softmax(Q_h K_h^T / sqrt([[d_k]])) V_h",
         attend({.scale = 0.5})},
        {"scale_missing",
         {"The scores are not divided by sqrt(d_k).", "分数没有除以根号 d_k。"},
         "head_h = softmax(Q_h K_h^T [[/ sqrt(d_k)]]) V_h",
         attend({.scale = 1})},
        {"output_missing",
         {"W_O is missing: the heads lie side by side, and nothing mixes them.",
          "缺了 W_O：各个头只是并排放着，没有混合。"},
         "output = join_heads(head_1, head_2, ...) [[W_O]]",
         attend({.output_missing = true})},
        {"output_transposed",
         {"W_O is transposed.", "W_O 转置了。"},
         "output = join_heads(head_1, head_2, ...) [[W_O]]",
         attend({.output_transposed = true})},
        {"one_head",
         {"There is one head of width d: Q, K and V are not split.", "只有一个 d 维的头：Q、K、V 没有分开。"},
         "Q, K, V = [[split_heads]](x W_Q), ...",
         attend({.one_head = true})},
        {"over_queries",
         {"Softmax runs over the queries.", "softmax 沿查询的方向做了。"},
         "head_h = [[softmax]](Q_h K_h^T / sqrt(d_k)) V_h",
         attend({.over_queries = true})}}},
      {{"one head is the attention of step 6", "只有一个头时，就是第 6 步的注意力"},
       "multi_head",
       {"x (2, 3, 4), 1 head", "x (2, 3, 4)，1 个头"},
       [=] {
         return Results{{"output", yours.multi_head(x, W_Q, W_K, W_V, W_O, 1)}};
       },
       attend({.one_head = true})},
      {{"heed's layer gives the same numbers", "heed 的层给出同样的数字"},
       "multi_head",
       {"x (2, 3, 4), 2 heads", "x (2, 3, 4)，2 个头"},
       [=] {
         return Results{{"output", yours.multi_head(x, W_Q, W_K, W_V, W_O, heads)}};
       },
       [=] {
         heed::Parameters parameters;
         const heed::MultiHeadAttention layer(heed::Scope(parameters, 1, heed::DType::float64),
                                              {.d_model = 4, .heads = heads});
         layer.W_Q.weight.copy_from(W_Q), layer.W_K.weight.copy_from(W_K), layer.W_V.weight.copy_from(W_V),
             layer.W_O.weight.copy_from(W_O);
         return Results{{"output", layer(x).output}};
       }}};
  return step;
}

}  // namespace learn
