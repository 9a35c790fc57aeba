#include "views/curves_view.h"

#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/run/log.h>

#include <cmath>

using namespace heed;

TEST_CASE("curves_view draws the numbers of any run") {
  const Scratch scratch;
  Log log(scratch / "mine");
  for (int step = 0; step < 80; ++step) log.write(10 * step, {{"loss", 79 - step}, {"rate", 0.5}});
  log.write(800, {{"held-out", NAN}});
  const std::vector<Curve> curves = curves_of(log.path(), "");
  View view;
  view.terminal.width = 62;
  CHECK(curves_view(curves, view) ==
        "name          first   smallest    largest       last\n"
        "loss             79          0         79          0  █▇▆▅▄▃▂▁\n"
        "rate            0.5        0.5        0.5        0.5  ▅▅▅▅▅▅▅▅\n"
        "held-out        nan        nan        nan        nan\n"
        "steps 0 to 800\n");
  CHECK(curves_of(log.path(), "los").size() == 1);
  CHECK(format_json(curves_json(curves_of(log.path(), "held"))) ==
        "{\"held-out\":{\"steps\":[800],\"values\":[null]}}");
  CHECK(message([&] { curves_of(log.path(), "x"); }, log.path().string()) ==
        "FILE: metrics.jsonl has no numbers whose names contain 'x'");
}
