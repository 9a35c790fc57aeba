#include "tests/autograd/helpers.h"
#include "tests/golden.h"

#include <heed/autograd/convolution.h>
#include <heed/autograd/derivatives.h>
#include <heed/autograd/format.h>
#include <heed/nn/convolution.h>
#include <heed/nn/hook.h>

#include <utility>

using namespace heed;

// The cases that make_convolution.py computes with PyTorch.
namespace {

using Inputs = std::vector<Tensor>;

void check(const std::string& name, const std::function<Tensor(const Inputs&)>& function,
           const std::vector<std::string>& keys = {"x", "W", "b"}) {
  const Golden golden("convolution");
  const auto value = [&](const std::string& key) { return golden(name + "." + key); };
  Inputs inputs;
  for (const std::string& key : keys) inputs.push_back(variable(value(key)));
  const Recording recording;
  const Tensor y = function(inputs);
  const std::vector<Tensor> first = grad(sum(y * sin(y)), inputs);
  Tensor squares = sum(square(first[0]));
  for (std::size_t i = 1; i < first.size(); ++i) squares += sum(square(first[i]));
  const std::vector<Tensor> second = grad(squares, inputs);
  INFO(name);
  CHECK(error(y, value("y")) < 1e-12);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    INFO(keys[i]);
    CHECK(error(first[i], value("first." + keys[i])) < 1e-11);
    CHECK(error(second[i], value("second." + keys[i])) < 1e-10);
  }
}

}  // namespace

TEST_CASE("Convolutions have PyTorch's values, gradients and second derivatives") {
  check("plain", [](auto& t) { return conv2d(t[0], t[1], t[2]); });
  check("strided", [](auto& t) {
    return conv2d(t[0], t[1], t[2], {.stride = {2, 3}, .padding = {1, 2}, .dilation = {2, 1}});
  });
  check("groups", [](auto& t) { return conv2d(t[0], t[1], t[2], {.stride = 2, .padding = 1, .groups = 2}); });
  check("depthwise", [](auto& t) { return conv2d(t[0], t[1], t[2], {.padding = 1, .groups = 4}); });
  check("conv1d",
        [](auto& t) { return conv1d(t[0], t[1], t[2], {.stride = 2, .padding = 3, .dilation = 2, .groups = 2}); });
}

TEST_CASE("A depthwise convolution equals one convolution for each channel") {
  Random random(6);
  const auto made = [&](const Shape& shape) { return variable(random_normal(shape, random, DType::float64)); };
  const Tensor W = made({3, 1, 3, 4}), b = made({3});
  for (const auto& [shape, options] : std::vector<std::pair<Shape, ConvOptions>>{
           {{2, 3, 9, 23}, {}},
           {{2, 3, 9, 23}, {.stride = 2, .padding = 1}},
           {{2, 3, 9, 23}, {.stride = {1, 3}, .padding = {1, 2}, .dilation = {2, 1}}},
           {{2, 3, 9, 23}, {.stride = 1000000, .padding = 1000000}},  // more than memory holds
           {{1, 3, 60, 70}, {.stride = 2, .padding = 1}},             // in blocks, which read some numbers of x twice
           {{1, 3, 9, 500}, {.stride = {1, 2}, .padding = 1, .dilation = {1, 3}}}}) {
    const Tensor x = made(shape);
    const Recording recording;
    ConvOptions of_groups = options;
    of_groups.groups = 3;
    const Tensor y = conv2d(x, W, b, of_groups);
    std::vector<Tensor> parts;
    for (std::int64_t c = 0; c < 3; ++c) {
      parts.push_back(conv2d(slice(x, 1, c, c + 1), slice(W, 0, c, c + 1), slice(b, 0, c, c + 1), options));
    }
    const Tensor expected = concat(parts, 1), dy = random_normal(y.shape(), random, DType::float64);
    CHECK(error(y, expected) < 1e-13);
    const std::vector<Tensor> found = grad(sum(y * dy), {x, W, b}), wanted = grad(sum(expected * dy), {x, W, b});
    for (std::size_t i = 0; i < 3; ++i) CHECK(error(found[i], wanted[i]) < 1e-12);
  }
}

