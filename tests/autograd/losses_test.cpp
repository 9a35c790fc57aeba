#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

using namespace heed;

TEST_CASE("accuracy is the share of rows whose largest logit is the label") {
  const Tensor logits = tensor({2, 2, 3}, {1, 2, 3, 3, 2, 1, 0, 5, 5, -1, -2, -1});  // the first of equal logits counts
  CHECK(accuracy(logits, Ids({2, 2}, {2, 0, 1, 0})) == 1);
  CHECK(accuracy(logits, Ids({2, 2}, {2, 1, 2, 0})) == 0.5);
  CHECK(accuracy(logits, Ids({2, 2}, {2, 1, 2, -1})) == Approx(1.0 / 3));  // three rows count
  CHECK(accuracy(logits, Ids({2, 2}, {2, 0, 2, 0}), 2) == 1);
  CHECK(accuracy(transpose(logits, 1, 2), Ids({2, 2}, {2, 1, 2, 0}), -1, 1) == 0.5);
  CHECK(message([&] {
          accuracy(logits, Ids({4}, {2, 0, 1, 0}));
        }) == "accuracy: logits (2, 2, 3) need labels (2, 2), got (4)");
  CHECK(message([&] {
          accuracy(logits, Ids({2, 2}, {2, 7, 1, 0}));
        }) == "accuracy: label 7 of row 1 lies outside [0, 3)");
  CHECK(message([&] {
          accuracy(logits, Ids({2, 2}, {2, 0, 1, -1}), 2);
        }) == "accuracy: label -1 of row 3 lies outside [0, 3); ignored_label is 2");
  CHECK(message([] {
          accuracy(zeros({0, 3}), Ids({0}, {}));
        }) == "accuracy: expected at least one row, got logits (0, 3) with 0 ignored labels");
}

TEST_CASE("accuracy refuses NaN in a row that counts") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor logits = tensor({{1, 2, 3}, {nan, 5, 1}, {-std::numeric_limits<double>::infinity(), 0, 1}});
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const bool is_transposed : {false, true}) {
      const Tensor x = is_transposed ? contiguous(transpose(logits.to(dtype))) : logits.to(dtype);
      CHECK(message([&] {
              accuracy(x, {2, 0, 2}, -1, is_transposed ? 0 : 1);
            }) == "accuracy: expected logits that are numbers, got NaN in row 1 of logits (3, 3)");
      CHECK(accuracy(x, {2, -1, 2}, -1, is_transposed ? 0 : 1) == 1);
    }
  }
}

TEST_CASE("mse_loss and bce_with_logits refuse shapes that differ, even those that would broadcast") {
  const Tensor column = zeros({4, 1}), row = zeros({4});
  const std::string hint =
      "x and target must have equal shapes, got (4, 1) and (4). Did you mean to reshape the target?";
  check_messages(
      {{"mse_loss: " + hint, [&] { mse_loss(column, row); }},
       {"bce_with_logits: " + hint, [&] { bce_with_logits(column, row); }},
       {"mse_loss: x and target must have equal shapes, got (4) and (1)", [&] { mse_loss(row, zeros({1})); }},
       {"bce_with_logits: x and target must have equal shapes, got () and (4)",
        [&] { bce_with_logits(zeros({}), row); }},
       {"mse_loss: both tensors must have one dtype, got float32 (4) and float64 (4); convert one with "
        "to(DType::float64)",
        [&] { mse_loss(row, row.to(DType::float64)); }}});
}

