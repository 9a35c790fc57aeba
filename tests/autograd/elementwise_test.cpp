#include "tests/autograd/helpers.h"

using namespace heed;

TEST_CASE("Elementwise operations broadcast like NumPy for any layout") {
  Random random(5);
  for_each_broadcast([&](const Shape& shape_a, const Shape& shape_b, DType dtype) {
    const Tensor a = scattered(uniform(shape_a, random, dtype), random);
    const Tensor b = scattered(uniform(shape_b, random, dtype, 0.5, 2), random);
    Naive x(a), y(b);
    const auto same = [&](const Tensor& result, auto f) {
      Naive expected(broadcast_shapes("test", shape_a, shape_b));
      for_each_index(expected.shape, [&](const Shape& index) { expected[index] = f(x[index], y[index]); });
      return distance(result, expected) <= (dtype == DType::float32 ? 3e-7 : 1e-15);
    };
    CHECK(same(a + b, [](double u, double v) { return u + v; }));
    CHECK(same(a - b, [](double u, double v) { return u - v; }));
    CHECK(same(a * b, [](double u, double v) { return u * v; }));
    CHECK(same(a / b, [](double u, double v) { return u / v; }));
  });
}

TEST_CASE("Elementwise operations take transposed tensors") {
  Random random(6);
  const auto same = [&](const Tensor& transposed) {
    const Tensor rows = transposed.clone(), other = uniform(transposed.shape(), random);
    return distance(exp(transposed), exp(rows)) == 0 && distance(transposed * other, rows * other) == 0 &&
           distance(other - transposed, other - rows) == 0 && distance(transposed + rows[0], rows + rows[0]) == 0;
  };
  CHECK(same(transpose(uniform({9, 33}, random))));
  CHECK(same(transpose(uniform({2, 5, 20, 70}, random), 1, 3)));
  CHECK(same(permute(uniform({8, 3, 8}, random), {2, 0, 1})));
  CHECK(same(transpose(slice(uniform({3, 40, 50}, random), 2, 1, 49))));
  const Tensor x = variable(uniform({12, 20}, random)), y = uniform({20, 12}, random);
  const Recording recording;
  CHECK(distance(backward(sum(square(transpose(x)) * y))[x], 2 * x.detach() * transpose(y)) < 1e-6);
}

TEST_CASE("Transposed operands give the bits of contiguous ones") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  Random random(7);
  const auto same = [](const Tensor& y, const Tensor& expected) {
    return y.is_contiguous() && distance(y, expected) == 0;
  };
  const auto check = [&](const Tensor& a, const Tensor& b) {  // views of one shape, and contiguous copies
    const Tensor c = a.clone(), d = b.clone();
    const Booleans mask = d > 0.3;
    CAPTURE(to_string(a.shape()), to_string(a.strides()), to_string(b.strides()));
    CHECK(same(relu(a), relu(c)));
    CHECK(same(silu(a + b), silu(c + d)));
    CHECK(same(a * b, c * d));
    CHECK(same(b - c, d - c));
    CHECK(all((a > 0) == (c > 0)));
    CHECK(all((a > b) == (c > d)));
    CHECK(all((b > c) == (d > c)));
    CHECK(all(equal(a, a)));
    CHECK(same(where(mask, a, b), where(mask, c, d)));
    CHECK(same(where(mask, d, a), where(mask, d, c)));
    CHECK(same(masked_fill(a, mask, 2), masked_fill(c, mask, 2)));
    const Tensor row = c[0], column = slice(d, -1, 0, 1);
    CHECK(same(a + row, c + row));
    CHECK(same(a * column, c * column));
    CHECK(all((row > a) == (row > c)));
  };
  const auto values = [&](const Shape& shape) { return uniform(shape, random, dtype); };
  // one block of 64 columns and several, with and without a rest
  for (const Shape& shape : {Shape{8, 8}, Shape{16, 33}, Shape{70, 300}, Shape{128, 256}, Shape{129, 515}}) {
    check(transpose(values(shape)), transpose(values(shape)));
  }
  const auto permuted = [&](const Shape& shape, const std::vector<int>& axes) { return permute(values(shape), axes); };
  check(permuted({2, 9, 10, 70}, {0, 3, 1, 2}), permuted({2, 9, 10, 70}, {0, 3, 1, 2}));
  check(permuted({12, 20, 9}, {2, 1, 0}), permuted({20, 12, 9}, {2, 0, 1}));
  check(permuted({2, 12, 3, 9}, {3, 2, 0, 1}), permuted({12, 9, 2, 3}, {1, 3, 2, 0}));
  check(transpose(slice(values({40, 50}), 1, 1, 50, 2)), transpose(slice(values({40, 30}), 1, 2, 27)));
}