TEST_CASE("A kernel that covers its image, and one of one element on small images, are products of matrices") {
  Random random(8);
  const auto made = [&](const Shape& shape) { return variable(random_normal(shape, random, DType::float64)); };
  const Tensor x = made({5, 3, 4, 2}), W = made({6, 3, 4, 2}), b = made({6}), z = made({5, 6, 1, 1}), d = made({3});
  const auto compare = [](const Tensor& got, const Tensor& expected, const std::vector<Tensor>& inputs) {
    CHECK(error(got, expected) < 1e-13);
    const std::vector<Tensor> gradients = grad(sum(sin(got)), inputs), others = grad(sum(sin(expected)), inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) CHECK(error(gradients[i], others[i]) < 1e-13);
  };
  const Recording recording;
  compare(conv2d(x, W, b, {.stride = 3}), reshape(einsum("bchw,fchw->bf", x, W) + b, {5, 6, 1, 1}), {x, W, b});
  compare(conv_transpose2d(z, W, d), einsum("bf,fchw->bchw", reshape(z, {5, 6}), W) + reshape(d, {3, 1, 1}), {z, W, d});
  const Tensor small = made({4, 128, 2, 3}), V = made({5, 128, 1, 1}), y = made({4, 5, 2, 3}), e = made({5}),
               g = made({128});
  const Tensor matrix = reshape(V, {5, 128});
  compare(conv2d(small, V, e), einsum("bchw,fc->bfhw", small, matrix) + reshape(e, {5, 1, 1}), {small, V, e});
  compare(conv_transpose2d(y, V, g), einsum("bfhw,fc->bchw", y, matrix) + reshape(g, {128, 1, 1}), {y, V, g});
}

TEST_CASE("Transposed convolutions have PyTorch's values, gradients and second derivatives") {
  check("transposed", [](auto& t) {
    return conv_transpose2d(t[0], t[1], t[2],
                            {.stride = {2, 3}, .padding = {1, 0}, .output_padding = {1, 2}, .dilation = {1, 2}});
  });
  check("transposed groups",
        [](auto& t) { return conv_transpose2d(t[0], t[1], t[2], {.stride = 2, .padding = 1, .groups = 2}); });
  check("conv_transpose1d", [](auto& t) {
    return conv_transpose1d(t[0], t[1], t[2], {.stride = 3, .padding = 1, .output_padding = 1, .dilation = 2});
  });
}

TEST_CASE("Pooling has PyTorch's values, gradients and second derivatives") {
  const PoolOptions options{.stride = {2, 1}, .padding = {1, 0}};
  check("max_pool2d", [&](auto& t) { return max_pool2d(t[0], {3, 2}, options); }, {"x"});
  check("max_pool1d", [](auto& t) { return max_pool1d(t[0], 3); }, {"x"});
  check("avg_pool2d", [](auto& t) { return avg_pool2d(t[0], {3, 2}, {.stride = {2, 1}, .padding = 1}); }, {"x"});
  check("avg_pool1d", [](auto& t) { return avg_pool1d(t[0], 4, {.stride = 3, .padding = 2}); }, {"x"});
}

TEST_CASE("Pooling equals naive loops for windows that reach past either end") {
  Random random(7);
  int count = 0;
  for (std::int64_t side = 1; side <= 7; ++side) {
    const Tensor x = variable(random_normal({1, 2, 2, side}, random, DType::float64));
    for (std::int64_t k = 1; k <= 9; ++k) {
      for (std::int64_t stride = 1; stride <= 4; ++stride) {
        for (std::int64_t padding = 0; padding <= k / 2; ++padding) {
          if (k > side + 2 * padding) continue;
          ++count;
          INFO(side << ", kernel " << k << ", stride " << stride << ", padding " << padding);
          const Recording recording;
          const PoolOptions options{.stride = {1, stride}, .padding = {0, padding}};
          const Tensor largest = max_pool2d(x, {1, k}, options), means = avg_pool2d(x, {1, k}, options);
          const std::int64_t out = (side + 2 * padding - k) / stride + 1;
          REQUIRE(largest.shape() == Shape{1, 2, 2, out});
          for_each_index(largest.shape(), [&](const Shape& i) {
            double best = -std::numeric_limits<double>::infinity(), total = 0;
            for (std::int64_t j = 0; j < k; ++j) {
              const std::int64_t at = i[3] * stride + j - padding;
              if (at < 0 || at >= side) continue;
              best = std::max(best, x.at({0, i[1], i[2], at}));
              total += x.at({0, i[1], i[2], at});
            }
            CHECK(largest.at({0, i[1], i[2], i[3]}) == best);
            CHECK(means.at({0, i[1], i[2], i[3]}) == Approx(total / static_cast<double>(k)).margin(1e-12));
          });
          CHECK(sum(backward(sum(largest))[x]).item() == static_cast<double>(largest.numel()));
        }
      }
    }
  }
  CHECK(count > 500);
}

