#include "tests/autograd/helpers.h"
#include "tests/message.h"

using namespace heed;

namespace {

using NumberList = std::vector<double>;

std::vector<int> numbers(const Ids& x) { return {x.begin(), x.end()}; }

Tensor example() { return tensor({3, 3}, {1.5, 0, -2, 0.5, 3, -1, 0, 2, 0}, DType::float64); }

// The gradient for dy from 1 to 2 in equal steps, and the gradient of the sum of its squares.
struct Slopes {
  Tensor first, second;
};
template <class F>
Slopes slopes(F f) {
  const Tensor x = variable(example());
  const Recording recording;
  const Tensor y = f(x);
  const double steps = static_cast<double>(std::max<std::int64_t>(1, y.numel() - 1));
  const Tensor dy = reshape(arange(0, static_cast<double>(y.numel()), 1, DType::float64) / steps + 1, y.shape());
  const Gradients first = backward(y, dy, {.record = true});
  return {first[x].detach(), backward(sum(square(first[x])))[x]};
}

}  // namespace

// The expected numbers are PyTorch 2.13's.
TEST_CASE("prod multiplies over axes, with exact derivatives beside zeros") {
  CHECK(prod(example(), {1}).to_vector() == NumberList{0, -1.5, 0});
  CHECK(prod(example(), 0).to_vector() == NumberList{0, 0, 0});
  CHECK(prod(example()).item() == 0);
  CHECK(prod(full({20}, 2)).item() == 1 << 20);
  CHECK(prod(example(), {0, 1}, true).shape() == Shape{1, 1});
  CHECK(prod(ones({2, 0}), 1).to_vector() == NumberList{1, 1});
  CHECK(prod(tensor({2}, {1e-30, 1e30})).item() == Approx(1));
  const Tensor wide = reshape(arange(1, 6 * 1030 + 1, 1, DType::float64), {3, 2, 1030});  // more columns than a tile
  for (const Tensor& x : {wide, flip(wide, 0), permute(wide, {0, 2, 1}), slice(wide, 2, 3, 40), slice(wide, 2, 3, 9),
                          broadcast_to(slice(wide, 0, 1, 2), {3, 2, 1030})}) {
    const Tensor expected = slice(x, 0, 0, 1) * slice(x, 0, 1, 2) * slice(x, 0, 2, 3);
    CHECK(distance(prod(x, 0, true), expected) < 1e-15);
  }
  const Slopes rows = slopes([](const Tensor& x) { return prod(x, 1); });
  CHECK(distance(rows.first.to_vector(), {0, -3, 0, -4.5, -0.75, 2.25, 0, 0, 0}) < 1e-12);
  CHECK(distance(rows.second.to_vector(), {12, 0, -9, 22.5, 16.875, -41.625, 0, 0, 0}) < 1e-12);
  const Slopes columns = slopes([](const Tensor& x) { return prod(x, 0); });
  CHECK(distance(columns.first.to_vector(), {0, 9, 0, 0, 0, 0, 0.75, 0, 4}) < 1e-12);
  CHECK(distance(columns.second.to_vector(), {0.75, 0, -16, 2.25, 54, -32, 0, 81, 0}) < 1e-12);
}

TEST_CASE("stddev is the root of the variance, and its gradient is 0 where it is 0") {
  CHECK(distance(stddev(example(), {1}, false, 1).to_vector(),
                 {1.7559422921421233, 2.0207259421636903, 1.1547005383792517}) < 1e-12);
  CHECK(distance(stddev(example(), {0}).to_vector(), {0.6236095644623235, 1.247219128924647, 0.816496580927726}) <
        1e-12);
  const Slopes rows = slopes([](const Tensor& x) { return stddev(x, {1}, false, 1); });
  CHECK(distance(rows.first.to_vector(), {0.47457899787624946, 0.04745789978762494, -0.5220368976638744,
                                          -0.12371791482634838, 0.8041664463712643, -0.680448531544916,
                                          -0.5773502691896256, 1.1547005383792515, -0.5773502691896256}) < 1e-12);
  const Tensor same = variable(full({4}, 3));
  const Recording recording;
  CHECK(backward(stddev(same))[same].to_vector() == NumberList{0, 0, 0, 0});
  CHECK(stddev(tensor({2}, {-3e30, 3e30})).item() == Approx(3e30));  // no square overflows
  CHECK(message([&] { stddev(same, {0}, false, -1); }) == "stddev: correction must be finite and at least 0, got -1");
}

TEST_CASE("round, floor, ceil and sign are PyTorch's, with gradient 0") {
  const Tensor x = tensor({9}, {-2.5, -1.5, -0.5, -0.2, 0, 0.5, 1.5, 2.5, 3.7});
  CHECK(round(x).to_vector() == NumberList{-2, -2, 0, 0, 0, 0, 2, 2, 4});
  CHECK(floor(x).to_vector() == NumberList{-3, -2, -1, -1, 0, 0, 1, 2, 3});
  CHECK(ceil(x).to_vector() == NumberList{-2, -1, 0, 0, 0, 1, 2, 3, 4});
  CHECK(sign(x).to_vector() == NumberList{-1, -1, -1, -1, 0, 1, 1, 1, 1});
  CHECK(sign(full({1}, std::nan(""))).item() == 0);
  const Tensor v = variable(x);
  const Recording recording;
  CHECK(backward(sum(round(v) + floor(v) + ceil(v) + sign(v)))[v].to_vector() == NumberList(9, 0.0));
  CHECK(backward(sum(v + (round(v) - v).detach()))[v].to_vector() == NumberList(9, 1.0));  // as the header says
}

