// Calls that users of PyTorch and NumPy guess: most work, the others do not compile and name the call that does.
#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

using namespace heed;

TEST_CASE("Every reduction takes one axis, several, or all") {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  const auto check = [&](auto f) {
    CHECK(f(x, 1, false).to_vector() == f(x, {1}, false).to_vector());
    CHECK(f(x, -1, true).shape() == Shape{2, 1});
    CHECK(f(x, {0, 1}, false).item() == f(x, {}, false).item());
    CHECK(f(x, std::vector<int>{0}, false).shape() == Shape{3});
  };
  using Reduction = Tensor (*)(const Tensor&, const Axes&, bool);
  for (const Reduction f : {Reduction(sum), Reduction(mean), Reduction(max), Reduction(min), Reduction(prod),
                            Reduction(norm), Reduction(logsumexp)}) {
    check(f);
  }
  CHECK(var(x, 0).to_vector() == std::vector<double>{2.25, 2.25, 2.25});
  CHECK(stddev(x, 0).to_vector() == std::vector<double>{1.5, 1.5, 1.5});
  CHECK(norm(x, -1).at({0}) == Approx(std::sqrt(14.0)));
  CHECK(message([&] { var(x, 2); }) == "var: axis 2 is outside [-2, 2) for rank 2");
  static_assert(!std::convertible_to<bool, Axes> && std::convertible_to<int, Axes>);
}

