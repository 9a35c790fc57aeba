#include "tests/autograd/helpers.h"

#include <heed/autograd/gradcheck/check.h>
#include <heed/autograd/ops.h>

#include <algorithm>

using namespace heed;

namespace {

constexpr double no_bound = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("cross_entropy is the mean of -log softmax over the labels that are not ignored") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  Random random(8);
  const Tensor logits = scattered(uniform({6, 9}, random, dtype, -20, 20), random);
  const Ids labels({6}, {3, -1, 0, 8, -1, 2});
  Naive log_p = by_rows(logits, log_softmax_naive);
  for (const double e : {0.0, 0.1}) {
    double expected = 0;
    for (std::int64_t i = 0; i < 6; ++i) {
      if (labels[i] < 0) continue;
      double spread = 0;
      for (std::int64_t c = 0; c < 9; ++c) spread -= log_p[{i, c}] / 9;
      expected += ((1 - e) * -log_p[{i, labels[i]}] + e * spread) / 4;
    }
    const Tensor loss = cross_entropy(logits, labels, {.label_smoothing = e});
    CHECK(loss.shape() == Shape{});
    CHECK(loss.item() == Approx(expected).epsilon(rounding(dtype)));
  }
  const Ids seven({2}, {7, 7});
  CHECK(cross_entropy(slice(logits, 0, 0, 2), seven, {.ignored_label = 7}).item() == 0);
  // A far too confident wrong answer: large, and finite.
  CHECK(cross_entropy(tensor({1, 2}, {2000, -2000}, dtype), Ids({1}, {1})).item() == 4000);
}

TEST_CASE("cross_entropy depends only on differences of logits, however large the logits are") {
  const Ids first({1}, {0});
  const DType dtype = GENERATE(DType::float32, DType::float64);
  for (const double size : {0.0, 1e4, 1e16, 1e30}) {
    CHECK(cross_entropy(full({1, 2}, size, dtype), first).item() == Approx(std::log(2)));
    CHECK(cross_entropy(full({1, 3}, -size, dtype), first, {.label_smoothing = 0.1}).item() == Approx(std::log(3)));
  }
  CHECK(cross_entropy(tensor({1, 2}, {1e4, 1e4 - 30}, DType::float64), first).item() == Approx(9.36e-14).epsilon(2e-3));
  const Tensor apart = tensor({1, 2}, {1e6, 1e6 - 4}, dtype);
  CHECK(cross_entropy(apart, first).item() == Approx(std::log1p(std::exp(-4))));
  CHECK(cross_entropy(apart, first, {.label_smoothing = 0.5}).item() == Approx(std::log1p(std::exp(-4)) + 1));
}

TEST_CASE("A NaN in a row of logits reaches the loss and only that row's gradient") {
  const double nan = std::nan("");
  const DType dtype = GENERATE(DType::float32, DType::float64);
  for (const auto& [a, b] : {std::pair(nan, 0.0), {0.0, nan}, {no_bound, 0.0}, {nan, -no_bound}, {-no_bound, nan}}) {
    CAPTURE(a, b);
    const Tensor x = variable(tensor({2, 2}, {a, b, 1, 2}, dtype));
    const Recording recording;
    for (const double e : {0.0, 0.1}) {
      const Tensor loss = cross_entropy(x, Ids({2}, {1, 1}), {.label_smoothing = e}), dx = backward(loss)[x];
      CHECK((std::isnan(loss.item()) && std::isnan(dx.at({0, 0})) && std::isnan(dx.at({0, 1}))));
      CHECK(is_finite(slice(dx, 0, 1, 2)));
    }
  }
}

