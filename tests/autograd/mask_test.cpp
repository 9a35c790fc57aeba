#include "tests/autograd/helpers.h"

using namespace heed;

TEST_CASE("A mask hides what is later, what is padding, and what either of two hides") {
  const auto hidden = [](const Mask& mask, std::int64_t T_q, std::int64_t T_k) {
    const Booleans all = mask.hidden(T_q, T_k);
    return std::vector<int>(all.data(), all.data() + all.numel());
  };
  CHECK(hidden({}, 2, 2) == std::vector{0});  // broadcasts
  CHECK(hidden(Mask::causal(), 2, 2) == std::vector{0, 1, 0, 0});
  CHECK(hidden(Mask::causal(), 2, 3) == std::vector{0, 0, 1, 0, 0, 0});  // the queries are the last
  const Mask padding = Mask::padding(std::vector{2, 1}, 2);
  CHECK(padding.visible().shape() == Shape{2, 1, 1, 2});
  CHECK(hidden(padding, 2, 2) == std::vector{0, 0, 0, 1});
  const Mask both = padding & Mask::causal();
  CHECK((both.is_causal() && both.has_visible()));
  CHECK(both.hidden(2, 2).shape() == Shape{2, 1, 2, 2});
  CHECK(hidden(both, 2, 2) == std::vector{0, 1, 0, 0, 0, 1, 0, 1});
  CHECK(hidden(padding & Mask(Booleans({2}, {0, 1})), 2, 2) == std::vector{1, 0, 1, 1});
}

TEST_CASE("Wrong use of a mask is an error that says what was expected") {
  check_messages({{"Mask::padding: length 4 of sequence 1 lies outside [0, 3]", [] {
                     Mask::padding(std::vector{1, 4}, 3);
                   }}});
}
