#include "browser.h"
#include "inspect/page/page_curves.h"
#include "open.h"

#include <heed/run/log.h>

#include <cmath>
#include <limits>

using namespace heed;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// A page of two logs, with norms by layer, a number that is not finite, and names that markup would misread.
struct CurvesPage : Scratch {
  std::filesystem::path file = path / "page.html";
  CurvesPage() {
    Log one(path / "one"), two(path / "two");
    for (int step = 0; step < 50; ++step) {
      const double loss = step == 20 ? infinity : 1000.0 / (1 + step * step);
      one.write(10 * step, {{"loss", loss},
                            {"gradient/a.weight", 0.1 + step},
                            {"gradient/</script><b>", 3},
                            {"accuracy", -0.125 * step}});
      two.write(20 * step, {{"loss", 500.0 / (1 + step)}});
    }
    write_file(file, page(page_curves({path / "one", path / "two"})));
  }
};

const std::string headings = "[...document.querySelectorAll('.panels h2')].map((one) => one.textContent)";
std::string picture_of(int panel) {
  return fmt::format("document.querySelectorAll('.panels .picture > svg')[{}]", panel);
}
std::string tip_of(int panel) {
  return fmt::format("document.querySelectorAll('.panels .tip')[{}].textContent", panel);
}
std::string numbers_of(int panel) {
  return fmt::format(
      "[...document.querySelectorAll('.panels .names')[{}].querySelectorAll('.at')].map((one) => one.textContent)",
      panel);
}
std::string axis_of(int panel) {
  return fmt::format("[...{}.querySelectorAll('text')].map((one) => one.textContent)", picture_of(panel));
}

}  // namespace