TEST_CASE("Operations on transposed tensors allocate no memory but their result") {
  const Tensor x = transpose(ones({512, 256})), y = transpose(ones({512, 256}));
  const Booleans mask = x > 0;
  const auto peak = [](auto f) {
    reset_peak_memory();
    const std::int64_t before = memory_use().bytes_in_use;
    const Tensor result = f();
    return memory_use().peak_bytes - before;
  };
  CHECK(peak([&] { return relu(x); }) == x.bytes());
  CHECK(peak([&] { return x * y; }) == x.bytes());
  CHECK(peak([&] { return where(mask, x, y); }) == x.bytes());
}

TEST_CASE("backward allocates no memory for gradients of constants") {
  constexpr std::int64_t n = 1 << 18, bytes = 4 * n;
  const Tensor x = variable(full({n}, 6)), two = full({n}, 2), dy = ones({n});
  const auto gradient = [&](auto f, std::int64_t max_bytes) {
    const Recording recording;
    const Tensor y = f(x, two);
    reset_peak_memory();
    const std::int64_t before = memory_use().bytes_in_use;
    const Gradients gradients = backward(y, dy);
    CHECK(memory_use().peak_bytes - before <= max_bytes);
    CHECK(gradients.size() == 1);
    return gradients[x].at({n - 1});
  };
  CHECK(gradient([](auto& a, auto& b) { return a - b; }, bytes) == 1);
  CHECK(gradient([](auto& a, auto& b) { return a * b; }, bytes) == 2);
  CHECK(gradient([](auto& a, auto& b) { return a / b; }, bytes) == 0.5);
}

TEST_CASE("Gradients of quotients are right at both ends of the range of a float") {
  struct Quotient {
    double dy, a, b, db;
  };
  for (const auto& [dy, a, b, db] : {Quotient{1e-30, 1e-30, 1e-20, -1e-20},
                                     {1e-38, 1e30, 1e-10, -1e12},
                                     {1e30, 1e30, 1e30, -1},
                                     {1e-30, 1e38, 1e20, -1e-32},
                                     {1e30, 1e20, 1e25, -1},
                                     {1e-30, 1, 1e-20, -1e10},
                                     {1e38, 1, 1e30, -1e-22}}) {
    INFO(dy << " " << a << " " << b);
    const Tensor x = variable(full({1}, a)), y = variable(full({1}, b));
    const Recording recording;
    const Tensor cotangent = full({1}, dy);
    const auto is_right = [&, expected = db](const Tensor& quotient) {
      return std::abs(backward(quotient, cotangent)[y].item() / expected - 1) < 1e-6;
    };
    CHECK(is_right(x / y));
    CHECK(is_right(a / y));
    if (a == 1) CHECK(is_right(pow(y, -1)));
  }
}

TEST_CASE("Wrong use of elementwise operations throws an Error that states what was expected") {
  const Tensor x = zeros({2, 3}), wide = x.to(DType::float64);
  check_messages(
      {{"add: shapes (2, 3) and (2) do not broadcast: 3 != 2 at axis -1. Sizes must be equal, or one of them 1",
        [&] { x + ones({2}); }},
       {"multiply: both tensors must have one dtype, got float32 (2, 3) and float64 (2, 3); convert one with "
        "to(DType::float64)",
        [&] { x* wide; }}});
}

TEST_CASE("An assignment operator refuses a variable, which would keep its values") {
  Tensor w = variable(ones({2}));
  w.set_name("head.weight");
  CHECK(message([&] { w -= 0.1 * ones({2}); }) ==
        "operator-=: parameter 'head.weight' of shape (2) would keep its values, since the result is a new tensor; "
        "write x = x - y for a new tensor, or x.copy_from(x - y) for new values");
  CHECK(message([&] { w *= 2; }).starts_with("operator*=: "));
  CHECK(w.is_variable());
  Tensor sum = w + 0;
  sum += w;
  CHECK(sum.to_vector() == std::vector<double>{2, 2});
}
