#include "autograd/cpu/widen.h"
#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/autocast.h>
#include <heed/autograd/format.h>
#include <heed/autograd/machine.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>

#include <bit>
#include <cmath>
#include <memory>
#include <string>

using namespace heed;

namespace {

Tensor drawn(const Shape& shape, const char* name) {
  Random random = Random(3).stream(name);
  return random_normal(shape, random);
}

// Rounds to bfloat16 or float16.
Tensor halves(const Tensor& x, DType dtype) {
  Tensor result(x.shape(), dtype);
  const float* from = x.data<float>();
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    if (dtype == DType::bfloat16) {
      result.mutable_data<BFloat16>()[i] = {to_bf16(from[i])};
    } else {
      result.mutable_data<Float16>()[i] = {to_f16(from[i])};
    }
  }
  return result;
}

// A tensor of random blocks with scales between -2 and 2.
Tensor blocks(const Shape& shape, DType dtype) {
  const cpu::BlockLayout layout = cpu::block_layout(dtype);
  const auto bytes = std::make_shared<std::string>();
  Random random = Random(3).stream(to_string(dtype));
  for (std::int64_t i = 0; i < shape.numel() / layout.numbers * layout.bytes; ++i) {
    *bytes += static_cast<char>(random.below(256));
  }
  for (std::size_t at = 0; at < bytes->size(); at += static_cast<std::size_t>(layout.bytes)) {
    for (const std::int64_t factor : {layout.scale, layout.minimum}) {
      if (factor >= 0) (*bytes)[at + static_cast<std::size_t>(factor) + 1] &= '\xbf';  // its upper byte
    }
  }
  return Tensor(shape, dtype, bytes->data(), bytes);
}

constexpr DType half_types[] = {DType::bfloat16, DType::float16};
constexpr DType block_types[] = {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0, DType::iq4_nl,
                                 DType::q2_k, DType::q3_k, DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_xs};

// Checks that f computes the same bits with W as with the same numbers in float32.
template <class Function>
void check_same_bits_of(const Tensor& W, const Function& f) {
  const int before = threads();
  set_threads(1);
  const std::vector<double> expected = f(W.to(DType::float32)).to_vector();
  for (const int count : {1, 3}) {
    set_threads(count);
    const Tensor y = f(W);
    CAPTURE(to_string(W.dtype()), to_string(W.shape()), count);
    CHECK(y.dtype() == DType::float32);
    CHECK((y.to_vector() == expected));  // in parentheses: printing all numbers would take minutes
  }
  set_threads(before);
}

template <class Function>
void check_same_bits(const Shape& shape, const Function& f) {
  for (const DType dtype : half_types) check_same_bits_of(halves(drawn(shape, "W"), dtype), f);
}

template <class S>
void check_widening(bool (*is_number)(float)) {
  std::vector<S> all(65536 + 5);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<std::uint16_t>(i);
  std::vector<float> widened(all.size());
  cpu::widen(all.data(), widened.data(), std::ssize(all));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const float expected = all[i];
    if (std::bit_cast<std::uint32_t>(widened[i]) == std::bit_cast<std::uint32_t>(expected)) continue;
    CAPTURE(i);
    CHECK_FALSE((is_number(expected) || is_number(widened[i])));
  }
}

}  // namespace

TEST_CASE("widen() converts vectors of 16-bit numbers exactly like single numbers") {
  const auto is_number = [](float x) { return !std::isnan(x); };
  check_widening<BFloat16>(is_number);
  check_widening<Float16>(is_number);
}

