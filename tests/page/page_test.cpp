#include "inspect/page/page.h"

#include "browser.h"
#include "open.h"

#include <heed/version.h>

#include <algorithm>
#include <chrono>
#include <thread>

using namespace heed;

namespace {

// Returns the file that a button of the visible picture saves.
std::string kept(Browser& chromium, const std::string& kind, const std::string& name) {
  const std::filesystem::path file = chromium.downloads() / name;
  std::filesystem::remove(file);
  chromium.click("viewNow().figures.at(-1).tools.querySelector('[aria-label=\"Save as " + kind + "\"]')");
  for (int i = 0; i < 500 && !std::filesystem::exists(file); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return read_file(file);
}

}  // namespace

TEST_CASE("Every view opens without messages or requests, in both themes and two widths") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  for (const int width : {1280, 400}) {
    chromium->open(page.file, width, width == 400);
    CHECK(chromium->run("isDark()") == (width == 400));
    for (const std::string& view : views_of(*chromium)) {
      INFO(view << " in " << width);
      show(*chromium, view);
      CHECK(chromium->text("document.querySelector('[aria-selected=true]').textContent") == view);
      CHECK(chromium->run("document.documentElement.scrollWidth <= document.documentElement.clientWidth") == true);
      if (view != "QK and OV") {  // tables only
        if (view == "Why") open_details(*chromium);
        chromium->wait_for(
            "document.querySelectorAll('#main .picture svg > *').length > 10 || "
            "document.querySelector('#main .notice') !== null");
      }
      CHECK(chromium->run("[...document.querySelectorAll('#main .picture svg')].every((s) => "
                          "s.getAttribute('aria-label').length > 10)") == true);
    }
    chromium->click("document.querySelector('.theme')");
    CHECK(chromium->run("isDark()") == (width != 400));
    CHECK(chromium->complaints() == std::vector<std::string>{});
  }
}

TEST_CASE("The page blocks scripts and styles that are not its own, and all requests") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  chromium->open(page.file);
  const auto violated = [&](const std::string& attempt) {
    return chromium->text(
        "new Promise((done) => { addEventListener('securitypolicyviolation', (event) => "
        "done(event.effectiveDirective), {once: true}); " +
        attempt + " })");
  };
  CHECK(violated(
            "{ const s = document.createElement('script'); s.textContent = 'hacked = 1'; document.body.append(s); }") ==
        "script-src-elem");
  CHECK(violated(
            "document.body.append(Object.assign(document.createElement('style'), {textContent: '*{color:red}'}));") ==
        "style-src-elem");
  CHECK(violated("fetch('https://example.org/').catch(() => 0);") == "connect-src");
  CHECK(violated("new Image().src = 'https://example.org/a.png';") == "img-src");
  CHECK(chromium->run("typeof hacked") == "undefined");
}

TEST_CASE("The slider shows each dumped step, by pointer, by key and by playing") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  chromium->open(page.file, 1280, false, "#layer=2&head=1");
  const auto weights = [&] { return chromium->run("Array.from(subject().attention.of(1, 0))"); };
  const auto close_to = [&](std::int64_t step) {
    const Tensor layer = read_dump(dump_path(page.path / "run", step)).sentences[0].layers[1];
    return largest_difference(weights(), slice(layer, 0, 0, 1).to_vector()) < 5.1e-5;
  };
  CHECK(chromium->text("document.querySelector('.step').textContent") == "step 400");
  CHECK(close_to(400));
  chromium->run("document.querySelector('.slider input').focus()");
  chromium->press("ArrowLeft");
  CHECK(chromium->text("document.querySelector('.step').textContent") == "step 0");
  CHECK(close_to(0));
  CHECK_FALSE(close_to(400));
  CHECK(chromium->text("document.querySelector('.curves svg').getAttribute('aria-label')") ==
        "Loss 3.100 and accuracy 0.0 % at step 0");
  chromium->click("document.querySelector('.play')");
  chromium->wait_for("document.querySelector('.step').textContent === 'step 400' && !state.playing");
  chromium->click("document.querySelector('.curves svg')", 0.05, 0.5);
  CHECK(chromium->text("document.querySelector('.step').textContent") == "step 0");
}