TEST_CASE("Windows that are an image or a half of it give what smaller ones give") {
  Random random(5);
  const Tensor x = variable(random_normal({2, 3, 8, 8}, random, DType::float64));
  const auto same = [&](const Tensor& found, const Tensor& wanted) {
    CHECK(found.shape() == wanted.shape());
    CHECK(error(found, wanted) < 1e-14);
    CHECK(error(grad(sum(found * found), {x})[0], grad(sum(wanted * wanted), {x})[0]) < 1e-14);
  };
  const Recording recording;
  same(avg_pool2d(x, 4), avg_pool2d(avg_pool2d(x, 2), 2));
  same(avg_pool2d(x, 8), avg_pool2d(avg_pool2d(x, 4), 2));
  same(max_pool2d(x, 8), max_pool2d(max_pool2d(x, 4), 2));
}

TEST_CASE("Convolutions in float32 equal those in float64, which are computed in another way") {
  struct Setting {
    Shape x, W;
    ConvOptions options;
  };
  std::vector<Setting> settings;
  const std::vector<ConvOptions> all_options{{},
                                             {.padding = 1},
                                             {.padding = {0, 3}},
                                             {.stride = 2, .padding = 1},
                                             {.stride = {3, 1}, .padding = {2, 0}},
                                             {.stride = {1, 3}, .padding = 2, .dilation = {2, 1}},
                                             {.padding = 4, .dilation = {3, 2}},
                                             {.stride = 2, .padding = 2, .dilation = 2}};
  for (const ConvOptions& options : all_options) {
    for (const Shape& kernel : {Shape{1, 3}, {3, 3}, {2, 5}, {4, 1}}) {
      settings.push_back({{17, 3, 9, 11}, {33, 3, kernel[0], kernel[1]}, options});
      settings.push_back({{3, 32, 16, 14}, {24, 16, kernel[0], kernel[1]}, options});
      settings.back().options.groups = 2;
      settings.back().W[0] = 2 * 12;
      settings.push_back({{2, 4, 21, 35}, {4, 1, kernel[0], kernel[1]}, options});
      settings.back().options.groups = 4;
    }
  }
  settings.push_back({{40, 64, 4, 4}, {48, 64, 3, 3}, {.padding = 1}});        // blocks of several images
  settings.push_back({{1, 5, 3, 30011}, {16, 5, 2, 7}, {.padding = {0, 9}}});  // of a part of a row
  settings.push_back({{1, 24, 150, 130}, {31, 24, 5, 3}, {.padding = 2}});     // of several rows
  settings.push_back({{1, 3, 300, 700}, {3, 1, 5, 3}, {.padding = 2, .groups = 3}});
  for (const auto& [x_shape, W_shape, options] : settings) {
    INFO(x_shape << " * " << W_shape << ", stride " << options.stride.height << " x " << options.stride.width
                 << ", padding " << options.padding.height << " x " << options.padding.width << ", dilation "
                 << options.dilation.height << " x " << options.dilation.width);
    Random random(5);
    const Tensor x = random_normal(x_shape, random), W = random_normal(W_shape, random),
                 b = random_normal({W_shape[0]}, random), dy = random_normal(conv2d(x, W, b, options).shape(), random);
    const auto results = [&, &options = options](DType dtype) {
      const Tensor a = variable(x.to(dtype)), c = variable(W.to(dtype)), e = variable(b.to(dtype));
      const Recording recording;
      const Tensor y = conv2d(a, c, e, options);
      const Gradients gradients = backward(y, dy.to(dtype));
      return std::vector{y.detach(), gradients[a], gradients[c]};
    };
    const std::vector<Tensor> expected = results(DType::float64), got = results(DType::float32);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      INFO(i);
      const double size = std::sqrt(sum_of_squares(expected[i]) / static_cast<double>(expected[i].numel()));
      CHECK(error(got[i].to(DType::float64), expected[i]) < 1e-5 * size);
    }
  }
}