TEST_CASE("Products with 16-bit weights are bit-identical to those with float32 weights") {
  struct Size {
    std::int64_t m, k, n;
  };
  // One row in both orders, few columns, odd sizes, long sums in parts, tiles, and sizes that OpenBLAS multiplies.
  for (const Size& size :
       {Size{1, 64, 33}, Size{1, 577, 1531}, Size{1, 2048, 257}, Size{1, 3, 5}, Size{5, 33, 70}, Size{3, 64, 2},
        Size{4, 90, 1}, Size{1, 700, 1}, Size{40, 1100, 24}, Size{300, 130, 611}, Size{1030, 515, 1040}}) {
    const std::int64_t m = size.m, k = size.k, n = size.n;
    const Tensor x = drawn({m, k}, "x"), bias = drawn({n}, "bias");
    check_same_bits({k, n}, [&](const Tensor& W) { return linear(x, W, bias); });
    check_same_bits({n, k}, [&](const Tensor& W) { return linear(x, transpose(W), bias); });
    check_same_bits({n, k}, [&](const Tensor& W) { return matmul(x, transpose(W)); });
    check_same_bits({k, 3 * n}, [&](const Tensor& W) { return linear(x, slice(W, 1, n, 2 * n), {}); });
    check_same_bits({2 * k, n}, [&](const Tensor& W) { return matmul(x, slice(W, 0, k, 2 * k)); });
  }
  const Tensor stack = drawn({2, 3, 4, 8}, "stack");
  check_same_bits({8, 5}, [&](const Tensor& W) { return matmul(stack, W); });
  check_same_bits({3, 8, 5}, [&](const Tensor& W) { return matmul(stack, W); });
  check_same_bits({2, 1, 5, 8}, [&](const Tensor& W) { return matmul(stack, transpose(W)); });
  const Tensor none = zeros({2, 0});
  CHECK(matmul(none, Tensor({0, 3}, DType::bfloat16)).to_vector() == std::vector<double>(6, 0.0));
}

TEST_CASE("Autocast to int8 rounds what blocks are multiplied by, and nothing else") {
  const Tensor W = blocks({48, 256}, DType::q4_k), x = drawn({5, 256}, "x"), bias = drawn({48}, "bias");
  const Tensor exact = linear(x, transpose(W), bias), by_rows = matmul(drawn({5, 48}, "x"), W);
  const Tensor narrow = transpose(blocks({8, 256}, DType::q4_k)), exact_narrow = matmul(x, narrow);
  const Autocast autocast(Precision::int8);
  const Tensor y = linear(x, transpose(W), bias);
  CHECK(Autocast::precision() == Precision::int8);
  const auto difference = [](const Tensor& a, const Tensor& b) { return norm(a - b).item() / norm(b).item(); };
  CHECK(difference(y, exact) > 1e-4);
  CHECK(difference(y, exact) < 1e-2);
  CHECK(difference(matmul(drawn({5, 48}, "x"), W), by_rows) == 0);  // blocks along the columns of y
  CHECK(difference(matmul(x, narrow), exact_narrow) == 0);          // fewer columns than it reads
  CHECK(difference(linear(x, transpose(W.to(DType::float32)), bias), exact) < 1e-6);
  const Tensor one = linear(slice(x, 0, 3, 4), transpose(W), bias);
  CHECK(one.to_vector() == slice(y, 0, 3, 4).to_vector());  // a row does not depend on the others
  const int before = threads();
  for (const int count : {1, 3}) {
    set_threads(count);
    CHECK((linear(x, transpose(W), bias).to_vector() == y.to_vector()));
  }
  set_threads(before);
  const Tensor strided = transpose(drawn({256, 5}, "x"));
  CHECK((matmul(strided, transpose(W)).to_vector() == matmul(contiguous(strided), transpose(W)).to_vector()));
}

TEST_CASE("Products with block-quantised weights are bit-identical to those with float32 weights") {
  struct Size {
    std::int64_t m, k, n;
  };
  for (const DType dtype : block_types) {
    // W (n, k) of rows in blocks, as a matrix (k, n) and as one (n, k); parts of blocks; more than one matrix
    for (const auto& [m, k, n] : {Size{1, 256, 33}, Size{1, 2048, 257}, Size{1, 768, 1}, Size{5, 256, 70},
                                  Size{4, 256, 1}, Size{40, 1280, 24}, Size{300, 256, 611}}) {
      const Tensor W = blocks({n, k}, dtype), x = drawn({m, k}, "x"), bias = drawn({n}, "bias"), y = drawn({m, n}, "y");
      check_same_bits_of(W, [&](const Tensor& w) { return linear(x, transpose(w), bias); });
      check_same_bits_of(W, [&](const Tensor& w) { return matmul(y, w); });
      check_same_bits_of(W,
                         [&](const Tensor& w) { return matmul(slice(x, 1, 5, 200), slice(transpose(w), 0, 5, 200)); });
      check_same_bits_of(W, [&](const Tensor& w) { return matmul(y, slice(w, 1, 33, 250)); });
    }
    const Tensor stack = drawn({2, 3, 4, 5}, "stack");
    check_same_bits_of(blocks({3, 5, 256}, dtype), [&](const Tensor& w) { return matmul(stack, w); });
  }
}

