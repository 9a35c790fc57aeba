#include "tests/autograd/helpers.h"

#include <heed/autograd/gradcheck/check.h>
#include <heed/autograd/ops.h>

using namespace heed;

TEST_CASE("gather and scatter_add equal their formulas for any layout") {
  Random random(7);
  const Tensor x = scattered(uniform({3, 4, 2}, random), random),
               values = scattered(uniform({2, 5, 2}, random), random);
  std::vector<std::int32_t> chosen;
  for (int i = 0; i < 20; ++i) chosen.push_back(static_cast<std::int32_t>(random.below(4)));
  const Ids indices({2, 5, 2}, chosen);
  const Tensor y = gather(x, indices, 1);
  Naive added(x);
  std::size_t e = 0;
  for_each_index({2, 5, 2}, [&](const Shape& i) {
    const std::int64_t j = chosen[e++];
    CHECK(y.at({i[0], i[1], i[2]}) == x.at({i[0], j, i[2]}));
    added[{i[0], j, i[2]}] += values.at({i[0], i[1], i[2]});
  });
  CHECK(distance(scatter_add(x, indices, values, -2), added) == 0);
}

TEST_CASE("scatter_max takes the greatest of x and the values, and its gradient goes to what was taken") {
  Random random(8);
  const Tensor x = variable(scattered(uniform({3, 4, 2}, random, DType::float64), random)),
               values = variable(scattered(uniform({2, 5, 2}, random, DType::float64), random));
  const Ids indices = random_ids({2, 5, 2}, random, 4);
  Naive greatest(x);
  std::int64_t e = 0;
  for_each_index({2, 5, 2}, [&](const Shape& i) {
    double& y = greatest[{i[0], indices[e++], i[2]}];
    y = std::max(y, values.at({i[0], i[1], i[2]}));
  });
  CHECK(distance(scatter_max(x, indices, values, 1), greatest) == 0);
  const auto f = [&](const std::vector<Tensor>& t) { return scatter_max(t[0], indices, t[1], 1); };
  CHECK(check_gradients(f, {x.detach(), values.detach()}).passed);
  const Recording recording;

  const Tensor ties = variable(tensor({1, 5})), more = variable(tensor({5, 2, 2, 5}));
  const Tensor z = scatter_max(ties, Ids({1, 0, 0, 1}), more, 0);
  CHECK(z.to_vector() == std::vector<double>{2, 5});
  const Gradients gradients = backward(sum(z));
  CHECK(gradients[ties].to_vector() == std::vector<double>{0, 1});
  CHECK(gradients[more].to_vector() == std::vector<double>{0, 1, 0, 0});
  const double nan = std::nan("");
  CHECK(std::isnan(scatter_max(tensor({1}), Ids({0, 0, 0}), tensor({2.0, nan, 3.0}), 0).item()));
  CHECK(std::isnan(scatter_max(tensor({nan}), Ids({0}), tensor({2}), 0).item()));
  CHECK(scatter_max(full({2}, -INFINITY), Ids({1}), tensor({-3}), 0).to_vector() == std::vector<double>{-INFINITY, -3});
  CHECK(scatter_max(x, Ids({3, 0, 2}, {}), zeros({3, 0, 2}, DType::float64), 1).to_vector() == x.to_vector());
  CHECK(message([&] { scatter_max(x, indices, x, 1); }) ==
        "scatter_max: expected values float64 (2, 5, 2), as x and the indices, got float64 (3, 4, 2)");
  CHECK(message([&] { scatter_max(zeros({2}), Ids({2}), zeros({1}), 0); }) ==
        "scatter_max: index 2 at position 0 lies outside [0, 2)");
}

TEST_CASE("gather and where take integers") {
  const Ids x({{3, 1, 2}, {6, 5, 4}});
  const Ids chosen = gather(x, Ids({{2}, {0}}), 1);
  CHECK(chosen.shape() == Shape{2, 1});
  CHECK((chosen[0] == 2 && chosen[1] == 6));
  CHECK(gather(x, Ids({{1, 0, 1}}), 0)[0] == 6);
  CHECK(message([&] { gather(x, Ids({{3}, {0}}), 1); }) == "gather: index 3 at position 0 lies outside [0, 3)");
  CHECK(all(where(x > 3, x, 0) == Ids({{0, 0, 0}, {6, 5, 4}})));
  CHECK(all(where(x > 3, 9, Ids({1, 2, 3})) == Ids({{1, 2, 3}, {9, 9, 9}})));
}