TEST_CASE("Convolution gives the same bits for any number of threads, in float32, with any shape of block") {
  Random random(3);
  struct Case {
    Shape x, W;
    ConvOptions options;
  };
  const std::vector<Case> cases{
      {{1, 3, 70, 65}, {5, 3, 5, 5}, {.stride = 1, .padding = 2}},
      {{9, 8, 6, 6}, {4, 8, 1, 1}, {}},
      {{2, 200, 20, 40}, {7, 200, 3, 3}, {.stride = 2}},
      {{20, 16, 8, 8}, {16, 1, 3, 3}, {.stride = 1, .padding = 1, .dilation = 1, .groups = 16}}};
  for (const Case& each : cases) {
    const Tensor x = variable(uniform(each.x, random)), W = variable(0.05 * uniform(each.W, random));
    const Tensor narrow_x = variable(x.detach().to(DType::float32)), narrow_W = variable(W.detach().to(DType::float32));
    const Recording recording;
    std::vector<std::vector<Tensor>> results;
    for (const auto& [a, b] : {std::pair{x, W}, std::pair{narrow_x, narrow_W}}) {
      for (const int count : {1, 3}) {
        const Threads threads(count);
        const Tensor y = conv2d(a, b, {}, each.options);
        const Gradients gradients = backward(sum(y * sin(y)));
        results.push_back({y, gradients[a], gradients[b]});
      }
    }
    INFO(to_string(each.x));
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(same_bits(results[0][i].detach(), results[1][i].detach()));
      CHECK(same_bits(results[2][i].detach(), results[3][i].detach()));
      CHECK(error(results[2][i].detach().to(DType::float64), results[0][i].detach()) < 2e-3);
    }
  }
}

TEST_CASE("Pooling takes the first of equal maxima, and NaN, as PyTorch does") {
  const Tensor x = variable(tensor({1, 1, 2, 4}, {1, 1, 2, 3, 1, 1, 3, 0}));
  const Recording recording;
  const Tensor y = max_pool2d(x, 2);
  CHECK(y.to_vector() == std::vector<double>{1, 3});
  CHECK(backward(sum(y))[x].to_vector() == std::vector<double>{1, 0, 0, 1, 0, 0, 0, 0});
  const double nan = std::nan("");
  CHECK(std::isnan(max_pool2d(tensor({1, 1, 2, 2}, {1, nan, 5, 0}), 2).item()));
  CHECK(max_pool2d(full({1, 1, 2, 2}, -3), 2, {.stride = 1, .padding = 1}).to_vector() == std::vector<double>(9, -3));
  CHECK(avg_pool2d(full({1, 1, 2, 2}, 4), 2, {.padding = 1}).to_vector() == std::vector<double>(4, 1));
}

TEST_CASE("Empty batches and channels give empty results, or the bias") {
  CHECK(conv2d(ones({0, 2, 3, 3}), ones({4, 2, 3, 3})).shape() == Shape{0, 4, 1, 1});
  CHECK(conv2d(ones({2, 0, 3, 3}), ones({1, 0, 3, 3}), tensor({1}, {5})).to_vector() == std::vector<double>{5, 5});
  CHECK(conv_transpose2d(ones({1, 0, 1, 1}), ones({0, 1, 1, 2}), tensor({1}, {5})).to_vector() ==
        std::vector<double>{5, 5});
  CHECK(max_pool2d(ones({0, 2, 4, 4}), 2).shape() == Shape{0, 2, 2, 2});
}