TEST_CASE("float64 products with narrower weights are bit-identical to those with float64 weights") {
  std::vector<Tensor> weights{drawn({70, 256}, "W")};
  for (const DType dtype : half_types) weights.push_back(halves(drawn({70, 256}, "W"), dtype));
  for (const DType dtype : block_types) weights.push_back(blocks({70, 256}, dtype));
  for (const Tensor& W : weights) {
    CAPTURE(to_string(W.dtype()));
    for (const std::int64_t m : {1, 5, 300}) {
      const Tensor x = drawn({m, 256}, "x").to(DType::float64), y = drawn({m, 70}, "y").to(DType::float64);
      const auto products = [&](const Tensor& w) {
        return concat(
            {linear(x, transpose(w), {}), matmul(y, w), matmul(slice(x, 1, 3, 45), transpose(slice(w, 1, 3, 45)))}, 1);
      };
      const Tensor found = products(W);
      CHECK(found.dtype() == DType::float64);
      CHECK((found.to_vector() == products(W.to(DType::float64)).to_vector()));
    }
  }
}

TEST_CASE("Every view of a block-quantised tensor has the values of its float32 conversion") {
  for (const DType dtype : block_types) {
    CAPTURE(to_string(dtype));
    const Tensor W = blocks({3, 512}, dtype), wide = W.to(DType::float32);
    CHECK(W.bytes() == 1536 / cpu::block_layout(dtype).numbers * cpu::block_layout(dtype).bytes);
    CHECK(max(abs(wide)).item() > 0.5);
    const auto check_view = [&](const auto& view) {
      const Tensor of_blocks = view(W);
      CHECK((of_blocks.to_vector() == view(wide).to_vector()));
      CHECK((of_blocks.clone().dtype() == DType::float32 && of_blocks.clone().is_contiguous()));
    };
    check_view([](const Tensor& x) { return x; });
    check_view([](const Tensor& x) { return transpose(x); });
    check_view([](const Tensor& x) { return slice(slice(x, 1, 3, 301), 0, 1, 3); });
    check_view([](const Tensor& x) { return x.view({3, 10}, {512, -1}, 50); });
    check_view([](const Tensor& x) { return reshape(slice(x, 1, 1, 3), {6}); });
    check_view([](const Tensor& x) { return reshape(x, {6, 256}); });
    check_view([](const Tensor& x) { return broadcast_to(slice(x, 1, 7, 8), {3, 4}); });
    check_view([](const Tensor& x) { return slice(x, 0, 1, 1); });
    CHECK(W.at({2, 300}) == wide.at({2, 300}));
    CHECK(slice(slice(W, 0, 1, 2), 1, 9, 10).item() == wide.at({1, 9}));
    CHECK((W.to(DType::float64).to_vector() == wide.to_vector()));
    CHECK(to_string(slice(W, 1, 0, 2)) == to_string(slice(wide, 1, 0, 2)) + " " + to_string(dtype));
    Tensor copy = zeros({3, 512}, DType::float64);
    copy.copy_from(W);
    CHECK((copy.to_vector() == wide.to_vector()));
    const Ids ids({2, 2}, {0, 2, 2, 1});
    check_same_bits_of(W, [&](const Tensor& table) { return embedding(table, ids); });
    check_same_bits_of(W, [&](const Tensor& table) { return embedding(transpose(table), ids); });
  }
}

TEST_CASE("is_finite checks the scales and minima of block-quantised tensors") {
  for (const DType dtype : block_types) {
    CAPTURE(to_string(dtype));
    CHECK(is_finite(blocks({2, 256}, dtype)));
    CHECK(is_finite(transpose(blocks({2, 256}, dtype))));
    const cpu::BlockLayout layout = cpu::block_layout(dtype);
    for (const std::int64_t factor : {layout.scale, layout.minimum}) {
      if (factor < 0) continue;
      const Tensor W = blocks({2, 256}, dtype);
      const std::int64_t last = W.bytes() - layout.bytes + factor + 1;
      const_cast<unsigned char*>(cpu::blocks_of(W).bytes)[last] = 0x7c;
      CHECK_FALSE(is_finite(W));
      CHECK_FALSE(is_finite(transpose(W)));
    }
  }
}

