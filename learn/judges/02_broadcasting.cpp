#include "02_broadcasting.h"

#include <heed/autograd/ops.h>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace learn {
namespace {

using Sizes = std::vector<int>;

// Returns dy reduced to (1, columns) or (rows, 1) by f(total, count, last element).
Array reduced(const Array& dy, const Sizes& shape, const std::function<double(double, int, double)>& f) {
  Array total(shape), last(shape), first(shape);
  const bool by_column = shape.back() == dy.columns();
  for (int i = 0; i < dy.rows(); ++i) {
    for (int j = 0; j < dy.columns(); ++j) {
      const auto at = static_cast<std::size_t>(by_column ? j : i);
      total.values[at] += dy(i, j), last.values[at] = dy(i, j);
    }
  }
  for (std::size_t i = 0; i < total.values.size(); ++i)
    total.values[i] = f(total.values[i], by_column ? dy.rows() : dy.columns(), last.values[i]);
  return total;
}

}  // namespace

Step step_02(const BroadcastingSolution& yours) {
  const auto shapes = [=](auto&& of) -> Compute {
    return [=] {
      return Results{{{"size of (3, 1) with (3)", "(3, 1) 与 (3) 的大小"},
                      of(Sizes{3, 1}, Sizes{3})},  // compatible in either alignment
                     {{"size of (2, 1, 2) with (2, 1)", "(2, 1, 2) 与 (2, 1) 的大小"}, of(Sizes{2, 1, 2}, Sizes{2, 1})},
                     {{"size of () with (2, 2)", "() 与 (2, 2) 的大小"}, of(Sizes{}, Sizes{2, 2})},
                     {{"size of (3) with (3, 3)", "(3) 与 (3, 3) 的大小"}, of(Sizes{3}, Sizes{3, 3})}};
    };
  };
  const auto from_left = [](Sizes a, Sizes b) {
    Sizes shape(std::max(a.size(), b.size()));
    a.resize(shape.size(), 1), b.resize(shape.size(), 1);
    for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = std::max(a[i], b[i]);
    return shape;
  };
  const auto rejects = [](auto&& of) -> Compute {
    return [=] {
      bool threw = false;
      try {
        of(Sizes{4, 3}, Sizes{4});
      } catch (const std::invalid_argument&) {
        threw = true;
      }
      return Results{{{"throws (1: yes)", "抛出异常（1：是）"}, threw ? 1.0 : 0.0}};
    };
  };
  const Array row({1, 3}, {10, 20, 30}), column({2, 1}, {1, 2}), matrix({2, 3}, {1, 2, 3, 4, 5, 6}),
      vector({3}, {-1, 0.5, 2});
  const Array dy({2, 3}, {0.1, -0.2, 0.3, 0.4, 0.5, -0.7});
  const auto offsets = [=](auto&& of) -> Compute {
    return [=] {
      Results results;
      for (const auto& [name, x] :
           {std::pair{"(2, 3)", matrix}, {"(1, 3)", row}, {"(2, 1)", column}, {"(3)", vector}}) {
        std::vector<double> all;
        for (int i = 0; i < 2; ++i)
          for (int j = 0; j < 3; ++j) all.push_back(static_cast<double>(of(x, Sizes{i, j})));
        results.push_back({{fmt::format("offsets in {} of [0][0], [0][1], ... [1][2]: ", name),
                            fmt::format("{} 中 [0][0]、[0][1]、……、[1][2] 的位置：", name)},
                           all});
      }
      return results;
    };
  };
  const auto expected_offset = [](const Array& x, const Sizes& index) {
    std::size_t at = 0;
    for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
      const int size = x.shape[axis];
      at = at * static_cast<std::size_t>(size) +
           static_cast<std::size_t>(size == 1 ? 0 : index[index.size() - x.shape.size() + axis]);
    }
    return at;
  };
  const auto products = [=](auto&& of) -> Compute {
    return [=] {
      return Results{
          {"(2, 3) (1, 3)", of(matrix, row)}, {"(2, 3) (3)", of(matrix, vector)}, {"(2, 1) (1, 3)", of(column, row)}};
    };
  };
  const auto sums = [=](auto&& of) -> Compute {
    return [=] {
      return Results{
          {"dx (1, 3)", of(dy, Sizes{1, 3})}, {"dx (2, 1)", of(dy, Sizes{2, 1})}, {"dx (3)", of(dy, Sizes{3})}};
    };
  };
  const auto sum_of = [](const std::function<double(double, int, double)>& f) {
    return [=](const Array& g, const Sizes& shape) { return reduced(g, shape, f); };
  };
  const auto gradients = [=](auto&& of) -> Compute {
    return [=] {
      Results results;
      for (const auto& [a, b] : {std::pair{matrix, row}, {column, row}}) {
        const auto [da, db] = of(dy, a, b);
        results.push_back({"da", da}), results.push_back({"db", db});
      }
      return results;
    };
  };
  const auto product = [](const Array& a, const Array& b) {
    return Array({2, 3}, (tensor_of(a) * tensor_of(b)).to_vector());
  };
  const auto total = sum_of([](double sum, int, double) { return sum; });
  const std::string formula = "dx = [[sum]] of dy over the axes along which x was repeated";

  Step step{2, "02_broadcasting", {"tensors and broadcasting", "张量与广播"}, {}};
  step.checks = {
      {{"the shape of the result", "结果的形状"},
       "broadcast_shape",
       "",
       shapes(yours.broadcast_shape),
       shapes([](const Sizes& a, const Sizes& b) {
         Sizes shape(std::max(a.size(), b.size()));
         for (std::size_t i = 1; i <= shape.size(); ++i)
           shape[shape.size() - i] = std::max(i <= a.size() ? a[a.size() - i] : 1, i <= b.size() ? b[b.size() - i] : 1);
         return shape;
       }),
       {{"from_left",
         {"The shapes are aligned at their first axes. Align them at their last axes: (3) becomes (1, 3), not (3, 1).",
          "形状从第一个轴对齐了。应该从最后一个轴对齐：(3) 变成 (1, 3)，而不是 (3, 1)。"},
         "align at the [[last]] axes",
         shapes(from_left)}}},
      {{"shapes that do not broadcast", "不能广播的形状"},
       "broadcast_shape",
       {"(4, 3) and (4)", "(4, 3) 与 (4)"},
       rejects(yours.broadcast_shape),
       [] {
         return Results{{{"throws (1: yes)", "抛出异常（1：是）"}, 1.0}};
       },
       {{"accepts_all",
         {"Every pair of shapes is accepted. (4, 3) and (4) have the last sizes 3 and 4: neither is 1. Throw "
          "std::invalid_argument, in Python raise ValueError.",
          "任何两个形状都被接受了。(4, 3) 和 (4) 的最后一个轴是 3 和 4，两者都不是 1。应该抛出 "
          "std::invalid_argument，Python 里是 raise ValueError。"},
         "otherwise -> [[an error]]",
         [] {
           return Results{{{"throws (1: yes)", "抛出异常（1：是）"}, 0.0}};
         }}}},
      {{"where an element lies", "元素的位置"},
       "offset",
       "",
       offsets(yours.offset),
       offsets(expected_offset),
       {{"not_repeated",
         {"An axis of size 1 uses the index of the result. It must use 0, since its only element repeats.",
          "大小为 1 的轴用了结果的下标。它只有一个元素，应该用 0。"},
         "along an axis of size 1: [[position 0]]",
         offsets([](const Array& x, const Sizes& index) {
           std::size_t at = 0;
           for (std::size_t axis = 0; axis < x.shape.size(); ++axis)
             at = at * static_cast<std::size_t>(x.shape[axis]) +
                  static_cast<std::size_t>(index[index.size() - x.shape.size() + axis]);
           return at;
         })},
        {"column_major",
         {"The offsets count column by column. The numbers lie row by row: the last index moves fastest.",
          "位置按列计算了。数字是逐行存放的：最后一个下标变化最快。"},
         "offset = [[i_1 * size_2 + i_2]]",
         offsets([](const Array& x, const Sizes& index) {
           std::size_t at = 0;
           for (std::size_t axis = x.shape.size(); axis-- > 0;) {
             const int size = x.shape[axis];
             at = at * static_cast<std::size_t>(size) +
                  static_cast<std::size_t>(size == 1 ? 0 : index[index.size() - x.shape.size() + axis]);
           }
           return at;
         })}}},
      {{"products", "乘积"},
       "multiply",
       "a = [[1, 2, 3], [4, 5, 6]], b = [[10, 20, 30]]",
       products(yours.multiply),
       products(product)},
      {{"the gradient of a repeated tensor", "被重复的张量的梯度"},
       "sum_to",
       "dy = [[0.1, -0.2, 0.3], [0.4, 0.5, -0.7]]",
       sums(yours.sum_to),
       sums(total),
       {{"overwritten",
         {"Not summed: each element keeps the gradient of its last copy. Write += instead of =.",
          "没有求和：每个元素只留下最后一份的梯度。应该用 +=，而不是 =。"},
         formula,
         sums(sum_of([](double, int, double last) { return last; }))},
        {"mean",
         {"The mean over the copies. Each copy contributes its whole gradient: sum, do not divide.",
          "取了各份的平均值。每一份都贡献全部梯度：只求和，不要除。"},
         formula,
         sums(sum_of([](double sum, int count, double) { return sum / count; }))},
        {"not_summed",
         {"The gradient still has the shape of dy: the broadcast axes are not summed.",
          "梯度的形状仍与 dy 相同：广播的轴没有求和。"},
         formula,
         sums([](const Array& g, const Sizes&) { return g; })}}},
      {{"gradients of a product: the gradient check", "乘积的梯度：梯度检查"},
       "multiply_backward",
       "a (2, 3), b (1, 3)",
       gradients(yours.multiply_backward),
       gradients([=](const Array& g, const Array& a, const Array& b) {
         return std::pair{numerical_gradient([&](const Array& x) { return yours.multiply(x, b); }, a, g),
                          numerical_gradient([&](const Array& x) { return yours.multiply(a, x); }, b, g)};
       }),
       {{"factor_missing",
         {"dy is summed without its factor. The derivative of a b by a is b.",
          "dy 没有乘上另一个因数就求和了。a b 对 a 的导数是 b。"},
         "da = sum_to(dy [[b]], shape of a)",
         gradients([=](const Array& g, const Array& a, const Array& b) {
           const auto part = [&](const Array& x) { return x.shape == g.shape ? g : total(g, x.shape); };
           return std::pair{part(a), part(b)};
         })},
        {"own_factor",
         {"Each gradient is multiplied by its own tensor. da needs b, and db needs a.",
          "每个梯度乘了它自己的张量。da 要乘 b，db 要乘 a。"},
         "da = sum_to(dy [[b]], shape of a)",
         gradients([=](const Array& g, const Array& a, const Array& b) {
           const auto part = [&](const Array& x) {
             return x.shape == g.shape ? product(g, x) : total(product(g, x), x.shape);
           };
           return std::pair{part(a), part(b)};
         })}}}};
  return step;
}

}  // namespace learn