TEST_CASE("tensor takes its shape from nested braces, vectors and single numbers") {
  const Tensor matrix = tensor({{1, 2}, {3, 4}, {5, 6}});
  CHECK(matrix.shape() == Shape{3, 2});
  CHECK(matrix.to_vector() == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(matrix.dtype() == DType::float32);
  CHECK(tensor({{1}, {2}}).shape() == Shape{2, 1});
  CHECK(tensor({{1, 2}}).shape() == Shape{1, 2});
  CHECK(tensor({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}).shape() == Shape{2, 2, 2});
  CHECK(tensor({1, 2, 3}, DType::float64).dtype() == DType::float64);
  CHECK(tensor({1}).shape() == Shape{1});
  CHECK(tensor({}).shape() == Shape{0});
  CHECK(tensor(2.5).item() == 2.5);
  CHECK(tensor(2).shape() == Shape{});
  const std::vector<float> values{1, 2.5F};
  CHECK(tensor(values).to_vector() == std::vector<double>{1, 2.5});
  CHECK(tensor({values, values}).shape() == Shape{2, 2});
  CHECK(tensor({2, 2}, {1, 2, 3, 4}).shape() == Shape{2, 2});  // a shape, and values
  CHECK(tensor({0}, {}).shape() == Shape{0});
  CHECK(message([] { tensor({{1, 2}, {3}}); }) == "tensor: expected elements of one shape, got (2) and (1)");
}

TEST_CASE("Ids and Booleans take elements or rows in braces") {
  CHECK(Ids({5, 1, 2}).shape() == Shape{3});
  CHECK(Ids({5})[0] == 5);
  CHECK(Ids{0, 1}.shape() == Shape{2});
  const Ids rows({{0, 1}, {2, 3}, {4, 5}});
  CHECK(rows.shape() == Shape{3, 2});
  CHECK(rows.at({1, 0}) == 2);
  CHECK(Ids({{7}, {8}}).shape() == Shape{2, 1});
  CHECK(Ids({2}, {7, 8}).shape() == Shape{2});  // a shape, and values
  CHECK(Ids().numel() == 0);
  CHECK(count(Booleans({true, false, true})) == 2);
  CHECK(index_select(tensor({{1, 2}, {3, 4}, {5, 6}}), {2, 0}).to_vector() == std::vector<double>{5, 6, 1, 2});
  CHECK(message([] { Ids({{1, 2}, {3}}); }) == "array: expected rows of one length, got 2 and 1");
  CHECK(message([] { Ids({1L, 5000000000L}); }) == "array: expected integers of 32 bits, got 5000000000");
  CHECK(Ids({-2147483648L})[0] == -2147483648L);
  CHECK(to_ids(tensor({{3, -2}, {0, 7}})).shape() == Shape{2, 2});
  CHECK(to_ids(tensor({3, -2}))[1] == -2);
  CHECK(to_ids(tensor({1, 2}) > 1)[1] == 1);
  CHECK(message([] { to_ids(tensor({1, 2.5})); }) == "to_ids: expected integers of 32 bits, got 2.5");
  CHECK(message([] { to_ids(tensor(2147483648.0)); }) == "to_ids: expected integers of 32 bits, got 2147483648");
  Random one(1), same(1);
  CHECK(random_normal({3}, one, DType::float64).to_vector() ==
        random_normal({3}, same, 0, 1, DType::float64).to_vector());
  CHECK(random_uniform({3}, one, DType::float64).to_vector() ==
        random_uniform({3}, same, 0, 1, DType::float64).to_vector());
  const Ids sevens = full_ids({2, 3}, 7);
  CHECK(sevens.shape() == Shape{2, 3});
  CHECK(all(sevens == 7));
  CHECK(message([] { full_ids({2, -1}, 0); }) == "full_ids: sizes must not be negative, got (2, -1)");
}

template <class I, class F>
concept takes_fractions = requires(I ids, F x) {
  ids* x;
}
|| requires(I ids, F x) { x* ids; }
|| requires(I ids, F x) { ids / x; }
|| requires(I ids, F x) { x - ids; }
|| requires(I ids, F x) { ids < x; }
|| requires(I ids, F x) { ids == x; }
|| requires(I ids, F x) { full_ids(ids.shape(), x); };

TEST_CASE("Integers with a fraction do not compile, since it would be cut off") {
  static_assert(takes_fractions<Ids, int> && !takes_fractions<Ids, double> && !takes_fractions<Ids, float>);
  CHECK((Ids({1, 3}) / 2)[1] == 1);
  const std::vector<std::int32_t> values{4, 5, 6};
  CHECK(Ids(values).shape() == Shape{3});
  CHECK(Ids(values)[2] == 6);
}

TEST_CASE("arange takes an end alone, concat joins along axis 0, and booleans mask") {
  CHECK(arange(3).to_vector() == std::vector<double>{0, 1, 2});
  CHECK(arange(2, DType::float64).dtype() == DType::float64);
  CHECK(arange_ids(3)[2] == 2);
  const Tensor x = variable(tensor({-1, 2, 3}));
  CHECK(concat({x, x}).shape() == Shape{6});
  CHECK(concat({Ids({1}), Ids({2, 3})})[2] == 3);
  const Recording recording;
  const Tensor y = x * (x > 0);
  CHECK(y.to_vector() == std::vector<double>{0, 2, 3});
  CHECK(backward(sum(y))[x].to_vector() == std::vector<double>{0, 1, 1});
  CHECK((Ids({1, 2, 3}) * x).to_vector() == std::vector<double>{-1, 4, 9});
}

TEST_CASE("A tensor and an array compute with the numbers of the array") {
  const Tensor x = variable(tensor({1, 2, 4}, DType::float64));
  const Ids ids({2, 2, 3});
  const Booleans mask({true, false, true});
  const auto values = [](const Tensor& t) { return t.to_vector(); };
  using List = std::vector<double>;
  CHECK((x + ids).dtype() == DType::float64);
  CHECK(values(x + ids) == List{3, 4, 7});
  CHECK(values(x - mask) == List{0, 2, 3});
  CHECK(values(x / ids) == List{0.5, 1, 4.0 / 3});
  CHECK(values(ids + x) == List{3, 4, 7});
  CHECK(values(mask - x) == List{0, -2, -3});
  CHECK(values(ids / x) == List{2, 1, 0.75});
  CHECK(values(x + unsqueeze(ids, 1)).size() == 9);
  CHECK(all((x < ids) == Booleans({true, false, false})));
  CHECK(all((x <= ids) == Booleans({true, true, false})));
  CHECK(all((x > ids) == Booleans({false, false, true})));
  CHECK(all((x >= ids) == Booleans({false, true, true})));
  CHECK(all((ids < x) == (x > ids)));
  CHECK(all((ids <= x) == (x >= ids)));
  CHECK(all((ids > x) == (x < ids)));
  CHECK(all((ids >= x) == (x <= ids)));
  CHECK(all((x == ids) == Booleans({false, true, false})));
  CHECK(all((ids != x) == !(ids == x)));
  CHECK(all((x != mask) == Booleans({false, true, true})));
  Tensor total = x.detach();
  total += ids;
  CHECK(values(total) == List{3, 4, 7});
  const Recording recording;
  CHECK(backward(sum(x * x / ids))[x].to_vector() == List{1, 2, 8.0 / 3});
}

template <class A, class B>
concept has_minus = requires(A a, B b) {
  a - b;
};

TEST_CASE("Booleans are compared, also with integers, and have no arithmetic") {
  const Booleans a({2}, {1, 0}), b({2}, {7, 7});  // what is not 0 is true
  CHECK(all((a == b) == Booleans({true, false})));
  CHECK(all((a != b) == Booleans({false, true})));
  CHECK(all((a == Ids({1, 1})) == Booleans({true, false})));
  CHECK(all((Ids({1, 1}) != a) == Booleans({false, true})));
  CHECK(all((b == Ids({1, 7})) == Booleans({true, false})));
  static_assert(!has_minus<int, Booleans> && !has_minus<Booleans, int> && !has_minus<Booleans, Booleans>);
  static_assert(has_minus<Tensor, Booleans> && has_minus<double, Tensor> && has_minus<int, Ids>);
}

TEST_CASE("Numbers stand beside tensors in maximum, minimum and pow") {
  const Tensor x = variable(tensor({-1, 0, 3}, DType::float64));
  const Recording recording;
  CHECK(maximum(x, 0).to_vector() == std::vector<double>{0, 0, 3});
  CHECK(minimum(x, 1.5).to_vector() == std::vector<double>{-1, 0, 1.5});
  CHECK(backward(sum(maximum(x, 0)))[x].to_vector() == std::vector<double>{0, 0.5, 1});
  CHECK(pow(2, x).to_vector() == std::vector<double>{0.5, 1, 8});
  CHECK(backward(sum(pow(2, x)))[x].at({2}) == Approx(8 * std::log(2.0)));
  CHECK(message([] { pow(2, Tensor()); }) == "pow: input 0 is an undefined tensor");
}

TEST_CASE("squeeze without an axis removes all of size 1, and passes the gradient") {
  const Tensor x = variable(tensor({{{1, 2}}}));
  CHECK(squeeze(x).shape() == Shape{2});
  CHECK(squeeze(zeros({1, 1})).shape() == Shape{});
  CHECK(squeeze(zeros({0, 1})).shape() == Shape{0});
  const Recording recording;
  CHECK(backward(sum(squeeze(x) * tensor({3, 4})))[x].to_vector() == std::vector<double>{3, 4});
}

TEST_CASE("copy_from writes through views with gaps") {
  const Tensor x = ones({4, 4});
  slice(x, 1, 1, 2).copy_from(zeros({4, 1}));
  CHECK(sum(x).item() == 12);
  CHECK(x.at({2, 1}) == 0);
  const Tensor y = arange(0, 6, 1, DType::float64);
  const Tensor columns = transpose(reshape(y, {2, 3}));
  columns.copy_from(reshape(arange(0, 6), {3, 2}));  // of another dtype
  CHECK(y.to_vector() == std::vector<double>{0, 2, 4, 1, 3, 5});
  const Tensor matrix = reshape(y, {2, 3});
  slice(matrix, 1, 0, 2).copy_from(slice(matrix, 1, 1, 3));  // overlapping
  CHECK(y.to_vector() == std::vector<double>{2, 4, 4, 3, 5, 5});
  y.view({3}, {-2}, 4).copy_from(tensor({7, 8, 9}));
  CHECK(y.to_vector() == std::vector<double>{9, 4, 8, 3, 7, 5});
  CHECK(message([] {
          broadcast_to(zeros({1, 3}), {2, 3}).copy_from(ones({2, 3}));
        }) == "copy_from: elements of the destination, of shape (2, 3) and strides (0, 1), share memory");
  CHECK(message([] { zeros({5}).view({3, 3}, {1, 1}).copy_from(ones({3, 3})); }).ends_with("share memory"));
}

TEST_CASE("A write through a view with gaps is a write to the tensor that backward needs") {
  const Tensor x = variable(ones({2, 3}));
  const Recording recording;
  const Tensor loss = sum(square(x));
  slice(x.detach(), 1, 0, 1).copy_from(zeros({2, 1}));
  CHECK(message([&] { static_cast<void>(backward(loss)); }).find("was written") != std::string::npos);
}

namespace {

template <class T>
concept HasMethods = requires(const T& x) {
  x.exp();
}
|| requires(const T& x) { x.T(); }
|| requires(const T& x) { x.sum(1); }
|| requires(const T& x) { x.view(-1, 4); }
|| requires(const T& x) { x.view(Shape{4}); }
|| requires(const T& x) { x.reshape({2, 2}); }
|| requires(T x) { x.zero_(); };
template <class T>
concept TakesSizesWithoutBraces = requires(T size) {
  zeros(size, size);
}
|| requires(T size) { ones(size); };
template <class T>
concept IsAssignedInPlace = requires(const T& x) {
  x[0] = x[1];
}
|| requires(const T& x) { x[0] = 1.0; };

template <class T>
concept HasMaximumOfTwo = requires(const T& x) {
  max(x, x);
};
template <class T>
concept IsSummed = requires(const T& x) {
  sum(x);
}
|| requires(const T& x) { mean(x, 0); };

template <class T>
concept TakesFlagAsAxis = requires(const T& x) {
  sort(x, true);
}
|| requires(const T& x) { topk(x, 2, false); }
|| requires(const T& x) { argmax(x, true); }
|| requires(const T& x) { argmin(x, true); }
|| requires(const T& x) { softmax(x, true); }
|| requires(const T& x) { log_softmax(x, true); }
|| requires(const T& x) { squeeze(x, true); }
|| requires(const T& x) { cumsum(x, true); };

static_assert(!TakesFlagAsAxis<Tensor>);
static_assert(!HasMaximumOfTwo<Tensor> && !IsSummed<Ids> && IsSummed<Tensor> &&
              !std::constructible_from<bool, Booleans>);
static_assert(!HasMethods<Tensor> && !TakesSizesWithoutBraces<int> && !IsAssignedInPlace<Tensor>);

}  // namespace
