#include "tests/views/helpers.h"
#include "views/view.h"

using namespace heed;

TEST_CASE("matrix_view shows figures and shades under words") {
  CHECK("\n" + matrix_view(english, choosing(2, 1)) == R"(
step 400: each row is a query, each column a key

layer 2 head 1, in hundredths
        The   anim… didn… cross the   stre… beca… it    was   too   tired
The     100██   0     0     0     0     0     0     0     0     0     0
animal    0   100██   0     0     0     0     0     0     0     0     0
didn't    0     0   100██   0     0     0     0     0     0     0     0
cross     0     0     0   100██   0     0     0     0     0     0     0
the       0     0     0     0   100██   0     0     0     0     0     0
street    0     0     0     0     0   100██   0     0     0     0     0
because   0     0     0     0     0     0   100██   0     0     0     0
it        0    93██   0     1     0     3     0     1     2     0     0
was       0     0     0     0     0     0     0     0   100██   0     0
too       0     0     0     0     0     0     0     0     0   100██   0
tired     0     0     0     0     0     0     0     0     0     0   100██
)");
  CHECK("\n" + matrix_view(chinese, {}) == R"(
step 400: each row is a query, each column a key

layer 1 head 1, in hundredths
     苹果     很       甜
苹果 100█████   0        0
很     0      100█████   0
甜    50▓▓▓▓▓  12░░░░░  38▒▒▒▒▒
)");
}

TEST_CASE("matrix_view heads narrow columns with numbers") {
  CHECK("\n" + matrix_view(long_dump(16, 3), at_width(60)) == R"(
step 0: each row is a query, each column a key

layer 1 head 1
       1           5              10             15
1 w1   ███
2 w2      ███
3 w3         ███
4 w4            ███
5 w5               ███
6 w6                  ███
7 w7                     ███
8 w8                        ███
9 w9                           ███
10 w10                            ███
11 w11                               ███
12 w12                                  ███
13 w13                                     ███
14 w14                                        ███
15 w15                                           ███
16 w16                                              ███
)");
}

TEST_CASE("matrix_view shows the block around the query when not all fits") {
  const std::string text = matrix_view(long_dump(60, 40), at_width(80));
  CHECK(text.find("layer 1 head 1: only tokens 23 to 58 of 60 fit in 80 columns\n") != std::string::npos);
  CHECK(text.find("41 w41") != std::string::npos);
  CHECK(text.find("22 w22") == std::string::npos);
  check_width(text.substr(text.find('\n')), 80);
  CHECK(matrix_view(long_dump(60, 0), at_width(80)).find("tokens 1 to 36 of 60") != std::string::npos);
}

TEST_CASE("matrix_view paints cells on a terminal with colours") {
  View view = choosing(2, 1);
  view.terminal.colour = true;
  CHECK(matrix_view(english, view).find("\x1b[48;5;226;38;5;16m  100 \x1b[0m") != std::string::npos);
}

TEST_CASE("matrix_view shows the strongest head of a large model, below its sentence") {
  const std::string text = matrix_view(large_dump(), {});
  CHECK(text.find("\nThe animal didn't cross the street because it was too tired\n\nlayer 6 head 8, in hundredths\n") !=
        std::string::npos);
  CHECK(text.find("head 7") == std::string::npos);
  CHECK(
      text.ends_with("\nShown: 1 of 48 heads, those with the most weight on the antecedent. --layer "
                     "6\nshows all of layer 6.\n"));
  CHECK(matrix_view(large_dump(), choosing({}, 3)).find("layer 1 head 3") != std::string::npos);
  check_width(matrix_view(large_dump(), at_width(40)), 40);
}
