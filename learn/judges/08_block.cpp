#include "08_block.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/nn/block.h>

namespace learn {
namespace {

using heed::Tensor;
using Part = BlockSolution::Part;

}  // namespace

Step step_08(const BlockSolution& yours) {
  heed::Random random(8);
  const auto draw = [&](const heed::Shape& shape, double deviation = 1) {
    return random_normal(shape, random, 0, deviation, heed::DType::float64);
  };
  const Tensor x = draw({2, 3, 4}) + 0.5, gain = draw({4}), bias = draw({4}), cotangent = draw({2, 3, 4});
  const Tensor faint = x * 1e-3;  // a variance beside which eps matters
  const Tensor W_1 = draw({4, 16}), b_1 = draw({16}), W_2 = draw({16, 4}), b_2 = draw({4});
  using Norm = std::function<Tensor(const Tensor&)>;
  const auto normed = [=](const Norm& f) -> Compute {
    return [=] { return Results{{"y", f(x)}, {"y of 0.001 x", f(faint)}}; };
  };
  const auto centred = [](const Tensor& v) { return v - mean(v, {-1}, true); };
  const auto variance = [](const Tensor& v) { return heed::var(v, {-1}, true); };
  const std::string norm_formula = "y = (x - mean) / sqrt(variance + eps) * gain + bias";
  const auto hidden = [=] { return matmul(x, W_1) + b_1; };
  const auto mlp_of = [=](const std::function<Tensor()>& f) -> Compute { return [=] { return Results{{"y", f()}}; }; };

  // Parts that do not commute, so that every wiring gives numbers of its own.
  const Part attend = [=](const Tensor& v) { return matmul(softmax(matmul(v, transpose(v))), v) * 0.7; };
  const Part think = [](const Tensor& v) { return tanh(v * 1.3) + 0.2; };
  const Part norm_1 = [=](const Tensor& v) { return heed::layer_norm(v, gain, bias); };
  const Part norm_2 = [=](const Tensor& v) { return heed::layer_norm(v, bias, gain); };
  const auto wired = [=](const std::function<Tensor()>& f) -> Compute { return [=] { return Results{{"y", f()}}; }; };
  const auto middle = [=] { return x + attend(norm_1(x)); };

  Step step{8, "08_block", {"a block", "一个 transformer 块"}, {}};
  step.checks = {
      {{"layer norm", "层归一化"},
       "layer_norm",
       {"x (2, 3, 4), and 0.001 x", "x (2, 3, 4)，以及 0.001 x"},
       normed([=](const Tensor& v) { return yours.layer_norm(v, gain, bias, 1e-5); }),
       normed([=](const Tensor& v) { return heed::layer_norm(v, gain, bias, 1e-5); }),
       {{"variance_of_sample",
         {"The variance is divided by d - 1, as for a sample. Divide by d.",
          "方差除以了 d - 1，那是样本方差。应该除以 d。"},
         "variance = [[mean]] of (x - mean)^2",
         normed([=](const Tensor& v) { return centred(v) / sqrt(heed::var(v, {-1}, true, 1) + 1e-5) * gain + bias; })},
        {"over_tokens",
         {"Mean and variance run over the tokens. Each token is normalised by its own features: the last axis.",
          "均值和方差沿词元的方向算了。每个词元用自己的特征归一化：最后一个轴。"},
         "mean = mean of [[the d features of a token]]",
         normed([=](const Tensor& v) {
           return (v - mean(v, {1}, true)) / sqrt(heed::var(v, {1}, true) + 1e-5) * gain + bias;
         })},
        {"over_all",
         {"One mean and one variance for all tokens. Pass the axis: mean(x, {-1}, true), in NumPy "
          "x.mean(axis=-1, keepdims=True).",
          "所有词元共用了一个均值和一个方差。要给出轴：mean(x, {-1}, true)，NumPy 里是 "
          "x.mean(axis=-1, keepdims=True)。"},
         "mean = mean of [[the d features of a token]]",
         normed([=](const Tensor& v) { return (v - mean(v)) / sqrt(heed::var(v) + 1e-5) * gain + bias; })},
        {"epsilon_outside",
         {"eps is added to the root. It belongs to the variance, inside the root.",
          "eps 加在了根号外面。它应该加在方差上，在根号里面。"},
         "y = (x - mean) / sqrt(variance [[+ eps]]) * gain + bias",
         normed([=](const Tensor& v) { return centred(v) / (sqrt(variance(v)) + 1e-5) * gain + bias; })},
        {"epsilon_missing",
         {"eps is missing.", "缺了 eps。"},
         "y = (x - mean) / sqrt(variance [[+ eps]]) * gain + bias",
         normed([=](const Tensor& v) { return centred(v) / sqrt(variance(v)) * gain + bias; })},
        {"root_missing",
         {"x is divided by the variance. Divide by its square root.", "除以了方差，应该除以它的平方根。"},
         "y = (x - mean) / [[sqrt]](variance + eps) * gain + bias",
         normed([=](const Tensor& v) { return centred(v) / (variance(v) + 1e-5) * gain + bias; })},
        {"mean_missing",
         {"The mean is subtracted for the variance but not from x itself.", "算方差时减去了均值，x 本身却没有减。"},
         "y = (x [[- mean]]) / sqrt(variance + eps) * gain + bias",
         normed([=](const Tensor& v) { return v / sqrt(variance(v) + 1e-5) * gain + bias; })},
        {"gain_missing",
         {"Gain and bias are missing.", "缺了增益和偏置。"},
         "y = (x - mean) / sqrt(variance + eps) [[* gain + bias]]",
         normed([=](const Tensor& v) { return centred(v) / sqrt(variance(v) + 1e-5); })}}},
      {{"its gradient: the gradient check", "它的梯度：梯度检查"},
       "layer_norm",
       "x (2, 3, 4)",
       [=] {
         const heed::Recording recording;
         const Tensor v = variable(x);
         return Results{{"dx", backward(yours.layer_norm(v, gain, bias, 1e-5), cotangent)[v]}};
       },
       [=] {
         const auto loss = [&](const std::vector<double>& v) {
           return sum(heed::layer_norm(heed::tensor({2, 3, 4}, v, heed::DType::float64), gain, bias) * cotangent)
               .item();
         };
         return Results{{"dx", heed::tensor({2, 3, 4}, numerical_gradient(loss, x.to_vector()), heed::DType::float64)}};
       },
       {{"mean_constant",
         {"Mean and variance are constants for the tape, as after detach() or item(). They depend on x, and their "
          "gradients belong to dx.",
          "对记录来说，均值和方差成了常数，就像用了 detach() 或 item()。它们依赖于 x，它们的梯度也属于 dx。"},
         "y = (x - [[mean]]) / sqrt([[variance]] + eps) * gain + bias",
         [=] {
           return Results{{"dx", cotangent * gain / sqrt(variance(x) + 1e-5)}};
         }}},
       1e-6},
      {{"the MLP", "MLP"},
       "mlp",
       "x (2, 3, 4), W_1 (4, 16)",
       mlp_of([=] { return yours.mlp(x, W_1, b_1, W_2, b_2); }),
       mlp_of([=] { return matmul(gelu(hidden()), W_2) + b_2; }),
       {{"activation_missing",
         {"The activation is missing: two linear maps in a row are one linear map.",
          "缺了激活函数：两个线性变换接在一起，还是一个线性变换。"},
         "y = [[gelu]](x W_1 + b_1) W_2 + b_2",
         mlp_of([=] { return matmul(hidden(), W_2) + b_2; })},
        {"activation_last",
         {"The activation comes after the second product. It belongs between the two.",
          "激活函数放在了第二次乘法之后，应该放在两次乘法之间。"},
         "y = [[gelu(x W_1 + b_1)]] W_2 + b_2",
         mlp_of([=] { return gelu(matmul(hidden(), W_2) + b_2); })},
        {"relu",
         {"The activation is relu. This block uses gelu.", "激活函数是 relu，这里用的是 gelu。"},
         "y = [[gelu]](x W_1 + b_1) W_2 + b_2",
         mlp_of([=] { return matmul(relu(hidden()), W_2) + b_2; })},
        {"bias_after",
         {"b_1 is added after the activation.", "b_1 加在了激活函数之后。"},
         "y = gelu(x W_1 [[+ b_1]]) W_2 + b_2",
         mlp_of([=] { return matmul(gelu(matmul(x, W_1)) + b_1, W_2) + b_2; })}}},
      {{"the block", "块"},
       "block",
       "x (2, 3, 4)",
       wired([=] { return yours.block(x, attend, think, norm_1, norm_2); }),
       wired([=] { return middle() + think(norm_2(middle())); }),
       {{"no_residual",
         {"Neither part has a residual: each must add to x, not replace it.",
          "两个部分都没有残差：它们应该加到 x 上，而不是取代它。"},
         "x = [[x +]] attention(first_norm(x))",
         wired([=] { return think(norm_2(attend(norm_1(x)))); })},
        {"first_residual_missing",
         {"The attention replaces x. It must add to it.", "注意力取代了 x，应该加到 x 上。"},
         "x = [[x +]] attention(first_norm(x))",
         wired([=] {
           const Tensor y = attend(norm_1(x));
           return y + think(norm_2(y));
         })},
        {"second_residual_missing",
         {"The MLP replaces x. It must add to it.", "MLP 取代了 x，应该加到 x 上。"},
         "x = [[x +]] mlp(second_norm(x))",
         wired([=] { return think(norm_2(middle())); })},
        {"parallel",
         {"The MLP reads the state from before the attention. It must read the sum: x changes in between.",
          "MLP 读的是注意力之前的状态。它应该读相加之后的 x。"},
         "x = x + mlp(second_norm([[x]]))",
         wired([=] { return middle() + think(norm_2(x)); })},
        {"post_norm",
         {"The sums are normalised (post-norm, as in BERT). Here each part reads a normalised copy, and the state "
          "itself stays as it is.",
          "归一化的是相加的结果（post-norm，如 BERT）。这里每个部分读的是归一化后的副本，状态本身不归一化。"},
         "x = x + attention([[first_norm(x)]])",
         wired([=] {
           const Tensor y = norm_1(x + attend(x));
           return norm_2(y + think(y));
         })},
        {"norm_missing",
         {"The parts read x itself, without its norm.", "各部分直接读了 x，没有归一化。"},
         "x = x + attention([[first_norm]](x))",
         wired([=] {
           const Tensor y = x + attend(x);
           return y + think(y);
         })},
        {"one_norm",
         {"Both parts read through the first norm. The MLP has the second.",
          "两个部分都用了第一个归一化。MLP 要用第二个。"},
         "x = x + mlp([[second_norm]](x))",
         wired([=] { return middle() + think(norm_1(middle())); })},
        {"normed_residual",
         {"The normalised copy is added to. Add to x itself, so that the state runs through unchanged.",
          "加到了归一化后的副本上。应该加到 x 本身，状态才能原样传下去。"},
         "x = [[x]] + attention(first_norm(x))",
         wired([=] {
           const Tensor n = norm_1(x), y = n + attend(n), m = norm_2(y);
           return m + think(m);
         })}}}};
  step.checks[1].is_recorded = true;  // the gradient check
  return step;
}

}  // namespace learn
