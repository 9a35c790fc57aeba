#include "tests/catch.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/profile.h>
#include <heed/autograd/record.h>

#include <functional>

using namespace heed;

namespace {

// Memory that the gradients of `loss` need on top of what is in use, in units of x's size.
double gradient_memory(const Tensor& x, const std::function<Tensor()>& loss) {
  const Recording recording;
  const Tensor value = loss();
  reset_peak_memory();
  const std::int64_t before = memory_use().bytes_in_use;
  const Gradients gradients = backward(value);
  REQUIRE(gradients.contains(x));
  return static_cast<double>(memory_use().peak_bytes - before) / static_cast<double>(x.bytes());
}

// Adds up the results of part(t) for t in [0, count).
Tensor sum_of_parts(std::int64_t count, const std::function<Tensor(std::int64_t)>& part) {
  Tensor total = zeros({});
  for (std::int64_t t = 0; t < count; ++t) total += sum(part(t));
  return total;
}

}  // namespace

TEST_CASE("unbind returns the views x[i] along any axis") {
  const Tensor x = tensor({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const std::vector<Tensor> rows = unbind(x), columns = unbind(x, -1);
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].shape() == Shape{3, 2});
  CHECK(rows[1].to_vector() == x[1].to_vector());
  CHECK(rows[1].shares_storage(x));
  REQUIRE(columns.size() == 2);
  CHECK(columns[1].to_vector() == std::vector<double>{2, 4, 6, 8, 10, 12});
  CHECK(unbind(zeros({0, 2})).empty());
  CHECK(unbind(zeros({2, 0})).at(1).shape() == Shape{0});
  CHECK_THROWS_WITH(unbind(zeros({})), "unbind: axis 0 is outside [0, 0) for rank 0");
}

TEST_CASE("Backward of many parts of a tensor needs one gradient of its size") {
  constexpr std::int64_t count = 512;
  const Tensor x = variable(ones({count, 8, 16}));
  const Ids first = Ids({1, 8, 16}, std::vector<std::int32_t>(128, 0));
  const std::vector<std::pair<std::string, std::function<Tensor(std::int64_t)>>> parts{
      {"x[i]", [&](std::int64_t t) { return x[t]; }},
      {"x[-i]", [&](std::int64_t t) { return x[-1 - t]; }},
      {"slice", [&](std::int64_t t) { return slice(x, 0, t, t + 1); }},
      {"slice by 2", [&](std::int64_t t) { return slice(x, 0, t % 2, to_end, 2 * count); }},
      {"index_select", [&](std::int64_t t) { return index_select(x, Ids({1}, {static_cast<std::int32_t>(t)})); }},
      {"gather", [&](std::int64_t) { return gather(x, first, 0); }},
      {"split",
       [&, all = std::vector<Tensor>()](std::int64_t t) mutable {
         if (t == 0) all = split(x, std::vector<std::int64_t>(count, 1), 0);
         return all[static_cast<std::size_t>(t)];
       }},
      {"unbind", [&, all = std::vector<Tensor>()](std::int64_t t) mutable {
         if (t == 0) all = unbind(x);
         return all[static_cast<std::size_t>(t)];
       }}};
  for (const auto& [name, part] : parts) {
    INFO(name);
    CHECK(gradient_memory(x, [&, f = part] { return sum_of_parts(count, f); }) < 1.5);
  }
}

TEST_CASE("A recorded backward of many parts of a tensor adds them to one gradient") {
  constexpr std::int64_t count = 64;
  const Tensor x = variable(ones({count, 8, 16}));
  const std::vector<std::pair<std::string, std::function<Tensor(std::int64_t)>>> parts{
      {"x[i]", [&](std::int64_t t) { return x[t]; }},
      {"slice", [&](std::int64_t t) { return slice(x, 0, t, t + 1); }},
      {"view",
       [&](std::int64_t t) {
         return x.view({8, 16}, {16, 1}, t * 128);
       }},
      {"max", [&](std::int64_t t) { return t == 0 ? max(x, 0) : x[t]; }}};
  for (const auto& [name, part] : parts) {
    INFO(name);
    const Recording recording;
    const Tensor loss = sum_of_parts(count, [&, f = part](std::int64_t t) { return f(t) * f(t) * f(t); });
    const auto bytes_added = [&](const auto& gradient_of) {
      const Profile profile;
      const Tensor gradient = gradient_of();
      const auto& totals = profile.totals();
      CHECK(gradient.to_vector() == std::vector<double>(static_cast<std::size_t>(x.numel()), gradient.at({0, 0, 0})));
      CHECK(gradient.at({0, 0, 0}) > 0);
      return totals.contains("add") ? totals.at("add").bytes : 0;
    };
    Tensor gradient;
    CHECK(bytes_added([&] { return gradient = backward(loss, {.record = true})[x]; }) <
          16.0 * static_cast<double>(x.bytes()));
    CHECK(gradient.at({0, 0, 0}) == 3);
    CHECK(bytes_added([&] { return backward(sum(gradient * gradient), {.record = true})[x]; }) <
          16.0 * static_cast<double>(x.bytes()));
    CHECK(backward(sum(gradient * gradient))[x].at({1, 2, 3}) == 2 * 3 * 6);
  }
}

TEST_CASE("Parts of one tensor add up in its gradient with its other uses") {
  const Tensor x = variable(tensor({3, 2}, {1, 2, 3, 4, 5, 6}));
  const Recording recording;
  const Tensor loss = sum(3 * x) + sum(square(x[1])) + 10 * sum(slice(x, 1, 0, 1)) + sum(x * x) +
                      sum(index_select(x, Ids({3}, {2, 2, 0}))) + sum(gather(x, Ids({1, 2}, {1, 1}), 0));
  CHECK(backward(loss)[x].to_vector() ==
        std::vector<double>{2 + 3 + 10 + 1, 4 + 3 + 1, 12 + 3 + 10 + 1, 16 + 3 + 1, 10 + 3 + 10 + 2, 12 + 3 + 2});
  const Gradients again = backward(loss);  // each backward gives the same
  CHECK(again[x].to_vector() == backward(loss)[x].to_vector());
}