TEST_CASE("An embedding with 16-bit weights is bit-identical to one with float32 weights") {
  const Ids ids({2, 3}, {0, 6, 2, 2, 5, 1});
  check_same_bits({7, 9}, [&](const Tensor& table) { return embedding(table, ids); });
  check_same_bits({9, 7}, [&](const Tensor& table) { return embedding(transpose(table), ids); });
}

TEST_CASE("Views, copies and elements of 16-bit tensors keep their values") {
  const Tensor W = halves(tensor({2, 3}, {1, -2.5, 3, 0.125, -7, 65504}), DType::float16);
  CHECK(W.to_vector() == std::vector<double>{1, -2.5, 3, 0.125, -7, 65504});
  CHECK(W.at({1, 2}) == 65504);
  CHECK(transpose(W).clone().to_vector() == std::vector<double>{1, 0.125, -2.5, -7, 3, 65504});
  CHECK((transpose(W).clone().dtype() == DType::float16 && to_string(W.dtype()) == std::string("float16")));
  CHECK(reshape(slice(W, 1, 1, 3), {4}).to(DType::float64).to_vector() == std::vector<double>{-2.5, 3, -7, 65504});
  CHECK(is_finite(W));
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    CHECK(is_finite(halves(tensor({1}, {3e4}), dtype)));
    CHECK_FALSE(is_finite(halves(tensor({2}, {1, INFINITY}), dtype)));
    CHECK_FALSE(is_finite(halves(tensor({2}, {NAN, 1}), dtype)));
  }
}

TEST_CASE("16-bit tensors print like float32 tensors, followed by their dtype") {
  const Tensor values = tensor({2, 3}, {1, -2.5, 3, 0.125, -7, 65536});
  const Tensor W = halves(tensor({2}, {0.1, 2}), DType::float16);
  CHECK(to_string(W) == "[0.09997559 2.        ] float16");
  CHECK(to_string(halves(tensor({}, {0.5}), DType::bfloat16)) == "0.5 bfloat16");
  CHECK(to_string(halves(zeros({0, 2}), DType::bfloat16)) == "[] bfloat16 (0, 2)");
  CHECK(to_string(transpose(halves(values, DType::bfloat16))) == to_string(transpose(values)) + " bfloat16");
}

TEST_CASE("Operations other than products and embedding refuse 16-bit tensors") {
  const Tensor W = halves(drawn({3, 3}, "W"), DType::bfloat16), x = drawn({3, 3}, "x");
  const std::string told =
      "tensor: bfloat16 weights serve linear(), matmul() and embedding() only; convert them with to(DType::float32)";
  CHECK(message([&] { softmax(W); }) == told);
  CHECK(message([&] { sum(W); }) == told);
  CHECK(message([&] { W + W; }) == told);
  CHECK(message([&] { matmul(W, x); }) ==
        "matmul: both tensors must have one dtype, got bfloat16 (3, 3) x float32 (3, 3); convert one with "
        "to(DType::float32)");
  CHECK(message([&] { matmul(W, W); }) == told);
  CHECK(message([&] { matmul(W, x.to(DType::float64)); }) ==
        "matmul: both tensors must have one dtype, got bfloat16 (3, 3) x float64 (3, 3); convert one with "
        "to(DType::float64)");
}