TEST_CASE("index_select, one_hot and arange have the documented values") {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(index_select(x, Ids({4}, {2, 0, 0, 1}), 1).to_vector() == std::vector<double>{3, 1, 1, 2, 6, 4, 4, 5});
  const Tensor many = arange(0, 20 * 301).view({20, 301}, {301, 1});  // several tasks along the last axis
  const Ids every_third = arange_ids(100) * 3;
  CHECK(distance(index_select(many, every_third, 1), slice(many, 1, 0, 300, 3)) == 0);
  const Tensor spread = index_add(zeros({20, 301}), every_third, slice(many, 1, 0, 300, 3), 1);
  CHECK(distance(slice(spread, 1, 0, 300, 3), slice(many, 1, 0, 300, 3)) == 0);
  CHECK(sum(spread).item() == sum(slice(many, 1, 0, 300, 3)).item());
  CHECK(distance(index_select(reshape(many, {-1}), arange_ids(6000), 0), slice(reshape(many, {-1}), 0, 0, 6000)) == 0);
  CHECK(index_select(x, Ids({1}, {1}), 0).to_vector() == std::vector<double>{4, 5, 6});
  CHECK(index_select(x, Ids({0}, {}), 0).shape() == Shape{0, 3});
  const Tensor v = variable(x);
  {
    const Recording recording;
    CHECK(backward(sum(index_select(v, Ids({3}, {2, 2, 0}), 1)))[v].to_vector() ==
          std::vector<double>{1, 0, 2, 1, 0, 2});
  }
  CHECK(one_hot(Ids({2, 1}, {2, 0}), 3).to_vector() == std::vector<double>{0, 0, 1, 1, 0, 0});
  CHECK(one_hot(Ids({2, 1}, {2, 0}), 3).shape() == Shape{2, 1, 3});
  CHECK(arange(1, 2.1, 0.5).to_vector() == std::vector<double>{1, 1.5, 2});
  CHECK(arange(3, 0, -1).to_vector() == std::vector<double>{3, 2, 1});
  CHECK(arange(2, 2).shape() == Shape{0});
  CHECK(arange_ids(2, 5)[2] == 4);
}

TEST_CASE("Invalid indices and sampling arguments throw an Error that quotes them") {
  Random random(1);
  const Tensor x = zeros({2, 3});
  check_messages({{"gather: index 3 at position 1 lies outside [0, 3)",
                   [&] {
                     gather(x, Ids({1, 2}, {0, 3}), 1);
                   }},
                  {"gather: indices (3, 1) must have the rank of (2, 3) and may be longer only along axis 1",
                   [&] {
                     gather(x, Ids({3, 1}, {0, 0, 0}), 1);
                   }},
                  {"scatter_add: expected values float32 (1, 2), as x and the indices, got float32 (2)",
                   [&] {
                     scatter_add(x, Ids({1, 2}, {0, 1}), zeros({2}), 1);
                   }},
                  {"index_select: expected indices (n), got (1, 2)",
                   [&] {
                     index_select(x, Ids({1, 2}, {0, 1}), 1);
                   }},
                  {"one_hot: id 3 at position 0 lies outside [0, 3)", [] { one_hot(Ids({1}, {3}), 3); }},
                  {"arange: cannot count from 0 to 1 in steps of 0", [] { arange(0, 1, 0); }},
                  {"random_normal: expected a finite mean and a finite deviation of at least 0, got 0 and -1",
                   [&] { random_normal({2}, random, 0, -1); }},
                  {"random_uniform: expected finite bounds, low at most high, got 1 and 0",
                   [&] { random_uniform({2}, random, 1, 0); }},
                  {"random_uniform: expected finite bounds, low at most high, got 0 and nan",
                   [&] { random_uniform({2}, random, 0, std::nan("")); }},
                  {"Random::uniform: low must be at most high, got 1 and 0", [&] { random.uniform(1, 0); }},
                  {"Random::below: expected a number above 0, got 0", [&] { random.below(0); }}});
}