TEST_CASE("cross_entropy of a row of -infinity is infinite with gradient 0, like -log_softmax") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const Tensor x = variable(tensor({2, 2}, {-no_bound, -no_bound, 1, 2}, dtype));
  const Recording recording;
  for (const double e : {0.0, 0.1}) {
    const Tensor loss = cross_entropy(x, Ids({2}, {0, 1}), {.label_smoothing = e});
    CHECK(loss.item() == no_bound);
    CHECK(slice(backward(loss)[x], 0, 0, 1).to_vector() == std::vector<double>{0, 0});
  }
  const Tensor composed = -slice(log_softmax(x), 0, 0, 1);
  CHECK(composed.to_vector() == std::vector<double>{no_bound, no_bound});
  CHECK(slice(backward(sum(composed))[x], 0, 0, 1).to_vector() == std::vector<double>{0, 0});
  const Ids zero_weight({2}, {0, 1});
  CHECK(cross_entropy(x, zero_weight, {.class_weights = tensor({2}, {0, 1}, dtype)}).item() ==
        Approx(std::log1p(std::exp(-1))));
}

TEST_CASE("cross_entropy takes any rank and axis, class weights, and reductions") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  Random random(9);
  const Tensor logits = uniform({2, 3, 4, 5}, random, dtype), weights = tensor({4}, {0.5, 2, 1, 0}, dtype);  // C = 4
  std::vector<std::int32_t> numbers;
  for (int i = 0; i < 30; ++i) numbers.push_back(i % 7 == 0 ? -1 : static_cast<std::int32_t>(random.below(4)));
  const Ids labels({2, 3, 5}, numbers);
  const Tensor log_p = log_softmax(transpose(logits, 2, 3));  // (2, 3, 5, 4)
  for (const bool weighted : {false, true}) {
    for (const double e : {0.0, 0.3}) {
      std::vector<double> each;
      double total = 0, counted = 0;
      for_each_index({2, 3, 5}, [&](const Shape& i) {
        const std::int32_t label = labels[(i[0] * 3 + i[1]) * 5 + i[2]];
        double loss = 0;
        const auto w = [&](std::int64_t c) { return weighted ? weights.at({c}) : 1.0; };
        for (std::int64_t c = 0; c < 4 && label >= 0; ++c) {
          loss -= ((c == label ? (1 - e) * w(c) : 0) + e / 4 * w(c)) * log_p.at({i[0], i[1], i[2], c});
        }
        each.push_back(loss);
        total += loss;
        counted += label >= 0 ? w(label) : 0;
      });
      CrossEntropyOptions options{.label_smoothing = e, .axis = 2, .class_weights = weighted ? weights : Tensor()};
      CHECK(cross_entropy(logits, labels, options).item() == Approx(total / counted).epsilon(rounding(dtype)));
      options.reduction = Reduction::sum;
      CHECK(cross_entropy(logits, labels, options).item() == Approx(total).epsilon(rounding(dtype)));
      options.reduction = Reduction::none;
      const Tensor losses = cross_entropy(logits, labels, options);
      CHECK(losses.shape() == Shape{2, 3, 5});
      CHECK(distance(losses.to_vector(), each) < rounding(dtype));
    }
  }
  CHECK(cross_entropy(tensor({3}, {1, 2, 3}, dtype), Ids({}, {0})).item() ==
        Approx(std::log(1 + std::exp(1) + std::exp(2))));
  const Tensor two = tensor({2, 2}, {1, 2, 3, 5}, dtype);
  for (const std::int32_t ignored : {1, -100, std::numeric_limits<std::int32_t>::min(), 7}) {  // a class, too
    CHECK(cross_entropy(two, Ids({2}, {0, ignored}), {.ignored_label = ignored}).item() ==
          Approx(std::log(1 + std::exp(1))));
  }
  CHECK(cross_entropy(zeros({2, 3, 0}, dtype), Ids({2, 0}, {}), {.axis = 1, .reduction = Reduction::none}).shape() ==
        Shape{2, 0});
  const double endless = std::numeric_limits<double>::infinity();
  CHECK(cross_entropy(tensor({2}, {1, -endless}, dtype), Ids({}, {0})).item() == 0);
  CHECK(cross_entropy(tensor({2}, {1, -endless}, dtype), Ids({}, {1})).item() == endless);
}