TEST_CASE("A page of logs draws a panel per name, and tells exact numbers to pointer and keyboard") {
  Browser* chromium = browser();
  if (!chromium) return;
  const CurvesPage logs;
  for (const auto& [width, is_dark] : {std::pair{390, true}, std::pair{1440, false}}) {
    chromium->open(logs.file, width, is_dark);
    CHECK(chromium->run(headings) == Json({"loss (logarithmic)", "gradient (logarithmic)", "accuracy"}));
    CHECK(chromium->run("document.documentElement.scrollWidth <= innerWidth") == true);
  }
  CHECK(chromium->run("document.querySelectorAll('.panels path.lost-numbers').length") == 1);
  CHECK(chromium->run(numbers_of(1)) == Json({"49.1", "3"}));
  CHECK(chromium->run(numbers_of(0)) == Json({"0.41632", "10"}));
  chromium->run(picture_of(2) + ".focus()");
  CHECK(chromium->text(tip_of(2)) == "accuracy · one −6.125, step 490");
  chromium->press("Home");
  CHECK(chromium->text(tip_of(2)) == "accuracy · one 0, step 0");
  chromium->press("ArrowRight");
  CHECK(chromium->text(tip_of(2)) == "accuracy · one −0.125, step 10");
  CHECK(chromium->text("document.getElementById('announcements').textContent") == "accuracy · one −0.125, step 10");
  chromium->run(picture_of(0) + ".focus()");
  chromium->press("Home");
  CHECK(chromium->text(tip_of(0)) == "loss · one 1000, step 0");
  chromium->press("ArrowDown");
  CHECK(chromium->text(tip_of(0)) == "loss · two 500, step 0");
  chromium->point_at(picture_of(1), 0.99, 0.1);
  CHECK(chromium->text(tip_of(1)) == "a.weight · one 49.1, step 490");
  CHECK(chromium->run(axis_of(2)) == Json({"−6", "−4", "−2", "0", "step 0", "step 490"}));
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The link of a page of logs holds what is chosen, and an unknown name in it is said") {
  Browser* chromium = browser();
  if (!chromium) return;
  const CurvesPage logs;
  chromium->open(logs.file);
  choose(*chromium, "Scale", 1);
  chromium->run(
      "(() => { const field = document.querySelector('input[type=search]'); field.value = 'o'; "
      "field.dispatchEvent(new Event('input')); })()");
  chromium->click("[...document.querySelectorAll('.controls button')].find((one) => one.textContent === 'two')");
  chromium->wait_for("location.hash === '#only=o&scale=linear&hidden=2'");
  chromium->open(logs.file, 1280, false, "#only=o&scale=linear&hidden=2");
  CHECK(chromium->run(headings) == Json({"loss"}));
  CHECK(chromium->run("document.querySelectorAll('.names > div').length") == 1);
  chromium->open(logs.file, 1280, false, "#scale=wide&hidden=9&only=nothing&language=zh");
  CHECK(chromium->text("document.querySelector('.lost').textContent").ends_with("刻度 wide; 运行 9"));
  CHECK(chromium->text("document.querySelector('.notice').textContent") == "没有名称包含“nothing”。");
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("Smoothing draws the moving average over each curve, and numbers stay exact") {
  Browser* chromium = browser();
  if (!chromium) return;
  const CurvesPage logs;
  chromium->open(logs.file);
  CHECK(chromium->run("smoothed({values: [1, null, 3]}, 0.6).values") == Json({1, nullptr, 2.25}));
  const std::string paths = picture_of(2) + ".querySelectorAll('path:not(.lost-numbers)')";
  const Json before = chromium->run(paths + ".length");
  choose(*chromium, "Smoothing", 2);
  chromium->wait_for("location.hash === '#smoothing=0.9'");
  CHECK(chromium->run(paths + ".length") == 2 * before.get<int>());
  CHECK(chromium->run("document.querySelectorAll('.panels path.lost-numbers').length") == 1);
  chromium->run(picture_of(2) + ".focus()");
  CHECK(chromium->text(tip_of(2)) == "accuracy · one −6.125, step 490");
  chromium->open(logs.file, 1280, false, "#smoothing=0.99");
  CHECK(chromium->run(paths + ".length") == 2 * before.get<int>());
  chromium->open(logs.file, 1280, false, "#smoothing=2");
  CHECK(chromium->text("document.querySelector('.lost').textContent").ends_with("Smoothing 2"));
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The axis of a curve has at least three numbers, which differ in a narrow range, or that of a constant") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Scratch place;
  Log log(place / "log");
  for (int step = 0; step < 4; ++step) {
    log.write(step, {{"narrow", 1000.1 + 0.1 * step},
                     {"constant", 0},
                     {"small", 1e-5 * (1 + step)},
                     {"all", step < 2 ? -1e308 : 1e308},
                     {"falling", std::pow(10, -4 * step)}});
  }
  write_file(place / "page.html", page(page_curves({place / "log"})));
  chromium->open(place / "page.html");
  CHECK(chromium->run(axis_of(0)) == Json({"1000.1", "1000.2", "1000.3", "1000.4", "step 0", "step 3"}));
  CHECK(chromium->run(axis_of(1)) == Json({"0", "step 0", "step 3"}));
  CHECK(chromium->run(axis_of(2)) == Json({"1e−5", "2e−5", "3e−5", "4e−5", "step 0", "step 3"}));
  CHECK(chromium->run(axis_of(3)) == Json({"−1e+308", "0", "1e+308", "step 0", "step 3"}));
  CHECK(chromium->run(axis_of(4)) == Json({"1e−12", "1e−9", "1e−6", "0.001", "1", "step 0", "step 3"}));
  CHECK(chromium->run(numbers_of(2)) == Json({"4e−5"}));
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("A page of logs holds single points, constants, and any number of points and names") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Scratch place;
  Log single(place / "single"), many(place / "many");
  single.write(7, {{"a", 2.5}, {"b", -1e300}, {"c", std::nan("")}, {"日本/x", 0}});
  std::vector<std::pair<std::string, Scalar>> row;
  for (int i = 0; i < 300; ++i) row.emplace_back(fmt::format("n{}", i), i);
  many.write(0, row);
  std::string lines;
  for (int step = 1; step <= 100'000; ++step)
    lines += fmt::format("{{\"step\":{},\"n0\":{}}}\n", step, step == 54321 ? -9 : step % 7);
  write_file(place / "many/metrics.jsonl", read_file(place / "many/metrics.jsonl") + lines + "{\"step\":100001,\"n");
  const std::filesystem::path file = place / "page.html";
  write_file(file, page(page_curves({place / "single"})));
  chromium->open(file);
  CHECK(chromium->run(headings) == Json({"a", "b", "c", "日本"}));
  CHECK(chromium->run("[...document.querySelectorAll('.names .at')].map((one) => one.textContent)") ==
        Json({"2.5", "−1e+300", "not finite", "0"}));
  CHECK(chromium->complaints() == std::vector<std::string>{});
  const std::vector<PageRun> runs = page_curves({place / "many"});
  const Json& first = runs[0].description.at("curves")[0];
  CHECK(first.at("count") == 100'001);
  CHECK(first.at("values").size() < 2'001);
  CHECK(std::ranges::find(first.at("values"), Json(-9.0)) != first.at("values").end());
  write_file(file, page(runs));
  chromium->open(file);
  CHECK(chromium->run("document.querySelectorAll('.panels section').length") == 300);
  CHECK(chromium->text("document.getElementById('footer').textContent").find(" of 100,300 points, with the smallest") !=
        std::string::npos);
  CHECK(chromium->complaints() == std::vector<std::string>{});
}
