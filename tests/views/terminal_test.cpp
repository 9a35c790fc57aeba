#include "views/terminal.h"

#include "tests/catch.h"
#include "views/view.h"

#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

using namespace heed;

TEST_CASE("a bar is as long as its value, in eighths of a column") {
  CHECK(bar(0, 8) == "");
  CHECK(bar(1, 8) == "████████");
  CHECK(bar(0.5, 8) == "████");
  CHECK(bar(1.0 / 64, 8) == "▏");
  CHECK(bar(0.93, 8) == "███████▌");
  CHECK(bar(7.0 / 8, 1) == "▉");
  CHECK(bar(2, 3) == "███");
  CHECK(bar(-1, 3) == "");
}

TEST_CASE("cells fill their columns and grow darker with the value") {
  const Terminal plain;
  CHECK(heat_cell(0, "", 3, plain) == "   ");
  CHECK(heat_cell(0.1, "", 3, plain) == "░░░");
  CHECK(heat_cell(0.35, "", 3, plain) == "▒▒▒");
  CHECK(heat_cell(0.65, "", 3, plain) == "▓▓▓");
  CHECK(heat_cell(1, "", 3, plain) == "███");
  CHECK(heat_cell(1, "100", 6, plain) == "100██ ");
  CHECK(heat_cell(1, "100", 3, plain) == "███");
  CHECK(signed_cell(1, plain) == " █");
  CHECK(signed_cell(-1, plain) == "-█");
  CHECK(signed_cell(-0.01, plain) == "  ");

  const Terminal coloured{80, true};
  CHECK(heat_cell(0, "  0", 5, coloured) == "\x1b[48;5;234;38;5;255m   0 \x1b[0m");
  CHECK(heat_cell(1, "", 2, coloured) == "\x1b[48;5;226;38;5;16m  \x1b[0m");
  CHECK(signed_cell(-1, coloured) == "\x1b[48;5;27;38;5;16m  \x1b[0m");
  CHECK(signed_cell(1, coloured) == "\x1b[48;5;196;38;5;16m  \x1b[0m");
  CHECK(highlighted("it", coloured) == "\x1b[1;32mit\x1b[0m");
  CHECK(highlighted("it", plain) == "it");
}

TEST_CASE("trimmed drops spaces at the end only") {
  CHECK(trimmed("  a b  ") == "  a b");
  CHECK(trimmed("   ") == "");
  CHECK(trimmed("") == "");
}

TEST_CASE("terminal_of takes the width from COLUMNS, or 80, and no colour without a terminal") {
  const int file = open("/dev/null", O_WRONLY);
  const char* columns = std::getenv("COLUMNS");
  const std::string saved = columns ? columns : "";
  const auto width = [&](const char* value) {
    setenv("COLUMNS", value, 1);
    return terminal_of(file).width;
  };
  CHECK(width("") == 80);
  CHECK(width("wide") == 80);
  CHECK(width("132") == 132);
  CHECK(width("3") == 40);
  CHECK_FALSE(terminal_of(file).colour);
  columns ? setenv("COLUMNS", saved.c_str(), 1) : unsetenv("COLUMNS");
  close(file);
}

TEST_CASE("wrapped breaks a line at spaces") {
  CHECK(wrapped("one two three", 80) == "one two three");
  CHECK(wrapped("one two three", 7) == "one two\nthree");
  CHECK(wrapped("  one two  three", 9, 2) == "  one two\n  three");
  CHECK(wrapped("苹果 很 甜", 7) == "苹果 很\n甜");
  CHECK(wrapped("longer than five", 5) == "longer\nthan\nfive");
  CHECK(wrapped("before 28.0 % ± 6.3 of 200", 10) == "before\n28.0 % ± 6.3\nof 200");
  CHECK(wrapped("it is 100 %", 8) == "it is\n100 %");
  CHECK(wrapped("one two  ", 8) == "one two");  // no line of spaces
}

TEST_CASE("share_row puts the name on a separate line if the terminal is narrow") {
  const Interval share{0.5, 0.45, 0.55};
  CHECK(share_row("a coin", share, {.width = 80}) ==
        "  a coin                                      50.0 %   45.0 to 55.0\n");
  CHECK(share_row("the nearest of all the candidates", share, {.width = 40}) ==
        "  the nearest of all the candidates\n            50.0 %   45.0 to 55.0\n");
  CHECK(share_row("a coin", 0.5, {.width = 40}) == "  a coin\n            50.0 %\n");
  CHECK(share_row("nothing", share_of({}), {}) == "");
  CHECK(share_row("few", {0.5, NAN, NAN}, {}).ends_with(" 50.0 %   unknown\n"));
}

TEST_CASE("percent and with_error write a value with half of its interval") {
  CHECK(percent(Interval{0.28, 0.21, 0.35}) == "28.0 % ± 7.0");
  CHECK(percent(Interval{0.28, 0.22, 0.349}) == "28.0 % (22.0 to 34.9)");
  CHECK(percent(Interval{0, 0, 0.434}) == "0.0 % (0.0 to 43.4)");
  CHECK(percent(Interval{0.97, 0.8, 1}) == "97.0 % (80.0 to 100.0)");
  CHECK(percent(share_of({})) == "-");
  CHECK(with_error({0.5, 0.475, 0.525}) == "0.50 ± 0.03");
  CHECK(with_error({0.66, -0.02, 0.95}) == "0.66 (-0.02 to 0.95)");
}
