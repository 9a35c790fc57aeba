#include "tests/autograd/helpers.h"

#include <functional>

using namespace heed;

TEST_CASE("Wrong use of a tensor is an error that says what was expected") {
  const Tensor x = zeros({2, 3}), wide = x.to(DType::float64);
  const std::vector<std::pair<std::string, std::function<void()>>> cases{
      {"add: shapes (2, 3) and (2) do not broadcast: 3 != 2 at axis -1. Sizes must be equal, or one of them 1",
       [&] { x + ones({2}); }},
      {"multiply: both tensors must have one dtype, got float32 (2, 3) and float64 (2, 3)", [&] { x* wide; }},
      {"where: a is float32, b is float64", [&] { where(Booleans({}, {1}), x, wide); }},
      {"matmul: inner dimensions must match: (2, 3) x (2, 3): 3 != 2. Did you mean transpose(b)?",
       [&] { matmul(x, x); }},
      {"matmul: inner dimensions must match: (8, 12, 64) x (32, 64): 64 != 32. Did you mean transpose(b)?",
       [&] {
         matmul(zeros({8, 12, 64}), zeros({32, 64}));
       }},
      {"matmul: inner dimensions must match: (2, 3) x (4, 5): 3 != 4",
       [&] {
         matmul(x, zeros({4, 5}));
       }},
      {"matmul: expected matrices (..., n, k) x (..., k, m), got (2, 3) x (3)", [&] { matmul(x, zeros({3})); }},
      {"matmul: both tensors must have one dtype, got float32 x float64", [&] { matmul(x, transpose(wide)); }},
      {"matmul: shapes (2) and (3) do not broadcast: 2 != 3 at axis -1. Sizes must be equal, or one of them 1",
       [&] {
         matmul(zeros({2, 4, 5}), zeros({3, 5, 4}));
       }},
      {"linear: W (3, 4) needs a bias of shape (4) and its dtype, got (3)",
       [&] {
         linear(x, zeros({3, 4}), zeros({3}));
       }},
      {"sum: axis 2 is outside [-2, 2) for 2 axes", [&] { sum(x, {2}); }},
      {"sum: axis -2 is given twice for shape (2, 3)",
       [&] {
         sum(x, {0, -2});
       }},
      {"max: of no elements, for shape (2, 0)",
       [&] {
         max(zeros({2, 0}), {1});
       }},
      {"item: expected one element, got shape (2, 3)", [&] { x.item(); }},
      {"item: expected one element, got an undefined tensor", [&] { Tensor().item(); }},
      {"at: index (2, 0) lies outside shape (2, 3)",
       [&] {
         x.at({2, 0});
       }},
      {"at: index (1) lies outside shape (2, 3)", [&] { x.at({1}); }},
      {"tensor: expected float64, got float32", [&] { x.data<double>(); }},
      {"tensor: no value: the tensor is undefined", [] { Tensor().data<float>(); }},
      {"tensor: shape (2, 2) needs 4 values, got 3",
       [] {
         tensor({2, 2}, {1, 2, 3});
       }},
      {"tensor: sizes must not be negative, got (2, -1)",
       [] {
         zeros({2, -1});
       }},
      {"array: shape (2, 2) needs 4 values, got 3",
       [] {
         Ids({2, 2}, {1, 2, 3});
       }},
      {"shape: at most 8 axes, got one more than (1, 1, 1, 1, 1, 1, 1, 1)",
       [] {
         Shape({1, 1, 1, 1, 1, 1, 1, 1, 1});
       }},
      {"copy_from: expected shape (2, 3), got (3, 2)", [&] { x.clone().copy_from(transpose(x)); }},
      {"copy_from: the destination, of shape (3, 2), must be contiguous",
       [&] {
         transpose(x).copy_from(zeros({3, 2}));
       }},
      {"reshape: 6 elements of shape (2, 3) do not fill (4, -1)",
       [&] {
         reshape(x, {4, -1});
       }},
      {"reshape: 6 elements of shape (2, 3) do not fill (-1, -1)",
       [&] {
         reshape(x, {-1, -1});
       }},
      {"reshape: 6 elements of shape (2, 3) do not fill (7)", [&] { reshape(x, {7}); }},
      {"permute: expected each axis of (2, 3) once, got (0, 0)",
       [&] {
         permute(x, {0, 0});
       }},
      {"permute: expected each axis of (2, 3) once, got (0)", [&] { permute(x, {0}); }},
      {"permute: axis 5 is outside [-2, 2) for 2 axes",
       [&] {
         permute(x, {0, 5});
       }},
      {"transpose: axis -2 is outside [-1, 1) for 1 axes", [] { transpose(zeros({3})); }},
      {"slice: [1, 4) by 1 does not lie in axis 1 of shape (2, 3)", [&] { slice(x, 1, 1, 4); }},
      {"slice: [0, 2) by 0 does not lie in axis 0 of shape (2, 3)", [&] { slice(x, 0, 0, 2, 0); }},
      {"broadcast_to: (2, 3) does not broadcast to (3)", [&] { broadcast_to(x, {3}); }},
      {"concat: expected at least one tensor", [] { concat({}, 0); }},
      {"concat: part 1 is float32 (2, 2); expected float32 and sizes like (2, 3) but along axis 0",
       [&] {
         concat({x, zeros({2, 2})}, 0);
       }},
      {"concat: part 1 is float64 (2, 3); expected float32 and sizes like (2, 3) but along axis 0",
       [&] {
         concat({x, wide}, 0);
       }},
      {"softmax: expected at least one axis, got shape ()", [] { softmax(ones({})); }},
      {"layer_norm: x float32 (2, 3) needs gain and bias of shape (3) and its dtype, or neither",
       [&] { layer_norm(x, ones({3}), {}); }},
      {"cross_entropy: expected logits (N, C) and labels (N), got (2, 3) and (3)",
       [&] {
         cross_entropy(x, Ids({3}, {0, 0, 0}));
       }},
      {"cross_entropy: label 3 of row 1 lies outside [0, 3)",
       [&] {
         cross_entropy(x, Ids({2}, {0, 3}));
       }},
      {"cross_entropy: label_smoothing must lie in [0, 1), got 1",
       [&] {
         cross_entropy(x, Ids({2}, {0, 1}), {.label_smoothing = 1});
       }},
      {"embedding: id 2 at position 1 lies outside [0, 2)",
       [&] {
         embedding(x, Ids({2}, {0, 2}));
       }},
      {"embedding: expected a table (V, d), got (3)", [] { embedding(zeros({3}), Ids({1}, {0})); }},
      {"select_rows: position 3 of row 1 lies outside [0, 3)",
       [] {
         select_rows(zeros({2, 3, 1}), Ids({2}, {0, 3}));
       }},
      {"dropout: p must lie in [0, 1), got 1",
       [&] {
         Random random(0);
         dropout(x, 1, random);
       }},
      {"Mask::padding: length 4 of sequence 1 lies outside [0, 3]",
       [] {
         Mask::padding(std::vector{1, 4}, 3);
       }},
      {"attention: expected Q (..., T_q, d_k), K (..., T_k, d_k), V (..., T_k, d_v) of one dtype, got (2, 3), "
       "(2, 4), (2, 3)",
       [&] {
         attention(x, zeros({2, 4}), x);
       }},
      {"attention: a mask of shape (2, 2, 2) does not broadcast to the weights' (2, 2)",
       [&] {
         attention(x, x, x, Mask(Booleans({2, 2, 2}, std::vector<std::uint8_t>(8, 1))));
       }},
      {"view: shape (7) with strides (1) and offset 0 reaches outside the storage of 24 bytes",
       [&] { x.view({7}, {1}); }},
      {"variable: the tensor is undefined", [] { variable(Tensor()); }},
      {"set_threads: expected at least 1 thread, got 0", [] { set_threads(0); }},
  };
  for (const auto& [expected, function] : cases) CHECK(message(function) == expected);
}