TEST_CASE("mse_loss and bce_with_logits equal their formulas, bce_with_logits also for large logits") {
  const Tensor x = tensor({2, 2}, {1, -2, 3, 0.5}, DType::float64),
               t = tensor({2, 2}, {0, 1, 0.25, 0.5}, DType::float64);
  CHECK(mse_loss(x, t).item() == Approx((1 + 9 + 2.75 * 2.75) / 4));
  CHECK(mse_loss(x, t, Reduction::sum).item() == Approx(1 + 9 + 2.75 * 2.75));
  CHECK(mse_loss(x, t, Reduction::none).shape() == Shape{2, 2});
  const std::vector<double> each = bce_with_logits(x, t, Reduction::none).to_vector();
  for (std::size_t i = 0; i < 4; ++i) {
    const double s = 1 / (1 + std::exp(-x.to_vector()[i])), target = t.to_vector()[i];
    CHECK(each[i] == Approx(-target * std::log(s) - (1 - target) * std::log(1 - s)));
  }
  const Tensor large = tensor({4}, {1e4, 1e4, 30, -30}), right = tensor({4}, {1, 0, 1, 1});
  const std::vector<double> far = bce_with_logits(large, right, Reduction::none).to_vector();
  CHECK((far[0] == 0 && far[1] == 1e4));
  CHECK(far[2] == Approx(std::exp(-30)));
  CHECK(far[3] == Approx(30));
}

// The values of PyTorch 2.14.1.
TEST_CASE("huber_loss is quadratic up to delta and linear beyond it") {
  const Tensor x = variable(tensor({5}, {0.25, -0.5, 0.75, -3, 0}, DType::float64)), t = zeros({5}, DType::float64);
  const auto each = [&](double delta) { return huber_loss(x, t, Reduction::none, delta).to_vector(); };
  CHECK(each(0.5) == std::vector{0.03125, 0.125, 0.25, 1.375, 0.0});
  CHECK(each(1) == std::vector{0.03125, 0.125, 0.28125, 2.5, 0.0});
  CHECK(each(INFINITY) == std::vector{0.03125, 0.125, 0.28125, 4.5, 0.0});
  CHECK(huber_loss(x, t, Reduction::sum).item() == 2.9375);
  CHECK(huber_loss(x, t).item() == 2.9375 / 5);
  const Recording recording;
  const Gradients gradients = backward(huber_loss(x, t, Reduction::sum, 0.5));
  CHECK(gradients[x].to_vector() == std::vector{0.25, -0.5, 0.5, -0.5, 0.0});
  const Tensor nan = tensor({1}, {NAN}), zero = zeros({1});
  CHECK(std::isnan(huber_loss(nan, zero).item()));
  check_messages({{"huber_loss: delta must be greater than 0, got 0", [&] { huber_loss(x, t, Reduction::mean, 0); }},
                  {"huber_loss: x and target must have equal shapes, got (5) and (1)",
                   [&] { huber_loss(x, zeros({1}, DType::float64)); }}});
}

TEST_CASE("bce_with_logits weights positive targets") {
  const Tensor x = variable(tensor({2, 3}, {1, 2, 3, 0, -1, 4}, DType::float64)),
               t = tensor({2, 3}, {0, 1, .25, .5, 0, 1}, DType::float64);
  const Tensor weight = tensor({3}, {3, 1, .5}, DType::float64);
  const Recording recording;
  const Tensor loss = bce_with_logits(x, t, Reduction::mean, weight);
  CHECK(loss.item() == Approx(0.9068891072975397).epsilon(1e-14));
  CHECK(distance(backward(loss)[x].to_vector(), {0.12184309643833414, -0.01986715367035295, 0.11808372682827152,
                                                 -0.08333333333333333, 0.04482357022833252, -0.0014988508301742958}) <
        1e-14);
  CHECK(distance(bce_with_logits(x, t, Reduction::none, ones({}, DType::float64)).to_vector(),
                 bce_with_logits(x, t, Reduction::none).to_vector()) < 1e-15);
  check_messages({{"bce_with_logits: positive_weight: shapes (2, 3) and (2) do not broadcast: 3 != 2 at axis -1. Sizes "
                   "must be equal, or one of them "
                   "1",
                   [&] { bce_with_logits(x, t, Reduction::mean, ones({2}, DType::float64)); }},
                  {"bce_with_logits: positive_weight (4, 2, 3) must broadcast to x, (2, 3)", [&] {
                     bce_with_logits(x, t, Reduction::mean, ones({4, 2, 3}, DType::float64));
                   }}});
}
