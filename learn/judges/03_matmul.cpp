#include "03_matmul.h"

#include <heed/autograd/ops.h>

namespace learn {
namespace {

using heed::Tensor;

}  // namespace

Step step_03(const MatmulSolution& yours) {
  // Square matrices, so that each mistake computes; then others, so that only the right formula does.
  const Array A({2, 2}, {1, 2, 3, 4}), B({2, 2}, {5, 6, 7, 8}), P({2, 3}, {1, 0, -2, 0.5, 3, 1}),
      Q({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Array dC({2, 2}, {0.3, -0.1, 0.2, 0.7}), dR({2, 4}, {1, -1, 0.5, 2, 0, 3, -2, 1});
  const std::string square = "A = [[1, 2], [3, 4]], B = [[5, 6], [7, 8]]";
  using Of = std::function<Tensor(const Tensor&, const Tensor&)>;
  const auto one = [](const Of& of, const Array& a, const Array& b) -> Compute {
    return [=] { return Results{{"C", of(tensor_of(a), tensor_of(b))}}; };
  };
  const auto my_product = [=](const Array& a, const Array& b) -> Compute {
    return [=] { return Results{{"C", yours.matmul(a, b)}}; };
  };
  const Of product = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
  const auto of_backward = [=](const Of& da, const Of& db) -> Compute {  // each of them from dC and the other matrix
    return [=] { return Results{{"dA", da(tensor_of(dC), tensor_of(B))}, {"dB", db(tensor_of(A), tensor_of(dC))}}; };
  };
  const Of right_da = [](const Tensor& g, const Tensor& b) { return matmul(g, transpose(b)); };
  const Of right_db = [](const Tensor& a, const Tensor& g) { return matmul(transpose(a), g); };
  const auto my_gradients = [=](const Array& g, const Array& a, const Array& b) -> Compute {
    return [=] {
      const auto [da, db] = yours.matmul_backward(g, a, b);
      return Results{{"dA", da}, {"dB", db}};
    };
  };
  const auto checked = [=](const Array& g, const Array& a, const Array& b) -> Compute {
    return [=] {
      return Results{{"dA", numerical_gradient([&](const Array& x) { return yours.matmul(x, b); }, a, g)},
                     {"dB", numerical_gradient([&](const Array& x) { return yours.matmul(a, x); }, b, g)}};
    };
  };

  Step step{3, "03_matmul", {"matrix products", "矩阵乘法"}, {}};
  step.checks = {
      {{"a product of two square matrices", "两个方阵的乘积"},
       "matmul",
       square,
       my_product(A, B),
       one(product, A, B),
       {{"right_transposed",
         {"B is read transposed: you sum A_ik B_jk. The second index of B is the column of C.",
          "B 被转置着读了：你求的是 A_ik B_jk 之和。B 的第二个下标应该是 C 的列。"},
         "C_ij = sum over k of A_ik [[B_kj]]",
         one([](const Tensor& a, const Tensor& b) { return matmul(a, transpose(b)); }, A, B)},
        {"left_transposed",
         {"A is read transposed: you sum A_ki B_kj. The first index of A is the row of C.",
          "A 被转置着读了：你求的是 A_ki B_kj 之和。A 的第一个下标应该是 C 的行。"},
         "C_ij = sum over k of [[A_ik]] B_kj",
         one([](const Tensor& a, const Tensor& b) { return matmul(transpose(a), b); }, A, B)},
        {"elementwise",
         {"Element times element, as in step 2. Each element of C is a sum over a row of A and a column of B.",
          "这是第 2 步那样的逐元素相乘。C 的每个元素是 A 的一行与 B 的一列的乘积之和。"},
         "C_ij = [[sum over k of]] A_ik B_kj",
         one([](const Tensor& a, const Tensor& b) { return a * b; }, A, B)},
        {"overwritten",
         {"Only the last product of each sum is left. Write += instead of =.",
          "每个和只剩下最后一个乘积。应该用 +=，而不是 =。"},
         "C_ij = [[sum over k of]] A_ik B_kj",
         one([](const Tensor& a, const Tensor& b) { return matmul(slice(a, 1, 1), slice(b, 0, 1)); }, A, B)},
        {"order",
         {"This is B A. The order matters: C = A B.", "这是 B A。矩阵乘法不能交换次序：C = A B。"},
         "C = [[A B]]",
         one([](const Tensor& a, const Tensor& b) { return matmul(b, a); }, A, B)}}},
      {{"(2, 3) times (3, 4)", "(2, 3) 乘 (3, 4)"},
       "matmul",
       "A (2, 3), B (3, 4)",
       my_product(P, Q),
       one(product, P, Q)},
      {{"the transpose", "转置"},
       "transposed",
       "X = [[1, 0, -2], [0.5, 3, 1]]",
       [=] {
         return Results{{"Y", yours.transposed(P)}};
       },
       [=] {
         return Results{{"Y", transpose(tensor_of(P))}};
       },
       {{"only_reshaped",
         {"The shape is right, but the numbers stay in their order: that is a reshape. Row and column must change "
          "places.",
          "形状对了，数字的次序却没有变：这只是改变形状。行和列要互换。"},
         "Y_ij = X_[[ji]]",
         [=] {
           return Results{{"Y", reshape(tensor_of(P), {3, 2})}};
         }}}},
      {{"the gradients: the gradient check", "梯度：梯度检查"},
       "matmul_backward",
       square + ", dC = [[0.3, -0.1], [0.2, 0.7]]",
       my_gradients(dC, A, B),
       checked(dC, A, B),
       {{"b_not_transposed",
         {"dA needs the transpose of B.", "dA 里的 B 没有转置。"},
         "dA = dC B[[^T]]",
         of_backward(product, right_db)},
        {"a_not_transposed",
         {"dB needs the transpose of A.", "dB 里的 A 没有转置。"},
         "dB = A[[^T]] dC",
         of_backward(right_da, product)},
        {"b_gradient_order",
         {"dB is dC A^T. The order is reversed: A^T stands on the left.", "dB 算成了 dC A^T。次序反了：A^T 在左边。"},
         "dB = [[A^T dC]]",
         of_backward(right_da, [](const Tensor& a, const Tensor& g) { return matmul(g, transpose(a)); })},
        {"swapped",
         {"dA and dB are swapped: the gradient of A comes first.", "dA 和 dB 的位置反了：先返回 A 的梯度。"},
         "Returns the gradients [[(dA, dB)]]",
         [=] {
           return Results{{"dA", right_db(tensor_of(A), tensor_of(dC))}, {"dB", right_da(tensor_of(dC), tensor_of(B))}};
         }},
        {"b_gradient_transposed",
         {"dB is transposed: you computed dC^T A. It must have the shape of B.",
          "dB 转置了：你算的是 dC^T A。它的形状应与 B 相同。"},
         "dB = [[A^T dC]]",
         of_backward(right_da, [](const Tensor& a, const Tensor& g) { return matmul(transpose(g), a); })}}},
      {{"the gradients of (2, 3) times (3, 4)", "(2, 3) 乘 (3, 4) 的梯度"},
       "matmul_backward",
       "A (2, 3), B (3, 4), dC (2, 4)",
       my_gradients(dR, P, Q),
       checked(dR, P, Q)}};
  return step;
}

}  // namespace learn