TEST_CASE("Wrong arguments of convolutions are named") {
  const Tensor x = ones({2, 4, 5, 5}), W = ones({8, 4, 3, 3});
  const auto conv = [&](const Tensor& a, const Tensor& b, const ConvOptions& o = {}, const Tensor& bias = {}) {
    return message([&] { return conv2d(a, b, bias, o); });
  };
  CHECK(conv(x[0], W) ==
        "conv2d: expected x (B, C, H, W) and W (out, C / groups, kernel height, kernel width), got (4, 5, 5) and "
        "(8, 4, 3, 3). Did you mean unsqueeze(x, 0)?");
  CHECK(conv(x, ones({8, 3, 3, 3})) ==
        "conv2d: W (8, 3, 3, 3) with groups = 1 needs x with 3 channels, got x (2, 4, 5, 5)");
  CHECK(conv(x, W, {.groups = 3}) == "conv2d: groups must divide the 4 channels of x and the 8 of axis 0 of W, got 3");
  CHECK(conv(x, W, {.dilation = {1, 3}}) ==
        "conv2d: the kernel covers 3 x 7 elements, but x with its padding has 5 x 5");
  CHECK(conv(x, W, {.stride = 0}) == "conv2d: stride must be at least 1, got 0");
  CHECK(conv(x, W, {.padding = {0, -1}}) == "conv2d: padding must be at least 0, got -1");
  CHECK(conv(x, W, {.padding = 10'000'000'000}) == "conv2d: padding must be below 2^31, got 10000000000");
  CHECK(message([&] { return max_pool2d(x, std::int64_t{1} << 31); }) ==
        "max_pool2d: the kernel must be below 2^31, got 2147483648");
  CHECK(message([&] { return avg_pool2d(x, 2, {.stride = std::int64_t{1} << 31}); }) ==
        "avg_pool2d: stride must be below 2^31, got 2147483648");
  CHECK(conv(x, W, {}, ones({4})) == "conv2d: W (8, 4, 3, 3) needs a bias of shape (8) and the dtype of x, got (4)");
  CHECK(conv(x, W.to(DType::float64)) ==
        "conv2d: both tensors must have one dtype, got float32 (2, 4, 5, 5) and float64 (8, 4, 3, 3); convert one with "
        "to(DType::float64)");
  CHECK(message([&] {
          return conv1d(x[0], W[0], {}, {.stride = {1, 2}});
        }) == "conv1d: stride must be one number, got 1 and 2");
  CHECK(message([&] { return conv_transpose2d(x, W); }) ==
        "conv_transpose2d: W (8, 4, 3, 3) with groups = 1 needs x with 8 channels, got x (2, 4, 5, 5)");
  CHECK(message([&] {
          return conv_transpose2d(x, ones({4, 1, 2, 2}), {}, {.output_padding = 1});
        }) == "conv_transpose2d: output_padding must be smaller than the stride or the dilation, got 1");
  CHECK(message([&] { return max_pool2d(x, 6); }) ==
        "max_pool2d: the kernel covers 6 elements of an axis, but x (2, 4, 5, 5) with its padding has 5");
  CHECK(message([&] { return avg_pool2d(x, 2, {.padding = 2}); }) ==
        "avg_pool2d: padding must lie between 0 and half of the kernel, 1, got 2");
  CHECK(message([&] { return max_pool1d(x, 2); }) == "max_pool1d: expected x (B, C, L), got (2, 4, 5, 5)");
}

TEST_CASE("Layers of convolution name their parameters, begin as documented, and show their outputs") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  const Conv2d conv(scope / "conv", 4, 32, 3, {.stride = 2, .padding = 1, .groups = 2});
  const Conv1d line(scope / "line", 3, 5, 4, {.bias = false});
  const ConvTranspose2d up(scope / "up", 32, 4, 2, {.stride = 2});
  std::vector<std::pair<std::string, Shape>> all;
  for (const auto& [name, p] : parameters) all.emplace_back(name, p.shape());
  CHECK(all == std::vector<std::pair<std::string, Shape>>{{"conv.weight", {32, 2, 3, 3}},
                                                          {"conv.bias", {32}},
                                                          {"line.weight", {5, 3, 4}},
                                                          {"up.weight", {32, 4, 2, 2}},
                                                          {"up.bias", {4}}});
  CHECK(max(abs(conv.weight)).item() == Approx(std::sqrt(6.0 / 18)).epsilon(0.03));
  CHECK(max(abs(up.weight)).item() == Approx(std::sqrt(6.0 / 32)).epsilon(0.03));
  CHECK(sum(abs(conv.bias)).item() == 0);
  const Tensor x = ones({2, 4, 8, 6}), h = conv(x), y = up(h);
  CHECK(h.shape() == Shape{2, 32, 4, 3});
  CHECK(y.shape() == Shape{2, 4, 8, 6});
  CHECK(line(ones({1, 3, 9})).shape() == Shape{1, 5, 6});
  CHECK(same_bits(h, conv2d(x, conv.weight, conv.bias, {.stride = 2, .padding = 1, .groups = 2})));
  std::vector<std::string> names;
  const Hook hook([&](const std::string& name, Tensor&) { names.push_back(name); });
  conv(x);
  CHECK(names == std::vector<std::string>{"conv.output"});
  CHECK(message([&] { return Conv2d(scope / "odd", 4, 6, 3, {.groups = 4}).weight; }) ==
        "Conv2d: groups must divide the 4 input and 6 output channels, got 4");
}

TEST_CASE("same_padding keeps height and width, or says why no padding does") {
  Random random(1);
  const Tensor x = random_normal({1, 2, 6, 7}, random), W = random_normal({3, 2, 5, 3}, random);
  const HeightWidth padding = same_padding({5, 3}, {1, 2});
  CHECK(padding == HeightWidth(2, 2));
  CHECK(conv2d(x, W, {}, {.padding = padding, .dilation = {1, 2}}).shape() == Shape{1, 3, 6, 7});
  CHECK(same_padding(1) == HeightWidth(0));
  CHECK(message([] {
          static_cast<void>(same_padding({3, 4}, 1));
        }) ==
        "same_padding: a kernel of 4 with dilation 1 needs 3 zeros at both ends together, which is odd; take an odd "
        "kernel, or pad() one end of x and give no padding");
  CHECK(message([] { static_cast<void>(same_padding(0)); }) ==
        "same_padding: expected a kernel and a dilation from 1 to 2147483647, got 0 and 1");
}
