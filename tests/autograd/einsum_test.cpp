#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

using namespace heed;

TEST_CASE("einsum computes the sum of products of its formula") {
  Random random(11);
  const auto x = [&](const Shape& shape) { return scattered(uniform(shape, random), random); };
  const Tensor a = x({2, 3, 4}), b = x({2, 4, 5}), square_ = x({3, 3}), v = x({4}), w = x({4});
  const auto close = [](const Tensor& y, const Tensor& expected) { return distance(y, expected) < 1e-13; };
  CHECK(close(einsum("bij,bjk->bik", a, b), matmul(a, b)));
  CHECK(close(einsum("bij, bjk -> kib", a, b), permute(matmul(a, b), {2, 1, 0})));
  CHECK(close(einsum("bij,bjk", a, b), sum(matmul(a, b), {0})));  // b and j occur twice
  CHECK(close(einsum("Bij,BjZ->BiZ", a, b), matmul(a, b)));
  CHECK(close(einsum("aZ", square_), transpose(square_)));  // "Z" comes before "a"
  CHECK(close(einsum("i,i", v, w), sum(v * w)));
  CHECK(close(einsum("i,j->ij", v, w), reshape(v, {4, 1}) * w));
  CHECK(close(einsum("bij,j->bi", a, v), sum(a * v, {2})));
  CHECK(close(einsum("bij,bij->b", a, a), sum(a * a, {1, 2})));
  CHECK(close(einsum("bij,k->k", a, v), sum(a) * v));
  CHECK(close(einsum("ij->ji", square_), transpose(square_)));
  CHECK(close(einsum("ij->i", square_), sum(square_, {1})));
  CHECK(close(einsum("ii->i", square_), stack({square_[0][0], square_[1][1], square_[2][2]})));
  CHECK(close(einsum("ii", square_), square_[0][0] + square_[1][1] + square_[2][2]));
  CHECK(close(einsum("...ij,...jk->...ik", a, b), matmul(a, b)));
  CHECK(close(einsum("...ij,jk->...ik", a, b[0]), matmul(a, b[0])));
  CHECK(close(einsum("b...,b...->b...", a, a), a * a));
  CHECK(einsum("...ii->...i", x({2, 5, 3, 3})).shape() == Shape{2, 5, 3});
  CHECK(close(einsum("b...->...b", a), permute(a, {1, 2, 0})));
  CHECK(close(einsum("ba...", a), einsum("ba...->...ab", a)));  // in alphabetical order
  CHECK(close(einsum("i...i->...", stack({square_, square_}, 1)),
              broadcast_to(square_[0][0] + square_[1][1] + square_[2][2], {2})));
  const Tensor cube = x({2, 2, 2});
  CHECK(close(einsum("iii->i", cube), stack({cube[0][0][0], cube[1][1][1]})));
  CHECK(close(einsum("iii", cube), cube[0][0][0] + cube[1][1][1]));
  CHECK(close(einsum("iji,j->i", cube, v[0] * ones({2}, DType::float64)),
              stack({cube[0][0][0] + cube[0][1][0], cube[1][0][1] + cube[1][1][1]}) * v[0]));
}

TEST_CASE("einsum accepts scalars and empty axes, and broadcasts axes of size 1") {
  Random random(13);
  const Tensor a = uniform({2, 3, 4}, random), v = uniform({4}, random), one = full({}, 3, DType::float64);
  const auto close = [](const Tensor& y, const Tensor& expected) { return distance(y, expected) < 1e-13; };
  CHECK(einsum(",->", one, one).item() == 9);
  CHECK(einsum("->", one).item() == 3);
  CHECK(close(einsum(",i->i", one, v), v * 3));
  CHECK(close(einsum("...,...", a, v), a * v));
  CHECK(close(einsum("...i,...i->i", slice(a, 1, 0, 1), a), sum(slice(a, 1, 0, 1) * a, {0, 1})));
  CHECK(close(einsum("bij,bkj->ik", slice(a, 0, 0, 1), a), sum(matmul(slice(a, 0, 0, 1), transpose(a)), {0})));
  CHECK(close(einsum("i,i->i", slice(v, 0, 0, 1), v), v[0] * v));
  CHECK(close(einsum("i,i", v, slice(v, 0, 0, 1)), sum(v) * v[0]));
  CHECK(close(einsum("ij,jk->ik", zeros({2, 0}), zeros({0, 3})), zeros({2, 3})));
  CHECK(einsum("ij,jk->ik", zeros({0, 2}), zeros({2, 3})).shape() == Shape{0, 3});
  CHECK(einsum("ii", zeros({0, 0})).item() == 0);
  CHECK(einsum("i,i", zeros({1}), zeros({0})).item() == 0);
  CHECK(std::isnan(einsum("i,i", tensor({2}, {0, INFINITY}), zeros({2})).item()));
}

TEST_CASE("The gradients of einsum equal those of matmul and of the trace") {
  Random random(12);
  const Tensor a = variable(uniform({2, 3, 4}, random)), b = variable(uniform({2, 4, 5}, random));
  const Tensor dy = uniform({2, 3, 5}, random);
  const Recording recording;
  const Gradients g = backward(einsum("bij,bjk->bik", a, b), dy), expected = backward(matmul(a, b), dy);
  CHECK(distance(g[a], expected[a]) < 1e-14);
  CHECK(distance(g[b], expected[b]) < 1e-14);
  const Tensor m = variable(uniform({3, 3}, random));
  CHECK(backward(einsum("ii", m))[m].to_vector() == std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1});
}

TEST_CASE("An einsum formula that does not fit throws an Error that names the misfit") {
  const Tensor x = zeros({2, 3});
  check_messages(
      {{"einsum: 'ij,jk': axis 'j' is 3 in (2, 3) and 2 in (2, 3)", [&] { einsum("ij,jk", x, x); }},
       {"einsum: 'ijk->i': 'ijk' does not name the axes of shape (2, 3)", [&] { einsum("ijk->i", x); }},
       {"einsum: '...ij->i': '...ij' does not name the axes of shape (3)", [] { einsum("...ij->i", zeros({3})); }},
       {"einsum: 'ij->k': no operand has an axis 'k'", [&] { einsum("ij->k", x); }},
       {"einsum: 'ij->ii': the result names 'i' twice", [&] { einsum("ij->ii", x); }},
       {"einsum: 'i?->i': '?' is not a letter", [&] { einsum("i?->i", x); }},
       {"einsum: 'ii': axes 'i' of shape (2, 3) differ", [&] { einsum("ii", x); }},
       {"einsum: 'i[->i': '[' is not a letter", [&] { einsum("i[->i", x); }},
       {"einsum: 'ij,jk': it has 2 operands, but 1 tensor was given", [&] { einsum("ij,jk", x); }},
       {"einsum: 'ij': it has 1 operand, but 2 tensors were given", [&] { einsum("ij", x, x); }},
       {"einsum: a matrix of 0 x 4294967296 with strides 4294967296 and 1 is more than BLAS can count", [] {
          einsum("ij,jk->ik", zeros({0, std::int64_t{1} << 32}), zeros({std::int64_t{1} << 32, 0}));
        }}});
}