TEST_CASE("Incomplete blocks, and unsupported operations on block-quantised tensors, are refused") {
  CHECK(message([] {
          Tensor({4, 33}, DType::q8_0);
        }) == "tensor: rows of Q8_0 must fill whole blocks of 32 numbers, got shape (4, 33)");
  CHECK(message([] {
          Tensor({256, 128}, DType::q4_k);
        }) == "tensor: rows of Q4_K must fill whole blocks of 256 numbers, got shape (256, 128)");
  CHECK(message([] { Tensor({}, DType::q4_0); }) ==
        "tensor: rows of Q4_0 must fill whole blocks of 32 numbers, got shape ()");
  const std::string told =
      "tensor: Q5_1 weights serve linear(), matmul() and embedding() only; convert them with to(DType::float32)";
  Tensor W = blocks({2, 32}, DType::q5_1);
  CHECK(message([&] { softmax(W); }) == told);
  CHECK(message([&] { concat({W, W}, 0); }) == told);
  CHECK(message([&] { W.to(DType::float32).to(DType::q5_1); }) ==
        "to: Q5_1 is only read from files; expected float32, float64, bfloat16 or float16");
  CHECK(message([&] { W.copy_from(zeros({2, 32})); }) == told);
  CHECK(message([&] { W.data<float>(); }) == "tensor: expected float32, got Q5_1");
  CHECK(message([&] { W.view({65}, {1}); }) ==
        "view: shape (65) with strides (1) and offset 0 reaches outside the storage of 48 bytes");
}

TEST_CASE("Gradients pass through frozen 16-bit and block-quantised weights; trainable ones throw") {
  Tensor of_blocks = variable(blocks({4, 32}, DType::q4_1));
  {
    const Recording recording;
    const std::string begin = "record: a variable is Q4_1, which cannot have gradients";
    CHECK(message([&] { matmul(zeros({2, 4}), of_blocks); }).starts_with(begin));
    CHECK(message([&] { reshape(transpose(of_blocks), {128}); }).starts_with(begin));
  }
  Tensor W = variable(halves(drawn({4, 3}, "W"), DType::bfloat16));
  W.set_name("encoder.W");
  const Tensor x = variable(drawn({2, 4}, "x")), wide = W.to(DType::float32);
  const std::string told =
      "record: 'encoder.W' is bfloat16, which cannot have gradients; load the model with float32 weights, or freeze "
      "this parameter";
  {
    const Recording recording;
    CHECK(message([&] { linear(x, W, {}); }) == told);
    CHECK(message([&] { transpose(W); }) == told);
    CHECK(message([&] { embedding(W, Ids({1}, {0})); }) == told);
  }
  const auto dx = [&](const Tensor& weight) {
    const Recording recording;
    return backward(sum(square(linear(x, weight, {}))))[x].to_vector();
  };
  W.set_frozen(true);
  CHECK(dx(W) == dx(wide));
  of_blocks.set_frozen(true);
  CHECK(dx(of_blocks) == dx(of_blocks.to(DType::float32)));
}

TEST_CASE("The gradient of float32 weights in a float64 product is that of float64 weights, rounded") {
  const Tensor x = variable(drawn({5, 4}, "x").to(DType::float64)), W = variable(drawn({4, 3}, "W"));
  const Tensor wide = variable(W.to(DType::float64));
  for (const auto& product : {+[](const Tensor&a, const Tensor&b) { return matmul(a, b); },
                              +[](const Tensor&a, const Tensor&b) { return linear(a, b, {}); }}) {
    const Recording recording;
    const Gradients found = backward(sum(square(product(x, W)))), expected = backward(sum(square(product(x, wide))));
    CHECK((found[x].to_vector() == expected[x].to_vector()));
    CHECK(found[W].dtype() == DType::float32);
    CHECK((found[W].to_vector() == expected[wide].to(DType::float32).to_vector()));
  }
}

TEST_CASE("A tensor over borrowed memory keeps the owner alive, and an alias has its own name") {
  auto numbers = std::make_shared<std::vector<float>>(6, 2.0F);
  const std::weak_ptr<const void> owner = numbers;
  Tensor borrowed({2, 3}, DType::float32, numbers->data(), numbers);
  numbers.reset();
  Tensor half = slice(borrowed, 0, 1, 2).alias();
  half.set_name("half");
  half.set_frozen(true);
  CHECK((borrowed.name().empty() && !borrowed.is_frozen()));
  half.copy_from(tensor({1, 3}, {7, 8, 9}));
  CHECK(borrowed.to_vector() == std::vector<double>{2, 2, 2, 7, 8, 9});
  borrowed = {};
  CHECK(half.to_vector() == std::vector<double>{7, 8, 9});
  CHECK_FALSE(owner.expired());
  half = {};
  CHECK(owner.expired());
}
