#include "views/curves_view.h"

#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/run/log.h>

#include <algorithm>
#include <cmath>
#include <fstream>

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

TEST_CASE("Curves go from their smallest to their largest step, whatever the order and the size of the steps") {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "mine");
  for (const auto& [first, second] : {std::pair{"2", "1"}, {"5", "1"}, {"9000000000000000000", "0"}}) {
    std::ofstream(scratch / "mine/metrics.jsonl")
        << "{\"step\":" << first << ",\"loss\":1}\n{\"step\":" << second << ",\"loss\":2}\n";
    const std::string text = curves_view(curves_of(scratch / "mine", ""), {});
    CAPTURE(text);
    CHECK(text.find("loss          2          1          2          1  █") != text.npos);
    CHECK(text.ends_with(fmt::format("steps {} to {}\n", second, first)));
  }
}

TEST_CASE("curves_svg draws a panel per name, and one for all parameters") {
  const auto curve = [](const std::string& name, std::vector<double> values) {
    Curve made{name, {}};
    for (std::size_t i = 0; i < values.size(); ++i) made.points.emplace_back(10 * i, values[i]);
    return made;
  };
  const auto count = [](const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  std::vector<Curve> curves{curve("loss", {3, 2, 1}), curve("update/a.weight", {1e-3, 1, 2})};
  for (int i = 0; i < 8; ++i) curves.push_back(curve(fmt::format("gradient/{}<w>", i), {1, 2, 3}));
  const std::string svg = curves_svg(curves, "runs/a & b");
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.find("<title>runs/a &amp; b</title>") != svg.npos);
  CHECK(count(svg, "<polyline") == 10);
  CHECK(count(svg, "<rect width=\"280\"") == 3);  // loss, update, gradient
  CHECK(svg.find("points=\"0.0,0.0 140.0,65.0 280.0,130.0\"><title>loss</title>") != svg.npos);
  CHECK(svg.find(">update (logarithmic)</text>") != svg.npos);
  CHECK(svg.find(">5&lt;w&gt;</text>") != svg.npos);
  CHECK(svg.find(">6&lt;w&gt;</text>") == svg.npos);
  CHECK(svg.find(">and 2 more, named where the pointer rests</text>") != svg.npos);
  CHECK(count(curves_svg({curve("a", {1, NAN, 2, 3}), curve("a/b", {NAN, NAN})}, ""), "<polyline") == 2);
  Curve steps{"long", {}};
  for (int step = 0; step < 100'000; ++step) steps.points.emplace_back(step, step % 2);
  const std::string thinned = curves_svg({steps}, "");
  CHECK(thinned.size() < 6000);
  CHECK(thinned.find(",65.0") != thinned.npos);  // means of 0 and 1
}