TEST_CASE("cross_entropy along an inner axis equals that along the last, with rows that are masked or ignored") {
  Random random(4);
  const Shape shape{2, 5, 70};
  Tensor logits = uniform(shape, random, DType::float64, -20, 20);
  const auto mask = [&](std::int64_t row, int first, int end) {
    slice(slice(slice(logits, 0, 1, 2), 1, first, end), 2, row, row + 1)
        .copy_from(full({1, end - first, 1}, -no_bound, DType::float64));
  };
  mask(3, 0, 5);
  mask(66, 0, 5);
  mask(9, 0, 2);  // two classes of row 9, of which one is the label
  std::vector<std::int32_t> numbers;
  for (int i = 0; i < 140; ++i) numbers.push_back(i % 11 == 0 ? -1 : static_cast<std::int32_t>(random.below(5)));
  numbers[79] = 1;
  const Tensor weights = tensor({5}, {0.5, 2, 0, 1, 3}, DType::float64);
  for (const Reduction reduction : {Reduction::none, Reduction::mean, Reduction::sum}) {
    for (const bool is_weighted : {false, true}) {
      for (const double e : {0.0, 0.2}) {
        INFO(static_cast<int>(reduction) << " " << is_weighted << " " << e);
        const auto results = [&](bool is_inner) {
          const CrossEntropyOptions options{.ignored_label = -1,
                                            .label_smoothing = e,
                                            .axis = is_inner ? 1 : -1,
                                            .class_weights = is_weighted ? weights : Tensor(),
                                            .reduction = reduction};
          const Tensor x = variable(is_inner ? logits : contiguous(permute(logits, {0, 2, 1})));
          const Recording recording;
          const Tensor loss = cross_entropy(x, Ids({2, 70}, numbers), options);
          const Tensor dx = backward(loss, ones(loss.shape(), DType::float64))[x];
          return std::pair(loss.detach(), is_inner ? dx : contiguous(permute(dx, {0, 2, 1})));
        };
        const auto [loss, gradient] = results(true);
        const auto [expected_loss, expected_gradient] = results(false);
        const std::vector<double> a = loss.to_vector(), b = expected_loss.to_vector();
        for (std::size_t i = 0; i < a.size(); ++i) CHECK((a[i] == b[i] || std::abs(a[i] - b[i]) < 1e-11));
        CHECK(distance(gradient, expected_gradient) < 1e-13);
      }
    }
  }
}

TEST_CASE("The mean cross_entropy divides by the total weight of the labels, and is 0 without any") {
  const Tensor x = variable(zeros({1, 2}, DType::float64));
  const auto loss_and_gradient = [&](std::initializer_list<double> weights) {
    const Recording recording;
    const Tensor loss = cross_entropy(x, Ids({1}, {0}), {.class_weights = tensor({2}, weights, DType::float64)});
    std::vector<double> all = backward(loss)[x].to_vector();
    all.push_back(loss.item());
    return all;
  };
  CHECK(distance(loss_and_gradient({0.25, 1}), {-0.5, 0.5, std::log(2)}) < 1e-15);
  CHECK(loss_and_gradient({0, 1}) == std::vector<double>{0, 0, 0});
  const Tensor one_way = tensor({1, 2}, {0, -std::numeric_limits<double>::infinity()}, DType::float64);
  CHECK(cross_entropy(one_way, Ids({1}, {0}),
                      {.label_smoothing = 0.5, .class_weights = tensor({2}, {1, 0}, DType::float64)})
            .item() == 0);  // a row without weight may have probability 0
}

