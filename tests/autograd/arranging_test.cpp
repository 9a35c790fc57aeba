#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

using namespace heed;

TEST_CASE("stack, split, pad, repeat, tril and the like give the right values and gradients") {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  using Values = std::vector<double>;
  CHECK(x[1].to_vector() == Values{4, 5, 6});
  CHECK(x[-2][2].item() == 3);
  CHECK(stack({x[0], x[1]}).to_vector() == x.to_vector());
  CHECK(stack({x[0], x[1]}, -1).to_vector() == Values{1, 4, 2, 5, 3, 6});
  const std::vector<Tensor> parts = split(x, {1, 2}, 1);
  CHECK(parts[1].to_vector() == Values{2, 3, 5, 6});
  CHECK(unsqueeze(x, 1).shape() == Shape{2, 1, 3});
  CHECK(unsqueeze(x, -1).shape() == Shape{2, 3, 1});
  CHECK(squeeze(unsqueeze(x, -1), 2).shape() == Shape{2, 3});
  CHECK(flatten(zeros({2, 3, 4})).shape() == Shape{24});
  CHECK(flatten(zeros({2, 3, 4}), 1).shape() == Shape{2, 12});
  CHECK(flatten(zeros({2, 3, 4}), 0, -2).shape() == Shape{6, 4});
  CHECK(flatten(zeros({})).shape() == Shape{1});
  CHECK(pad(x, 1, 1, 2, 9).to_vector() == Values{9, 1, 2, 3, 9, 9, 9, 4, 5, 6, 9, 9});
  CHECK(repeat(x, {1, 2}).to_vector() == Values{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  CHECK(repeat(x, {2, 0}).shape() == Shape{4, 0});
  CHECK(tril(x).to_vector() == Values{1, 0, 0, 4, 5, 0});
  CHECK(tril(x, 1).to_vector() == Values{1, 2, 0, 4, 5, 6});
  CHECK(triu(x).to_vector() == Values{1, 2, 3, 0, 5, 6});
  CHECK(triu(x, 2).to_vector() == Values{0, 0, 3, 0, 0, 0});
  CHECK(triu(x, -5).to_vector() == x.to_vector());
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(), least = -most - 1;
  CHECK(tril(x, most).to_vector() == x.to_vector());
  CHECK(tril(x, least).to_vector() == Values(6, 0));
  CHECK(triu(x, most).to_vector() == Values(6, 0));
  CHECK(triu(x, least).to_vector() == x.to_vector());
  CHECK(triu(full({2, 2}, std::nan("")), 1).at({1, 1}) == 0);  // nothing is multiplied
  CHECK(tril(stack({x, -x}), -1).to_vector() == Values{0, 0, 0, 4, 0, 0, 0, 0, 0, -4, 0, 0});
  CHECK(tril(zeros({2, 0, 3})).shape() == Shape{2, 0, 3});

  const Tensor v = variable(x);
  const Recording recording;
  CHECK(backward(sum(v[1] * 2))[v].to_vector() == Values{0, 0, 0, 2, 2, 2});
  CHECK(backward(sum(tril(repeat(v, {2, 1}))))[v].to_vector() == Values{2, 1, 1, 2, 2, 1});
  CHECK(backward(sum(pad(stack({v, v}), 0, 1, 1)))[v].to_vector() == Values(6, 2));
}

TEST_CASE("Impossible rearrangements of a shape throw an Error that states why") {
  const Tensor x = zeros({2, 3});
  check_messages(
      {{"[]: index 2 lies outside the first axis of shape (2, 3)", [&] { x[2]; }},
       {"[]: index 0 lies outside the first axis of shape (); item() gives its number", [] { zeros({})[0]; }},
       {"split: the sizes 1, 1 do not add up to axis 1 of shape (2, 3)",
        [&] {
          split(x, {1, 1}, 1);
        }},
       {"squeeze: expected size 1 along axis 0 of shape (2, 3)", [&] { squeeze(x, 0); }},
       {"flatten: axis 1 comes after axis 0 of shape (2, 3)", [&] { flatten(x, 1, 0); }},
       {"pad: expected sizes of at least 0, got -1 and 0", [&] { pad(x, 0, -1, 0); }},
       {"repeat: expected a number of at least 0 for each axis of (2, 3), got 2", [&] { repeat(x, {2}); }},
       {"tril: expected matrices (..., n, m), got (3)", [&] { tril(x[0]); }}});
}