TEST_CASE("Pointer and arrow keys select tokens and read weights") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  const Dump dump = read_dump(dump_path(page.path / "run", 400));
  const auto figure = [&](int i, int j) { return fmt::format("{:.3f}", dump.sentences[0].layers[1].at({0, i, j})); };
  chromium->open(page.file, 1280, false, "#layer=2&head=1");
  CHECK(chromium->text("document.querySelector('.sentence').textContent").starts_with(animal));
  chromium->run("document.querySelector('#main .picture').focus()");
  chromium->press("ArrowUp");
  CHECK(chromium->run("state.token") == 6);
  chromium->click("document.querySelectorAll('.token-left')[2]");
  CHECK(chromium->run("state.token") == 2);
  CHECK(
      chromium->text("document.getElementById('announcements').textContent").starts_with("layer 2 head 1: because → "));

  show(*chromium, "All heads");
  const auto cell = [&](int i, int j) {
    const Json place = chromium->run(
        "(() => { const {box, maps: [map], width, height} = viewNow().figures[1]; box.scrollIntoView({block: "
        "'center'}); return [map, width, height]; })()");
    const Json& map = place[0];
    const double x = map["x"].get<double>() + (j + 0.5) * map["width"].get<double>() / 11;
    const double y = map["y"].get<double>() + (i + 0.5) * map["height"].get<double>() / 11;
    chromium->point_at("viewNow().figures[1].box", x / place[1].get<double>(), y / place[2].get<double>());
    return chromium->text("viewNow().figures[1].tip.textContent");
  };
  CHECK(cell(7, 1) == "it → animal " + figure(7, 1));
  CHECK(cell(10, 0) == "tired → The " + figure(10, 0));
  chromium->run("viewNow().figures[1].box.focus()");
  chromium->press("ArrowDown");
  chromium->press("ArrowDown");
  chromium->press("ArrowRight");
  CHECK(chromium->text("document.getElementById('announcements').textContent") == "animal → animal " + figure(1, 1));

  chromium->click("document.querySelector('#main summary')");
  CHECK(chromium->text("document.querySelector('#main .as-table table').rows[8].cells[2].textContent") == figure(7, 1));
  // Redrawing keeps the focus.
  show(*chromium, "Sentence");
  chromium->run(
      "(() => { const head = document.querySelector('#main [aria-label=\"layer 2 head 2\"]'); head.focus(); "
      "head.click(); })()");
  chromium->settle();
  CHECK(chromium->run("state.head") == 1);
  CHECK(chromium->text("document.activeElement.getAttribute('aria-label')") == "layer 2 head 2");
  CHECK(chromium->text("document.activeElement.getAttribute('aria-pressed')") == "true");
  show(*chromium, "All heads");
  chromium->click("document.querySelectorAll('#main .head')[1]");
  CHECK((chromium->run("state.layer") == 0 && chromium->run("state.head") == 1));
  CHECK(chromium->text("viewNow().figures[1].svg.querySelector('text').textContent") == "layer 1 head 2");
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("A change in a view keeps its elements and their scroll positions") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  chromium->open(page.file, 390, false, "#view=calculation&layer=1&head=1");
  const std::string scrolled = "document.querySelector('#panel .scroll').scrollLeft";
  chromium->run(scrolled + " = 200");
  chromium->run("chooseOneHead(1, 1)");
  chromium->settle();
  CHECK(chromium->text("document.querySelector('#panel .says').textContent").find("layer 2 head 2") !=
        std::string::npos);
  CHECK(chromium->run(scrolled) == 200);
}

TEST_CASE("Each picture can be saved as SVG, PNG and CSV, with the seed and the version") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  write_file(page.path / "run/config.yaml", "task: x\nseed: 7\n");
  write_file(page.file, heed::page({page_run(page.path / "run")}));
  const Dump dump = read_dump(dump_path(page.path / "run", 400));
  chromium->open(page.file, 1280, true, "#layer=2&head=1");
  show(*chromium, "All heads");
  const std::string name =
      "run-step-400-layer-2-head-1-the-animal-didn-t-cross-the-street-because-it-was-too-tired-head";
  const std::string svg = kept(*chromium, "SVG", name + ".svg");
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(svg.find(">head · run · step 400 · layer 2 head 1 · " + std::string(animal) + " · seed 7 · heed " +
                 HEED_VERSION + "<") != std::string::npos);
  CHECK(svg.find("fill=\"#ffffff\"") != std::string::npos);  // light in both themes
  CHECK(svg.find("#10141a") == std::string::npos);
  CHECK(chromium->run("isDark()") == true);
  // Text is positioned without dominant-baseline, and legends are gradients.
  CHECK(svg.find("dominant-baseline") == std::string::npos);
  CHECK(svg.find("dy=\"0.35em\"") != std::string::npos);
  CHECK(svg.find("linearGradient") != std::string::npos);
  CHECK(svg.find(">animal<") != std::string::npos);
  CHECK(chromium
            ->run("(() => { const parsed = new DOMParser().parseFromString(viewNow().figures.at(-1).svgText(), "
                  "'image/svg+xml'); "
                  "return [parsed.querySelector('parsererror'), parsed.querySelectorAll('rect').length >= 121]; })()")
            .dump() == "[null,true]");
  const std::string png = kept(*chromium, "PNG", name + ".png");
  CHECK(png.starts_with("\x89PNG\r\n"));
  CHECK(png.size() > 10'000);
  const std::string csv = kept(*chromium, "CSV", name + ".csv");
  CHECK(csv.starts_with("layer,head,from,to,query token,key token,weight\r\n2,1,1,1,The,The," +
                        fmt::format("{:.3f}\r\n", dump.sentences[0].layers[1].at({0, 0, 0}))));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 122);
  for (const std::string& view : views_of(*chromium)) {
    INFO(view);
    show(*chromium, view);
    CHECK(chromium->run(
              "[...document.querySelectorAll('#main .keep')].every((tools) => tools.children.length === 3)") == true);
    // "Why" has no picture without held-out sentences, and "QK and OV" has tables.
    const bool has_pictures = view != "Why" && view != "QK and OV";
    CHECK(chromium->run("document.querySelectorAll('#main .keep').length > 0") == has_pictures);
    CHECK(chromium->run("Promise.all(viewNow().figures.filter(({svg}) => svg.isConnected).map((one) => one.pngBlob()))"
                        ".then((blobs) => blobs.every(({size}) => size > 1000))") == true);
  }
  CHECK(chromium->complaints() == std::vector<std::string>{});
}