TEST_CASE("flip and roll move elements along any axis") {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(flip(x, 0).to_vector() == NumberList{4, 5, 6, 1, 2, 3});
  CHECK(flip(x, -1).to_vector() == NumberList{3, 2, 1, 6, 5, 4});
  CHECK(flip(x, {1}).to_vector() == flip(x, 1).to_vector());
  CHECK(flip(x, {0, 1}).to_vector() == NumberList{6, 5, 4, 3, 2, 1});
  CHECK(flip(reshape(x, {1, 3, 2}), 1).to_vector() == NumberList{5, 6, 3, 4, 1, 2});
  CHECK(flip(transpose(x), 0).to_vector() == NumberList{3, 6, 2, 5, 1, 4});
  CHECK(flip(broadcast_to(ones({1}), {3, 2}), 0).to_vector() == NumberList(6, 1.0));
  CHECK(roll(x, 1, 1).to_vector() == NumberList{3, 1, 2, 6, 4, 5});
  CHECK(roll(x, -4, 1).to_vector() == NumberList{2, 3, 1, 5, 6, 4});
  CHECK(roll(x, 3, 0).to_vector() == NumberList{4, 5, 6, 1, 2, 3});
  CHECK(roll(x, 0, 0).to_vector() == x.to_vector());
  CHECK(roll(zeros({0, 2}), 5, 0).shape() == Shape{0, 2});
  CHECK(flip(zeros({2, 0}), 0).shape() == Shape{2, 0});
  CHECK(message([&] { flip(x, {0, -2}); }) == "flip: axis -2 of (2, 3) is given twice");
  CHECK_THROWS_AS(roll(x, 1, 2), Error);
}

TEST_CASE("index_add adds slices in order, and scatter keeps the last value of an element") {
  const Tensor x = example(), v = arange(1, 13, 1, DType::float64);
  const Ids columns({4}, {2, 0, 2, 1});
  CHECK(index_add(x, columns, reshape(v, {3, 4}), 1).to_vector() == NumberList{3.5, 4, 2, 6.5, 11, 11, 10, 14, 20});
  CHECK(x.to_vector() == example().to_vector());
  CHECK(message([&] {
          index_add(x, columns, zeros({3, 3}, DType::float64), 1);
        }) == "index_add: expected values float64 (3, 4), as index_select(x, indices, 1), got float64 (3, 3)");
  CHECK(message([&] {
          index_add(x, Ids({1}, {3}), zeros({1, 3}, DType::float64));
        }) == "index_add: index 3 at position 0 lies outside [0, 3)");

  const Ids rows({3, 1}, {2, 0, 1});
  CHECK(scatter(x, rows, tensor({3, 1}, {9, 8, 7}, DType::float64), 1).to_vector() ==
        NumberList{1.5, 0, 9, 8, 3, -1, 0, 7, 0});
  const double endless = INFINITY;
  CHECK(scatter(full({2}, endless), Ids({1}, {1}), ones({1}), 0).to_vector() == NumberList{endless, 1});
  CHECK(std::signbit(scatter(ones({1}), Ids({1}, {0}), -zeros({1}), 0).item()));
  const Tensor base = variable(ones({3})), values = variable(tensor({3}, {5, 6, 7}));
  const Recording recording;
  const Tensor y = scatter(base, Ids({3}, {1, 1, 0}), values, 0);
  CHECK(y.to_vector() == NumberList{7, 6, 1});
  const Gradients gradients = backward(y, tensor({3}, {1, 2, 3}));
  CHECK(gradients[base].to_vector() == NumberList{0, 0, 3});
  CHECK(gradients[values].to_vector() == NumberList{0, 2, 1});
  CHECK(message([&] { scatter(base, Ids({1}, {0}), ones({2}), 0); }) ==
        "scatter: expected values float32 (1), as x and the indices, got float32 (2)");
}

TEST_CASE("nonzero lists the positions of elements that are not 0") {
  const Ids found = nonzero(example());
  CHECK(found.shape() == Shape{6, 2});
  CHECK(numbers(found) == std::vector{0, 0, 0, 2, 1, 0, 1, 1, 1, 2, 2, 1});
  CHECK(numbers(nonzero(tensor({3}, {std::nan(""), 0, -0.0}))) == std::vector{0});
  CHECK(numbers(nonzero(Ids({4}, {0, 7, 0, -1}))) == std::vector{1, 3});
  const Tensor cube = reshape(tensor({12}, {0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1}), {2, 3, 2});
  CHECK(numbers(nonzero(cube)) == std::vector{0, 0, 1, 0, 2, 1, 1, 0, 0, 1, 2, 1});
  CHECK(nonzero(zeros({0, 3})).shape() == Shape{0, 2});
  CHECK(nonzero(zeros({2, 2})).shape() == Shape{0, 2});
  CHECK(nonzero(ones({})).shape() == Shape{1, 0});
  const Tensor x = tensor({4}, {1, -2, 3, -4});
  CHECK(index_select(x, reshape(nonzero(x < 0), {-1})).to_vector() == NumberList{-2, -4});
}
