#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

using namespace heed;

TEST_CASE("rotary rotates each pair by its angle, in both pairings, and keeps the other elements") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const RotaryPairs pairs = GENERATE(RotaryPairs::halves, RotaryPairs::interleaved);
  Random random(13);
  const Tensor x = scattered(uniform({2, 3, 5, 7}, random, dtype), random);  // (B, heads, T, d); 6 features rotate
  const Tensor angle = uniform({5, 3}, random, DType::float64, -4, 4);
  const Tensor cosine = cos(angle).to(dtype), sine = sin(angle).to(dtype), y = rotary(x, cosine, sine, pairs);
  for_each_index({2, 3, 5, 3}, [&](const Shape& i) {
    const std::int64_t first = pairs == RotaryPairs::halves ? i[3] : 2 * i[3],
                       second = pairs == RotaryPairs::halves ? i[3] + 3 : first + 1;
    const double c = cosine.at({i[2], i[3]}), s = sine.at({i[2], i[3]});
    const double u = x.at({i[0], i[1], i[2], first}), v = x.at({i[0], i[1], i[2], second});
    CHECK(y.at({i[0], i[1], i[2], first}) == Approx(u * c - v * s).margin(rounding(dtype)));
    CHECK(y.at({i[0], i[1], i[2], second}) == Approx(u * s + v * c).margin(rounding(dtype)));
    CHECK(y.at({i[0], i[1], i[2], 6}) == x.at({i[0], i[1], i[2], 6}));
  });
  // One angle for each sequence, by broadcasting.
  const Tensor own = uniform({2, 1, 5, 3}, random, DType::float64);
  const Tensor each = rotary(x, cos(own).to(dtype), sin(own).to(dtype), pairs);
  CHECK(same_bits(slice(each, 0, 1, 2), rotary(slice(x, 0, 1, 2), slice(cos(own).to(dtype), 0, 1, 2),
                                               slice(sin(own).to(dtype), 0, 1, 2), pairs)));
  // Positions are rows of a table; then the heads are joined as (B, T, heads d).
  const Ids positions({2, 5}, {0, 4, 1, 1, 3, 2, 0, 0, 4, 3});
  const Tensor c = unsqueeze(embedding(cosine, positions), 1), s = unsqueeze(embedding(sine, positions), 1);
  const Tensor numbered = rotary(x, c, s, pairs), row = slice(slice(x, 0, 1, 2), 2, 3, 4);  // at position 4
  CHECK(same_bits(slice(slice(numbered, 0, 1, 2), 2, 3, 4),
                  rotary(row, slice(cosine, 0, 4, 5), slice(sine, 0, 4, 5), pairs)));
  const Tensor beside = reshape(transpose(x, 1, 2), {2, 5, 21});
  const Tensor turned = rotary(reshape(beside, {2, 5, 3, 7}), transpose(c, 1, 2), transpose(s, 1, 2), pairs);
  CHECK(same_bits(transpose(turned, 1, 2), numbered));
  CHECK(rotary(zeros({0, 4}), zeros({0, 2}), zeros({0, 2}), pairs).shape() == Shape{0, 4});
  CHECK(same_bits(rotary(x, zeros({5, 0}, dtype), zeros({5, 0}, dtype), pairs), x));
  CHECK(rotary(zeros({5, 0}), zeros({5, 0}), zeros({5, 0}), pairs).shape() == Shape{5, 0});
}

TEST_CASE("rotary throws when cosine and sine do not fit") {
  const Tensor x = zeros({2, 5, 4});
  check_messages(
      {{"rotary: x float32 (2, 5, 4) needs cosine and sine of its dtype that broadcast to (..., 5, r / 2), r <= 4; "
        "got (5, 3) and (5, 3)",
        [&] {
          rotary(x, zeros({5, 3}), zeros({5, 3}), RotaryPairs::halves);
        }},
       {"rotary: x float32 (4) needs cosine and sine of its dtype that broadcast to (..., T, r / 2), r <= 4; got (2) "
        "and (2)",
        [] { rotary(zeros({4}), zeros({2}), zeros({2}), RotaryPairs::halves); }},
       {"rotary: x float32 () needs cosine and sine of its dtype that broadcast to (..., T, r / 2), r <= d; got (2) "
        "and (2)",
        [] { rotary(zeros({}), zeros({2}), zeros({2}), RotaryPairs::halves); }},
       {"rotary: cosine and sine must be constants", [&] {
          rotary(x, variable(zeros({5, 2})), zeros({5, 2}), RotaryPairs::halves);
        }}});
}
