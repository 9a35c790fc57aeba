#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

using namespace heed;

TEST_CASE("A composite operation reports errors under its own name") {
  const Tensor x = zeros({2, 3}), y = zeros({3, 2}), d = zeros({2, 3}, DType::float64);
  check_messages(
      {{"index_select: index 2 at position 1 lies outside [0, 2)",
        [&] {
          index_select(x, Ids({2}, {0, 2}), 0);
        }},
       {"stack: part 1 is float32 (3, 2); expected float32 (2, 3) like part 0",
        [&] {
          stack({x, y});
        }},
       {"stack: expected at least one tensor", [] { stack({}); }},
       {"stack: axis 3 is outside [-3, 3) for rank 3",
        [&] {
          stack({x, x}, 3);
        }},
       {"var: axis 2 is outside [-2, 2) for rank 2", [&] { var(x, {2}); }},
       {"var: correction must be finite and at least 0, got -1", [&] { var(x, {}, false, -1); }},
       {"norm: axis -2 is given twice for shape (2, 3)",
        [&] {
          norm(x, {0, -2});
        }},
       {"logsumexp: axis -3 is outside [-2, 2) for rank 2", [&] { logsumexp(x, {-3}); }},
       {"mean: input 0 is an undefined tensor", [] { mean(Tensor()); }},
       {"split: the sizes -1, 3 do not add up to axis 0 of shape (2, 3)",
        [&] {
          split(x, {-1, 3}, 0);
        }},
       {"sort: axis 2 is outside [-2, 2) for rank 2", [&] { sort(x, 2); }},
       {"accuracy: expected logits (..., C), C from 1 to 2^31 - 1, got ()", [] { accuracy(ones({}), Ids({}, {0})); }},
       {"einsum: both tensors must have one dtype, got float32 (2, 3) and float64 (2, 3); convert one with "
        "to(DType::float64)",
        [&] { einsum("ij,ij->i", x, d); }},
       {"einsum: 'abcdefgh,ijklmnop->abcdefghijklmnop': the result has 16 axes; expected at most 8",
        [] {
          const Tensor all = ones({1, 1, 1, 1, 1, 1, 1, 1});
          einsum("abcdefgh,ijklmnop->abcdefghijklmnop", all, all);
        }},
       {"unsqueeze: the result has 9 axes; expected at most 8",
        [] {
          unsqueeze(ones({1, 1, 1, 1, 1, 1, 1, 1}), 0);
        }},
       {"subtract: input 0 is an undefined tensor", [] { 1 - Tensor(); }},
       {"negate: input 0 is an undefined tensor", [] { -Tensor(); }},
       {"linear: input 1 is an undefined tensor", [&] { linear(x, {}, {}); }}});
}

TEST_CASE("Sizes larger than memory throw an Error with the operation's name") {
  const std::int64_t many = std::int64_t{1} << 56;  // floats: 2^58 bytes
  const std::string text = ": 288230376151711744 bytes are more than this machine can address";
  const Tensor one = ones({1}), row = broadcast_to(one, {many}), matrix = broadcast_to(ones({1, 1}), {many / 64, 64});
  Random random(1);
  check_messages(
      {{"exp" + text, [&] { exp(row); }},
       {"add" + text, [&] { row + one; }},
       {"where" + text, [&] { where(Booleans({1}, {1}), row, one); }},
       {"zeros" + text, [&] { zeros({many}); }},
       {"repeat" + text, [&] { repeat(one, {many}); }},
       {"pad: 288230376151711748 bytes are more than this machine can address", [&] { pad(one, 0, many, 0); }},
       {"concat: 576460752303423488 bytes are more than this machine can address",
        [&] {
          concat({row, row}, 0);
        }},
       {"tril" + text, [&] { tril(matrix); }},
       {"one_hot" + text, [&] { one_hot(Ids({1}, {0}), many); }},
       {"einsum: 4611686018427387904 bytes are more than this machine can address",
        [&] {
          const Tensor part = broadcast_to(one, {std::int64_t{1} << 30});
          einsum("i,j->ij", part, part);
        }},
       {"arange: 4611686018427387904 bytes are more than this machine can address", [] { arange(0, 0x1p60); }},
       {"random_uniform" + text, [&] { random_uniform({many}, random); }},
       {"random_normal" + text, [&] { random_normal({many}, random); }},
       {"random_normal: sizes must not be negative, got (-1)", [&] { random_normal({-1}, random); }},
       {"random_ids: out of memory: (72057594037927936) needs 72057594037927936 values of 4 bytes each",
        [&] { random_ids({many}, random, 2); }},
       {"<: out of memory: (4611686018427387904) needs 4611686018427387904 values of 1 byte each",
        [&] { return broadcast_to(one, {(std::int64_t{1} << 62)}) < one; }},
       {"repeat: (2) times 4611686018427387904 is more than 2^63 - 1 elements along an axis",
        [] { repeat(ones({2}), {(std::int64_t{1} << 62)}); }},
       {"arange_ids: from -2147483648 to 2147483647 are 4294967295 numbers; expected at most 2^31 - 1",
        [] { arange_ids(std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()); }}});
}