// The values of PyTorch 2.14.1.
TEST_CASE("cross_entropy takes the probabilities of the classes") {
  const auto made = [](std::initializer_list<double> numbers) { return tensor({2, 3}, numbers, DType::float64); };
  const Tensor x = variable(made({1, 2, 3, 0, -1, 4})), p = made({.2, .3, .5, 1, 0, 0}),
               weights = tensor({3}, {1, 2, .5}, DType::float64);
  const auto loss_and_gradient = [&](const CrossEntropyOptions& options) {
    const Recording recording;
    const Tensor loss = cross_entropy(x, p, options);
    std::vector<double> all = backward(loss)[x].to_vector();
    all.push_back(loss.item());
    return all;
  };
  CHECK(distance(loss_and_gradient({}),
                 {-0.05498471341480979, -0.027635764472601174, 0.08262047788741089, -0.49106600906484776,
                  0.0032866315926545426, 0.48777937747219324, 2.5661754272916015}) < 1e-14);
  CHECK(distance(loss_and_gradient({.label_smoothing = 0.1, .class_weights = weights}),
                 {-0.05887543740872306, -0.1734233032817449, 0.23229874069046794, -0.4575837758825952,
                  -0.029991924547467883, 0.4875757004300631, 2.778949485279793}) < 1e-14);
  CHECK(distance(loss_and_gradient({.class_weights = weights, .reduction = Reduction::sum}),
                 {-0.10546789817110055, -0.34303510539246246, 0.44850300356356293, -0.9821320181296955,
                  0.006573263185309085, 0.9755587549443865, 5.452731152805422}) < 1e-14);
  const Tensor each = cross_entropy(transpose(x), transpose(p), {.axis = 0, .reduction = Reduction::none});
  CHECK(distance(each.to_vector(), {1.1076059644443805, 4.024744890138822}) < 1e-14);
  CHECK(check_gradients([&](auto& t) { return cross_entropy(t[0], t[1], {.label_smoothing = 0.2}); }, {x.detach(), p})
            .passed);
  const double endless = std::numeric_limits<double>::infinity();
  CHECK(cross_entropy(tensor({2}, {1, -endless}), tensor({2}, {1, 0})).item() == 0);
  CHECK(cross_entropy(tensor({2}, {1, -endless}), tensor({2}, {0.5, 0.5})).item() == endless);
  check_messages(
      {{"cross_entropy: expected probabilities of the shape of the logits, (2, 3), or labels, which are Ids; "
        "got a tensor (2)",
        [&] { cross_entropy(x, zeros({2}, DType::float64)); }},
       {"cross_entropy: label_smoothing must lie in [0, 1), got 1",
        [&] { cross_entropy(x, p, {.label_smoothing = 1}); }},
       {"cross_entropy: class_weights must be of shape (3), got (2)",
        [&] { cross_entropy(x, p, {.class_weights = ones({2})}); }}});
}

TEST_CASE("Wrong use of cross_entropy throws an Error that states what was expected") {
  const Tensor x = zeros({2, 3});
  check_messages({{"cross_entropy: logits (2, 3) with their classes along axis -1 need labels (2), got (3)",
                   [&] {
                     cross_entropy(x, Ids({3}, {0, 0, 0}));
                   }},
                  {"cross_entropy: label 3 of row 1 lies outside [0, 3)",
                   [&] {
                     cross_entropy(x, Ids({2}, {0, 3}));
                   }},
                  {"cross_entropy: label -100 of row 1 lies outside [0, 3); ignored_label is -1",
                   [&] {
                     cross_entropy(x, Ids({2}, {0, -100}));
                   }},
                  {"cross_entropy: class_weights must be of shape (3), got (2)",
                   [&] {
                     cross_entropy(x, Ids({2}, {0, 1}), {.class_weights = ones({2})});
                   }},
                  {"cross_entropy: class_weights must be finite and at least 0, got -1",
                   [&] {
                     cross_entropy(x, Ids({2}, {0, 1}), {.class_weights = tensor({3}, {1, -1, 1})});
                   }},
                  {"cross_entropy: label_smoothing must lie in [0, 1), got nan",
                   [&] {
                     cross_entropy(x, Ids({2}, {0, 1}), {.label_smoothing = std::nan("")});
                   }},
                  {"cross_entropy: label_smoothing must lie in [0, 1), got 1", [&] {
                     cross_entropy(x, Ids({2}, {0, 1}), {.label_smoothing = 1});
                   }}});
}
