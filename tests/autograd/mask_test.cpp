#include "tests/autograd/helpers.h"

using namespace heed;

TEST_CASE("Mask::window is a band around the query's own key, aligned at the start or the end") {
  const auto hidden = [](const Mask& mask, std::int64_t T_q, std::int64_t T_k) {
    const Booleans array = mask.hidden(T_q, T_k);
    return std::vector<int>(array.data(), array.data() + array.numel());
  };
  using Hidden = std::vector<int>;
  CHECK(hidden(Mask::causal(), 2, 3) == Hidden{0, 0, 1, 0, 0, 0});
  CHECK(hidden(Mask::causal(Mask::Align::start), 2, 3) == Hidden{0, 1, 1, 0, 0, 1});
  CHECK(hidden(Mask::window(1, 0), 3, 3) == Hidden{0, 1, 1, 0, 0, 1, 1, 0, 0});
  CHECK(hidden(Mask::window(0, 1), 3, 3) == Hidden{0, 0, 1, 1, 0, 0, 1, 1, 0});
  CHECK(hidden(Mask::window(1, 0), 1, 4) == Hidden{1, 1, 0, 0});
  CHECK(hidden(Mask::window(1, 1) & Mask::causal(), 3, 3) == hidden(Mask::window(1, 0), 3, 3));
  CHECK(hidden(Mask::window(0, 0, Mask::Align::start), 3, 2) == Hidden{0, 1, 1, 0, 1, 1});
  CHECK(message([] { Mask::causal() & Mask::causal(Mask::Align::start); }) ==
        "mask: cannot combine bands with different alignments, one at the start and one at the end");
  CHECK(message([] { Mask::window(-1, 0); }) == "Mask::window: expected numbers of keys of at least 0, got -1 and 0");
}

TEST_CASE("Masks hide later keys and padding, and & hides every key that either mask hides") {
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
  CHECK((both.has_band() && both.has_visible()));
  CHECK(both.hidden(2, 2).shape() == Shape{2, 1, 2, 2});
  CHECK(hidden(both, 2, 2) == std::vector{0, 1, 0, 0, 0, 1, 0, 1});
  CHECK(hidden(padding & Mask(Booleans({2}, {0, 1})), 2, 2) == std::vector{1, 0, 1, 1});
}

TEST_CASE("Wrong use of a mask throws an Error that states what was expected") {
  check_messages({{"Mask::padding: length 4 of sequence 1 lies outside [0, 3]",
                   [] {
                     Mask::padding(std::vector{1, 4}, 3);
                   }},
                  {"Mask::hidden: a mask of shape (3, 3) does not fit scores of shape (1, 3)",
                   [] {
                     Mask(Booleans({3, 3}, std::vector<std::uint8_t>(9, 1))).hidden(1, 3);
                   }},
                  {"Mask::hidden: a mask of shape (2, 1, 1, 4) does not fit scores of shape (5, 1)", [] {
                     (Mask::padding(std::vector{2, 3}, 4) & Mask::causal()).hidden(5, 1);
                   }}});
}
