#include "browser.h"
#include "choosing.h"
#include "open.h"

#include <heed/formats/datasets/jsonl.h>

#include <array>
#include <cstdio>

using namespace heed;

namespace {

// axe-core's script from the Python package axe-core-python; empty when that is not installed.
std::string axe() {
  std::string path;
  FILE* answer = popen(
      "python3 -c 'import axe_core_python, os; print(os.path.dirname(axe_core_python.__file__), end=\"\")' "
      "2>/dev/null",
      "r");
  if (!answer) return "";
  std::array<char, 4096> block{};
  while (const std::size_t count = std::fread(block.data(), 1, block.size(), answer)) path.append(block.data(), count);
  pclose(answer);
  const std::filesystem::path file = std::filesystem::path(path) / "axe.min.js";
  return !path.empty() && std::filesystem::exists(file) ? read_file(file) : "";
}

}  // namespace

TEST_CASE("Every view passes axe-core, in both themes") {
  Browser* chromium = browser();
  if (!chromium) return;
  const std::string script = axe();
  if (script.empty()) {
    fmt::print("page: axe-core was not asked (pip install axe-core-python)\n");
    return;
  }
  const Model model = small_model();
  const Page page(model);
  // With causes, and the models of both steps.
  const std::filesystem::path run = page.path / "run";
  std::vector<Example> held_out = examples_of(model);
  for (Example& e : held_out) e.answer = "animal";
  write_jsonl(held_out_path(run), held_out);
  std::filesystem::create_directory(run / "models");
  Model first = small_model();
  first.step = 0;
  save_model(dumped_model_path(run, 0), first);
  write_file(page.file, heed::page({page_run(run)}));
  for (const bool dark : {false, true}) {
    chromium->open(page.file, 1280, dark);
    chromium->run(script + "; 0");
    for (const std::string& view : views_of(*chromium)) {
      INFO(view);
      show(*chromium, view);
      CHECK(chromium->run("axe.run().then(({violations, passes}) => passes.length < 10 ? ['nothing was looked at'] : "
                          "violations.map(({id, nodes}) => `${id}: ${nodes[0].html.slice(0, 160)}`))") ==
            Json::array());
    }
  }
}

TEST_CASE("For each kind of run, every view has a description and passes axe-core") {
  Browser* chromium = browser();
  if (!chromium) return;
  const std::string script = axe();
  const Scratch place;
  const Model chooses = choosing_model(), writes = small_model(decoder_of(modern_config())), answers = small_model();
  write_choosing_run(place / "chooses", chooses, counterparts());
  write_run(place / "writes", writes, {question(writes, animal)});
  write_run(place / "answers", answers, examples_of(answers));
  const std::vector<std::vector<std::string>> pages{{"chooses"}, {"writes"}, {"answers", "chooses"}};
  for (const std::vector<std::string>& runs : pages) {
    std::vector<PageRun> of_runs;
    for (const std::string& run : runs) of_runs.push_back(page_run(place / run, 2));
    write_file(place / "page.html", page(of_runs));
    chromium->open(place / "page.html");
    chromium->run(script + "; 0");
    for (const std::string& view : views_of(*chromium)) {
      INFO(runs.back() << ": " << view);
      show(*chromium, view);
      // The description is a separate line, the verdict, or the reason why the view is empty.
      CHECK(
          chromium->run("[...document.querySelectorAll('#panel .says, #panel .verdict, #panel .notice')].some((one) => "
                        "!one.hidden && one.textContent.length > 40)") == true);
      CHECK(chromium->run("[...document.querySelectorAll('#panel svg')].every((one) => "
                          "one.getAttribute('aria-label').length > 10)") == true);
      if (script.empty()) continue;
      CHECK(chromium->run("axe.run().then(({violations}) => violations.map(({id, nodes}) => "
                          "`${id}: ${nodes[0].html.slice(0, 160)}`))") == Json::array());
    }
    CHECK(chromium->complaints() == std::vector<std::string>{});
  }
}

TEST_CASE("Enter and Space toggle each head; Home and End go to the first and last view") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  chromium->open(page.file, 1280, false, "#view=all-heads&layer=2&head=1");
  const auto heads = [&](int head, const std::string& key) {
    chromium->run(fmt::format("document.querySelectorAll('#main .head')[{}].focus()", head));
    chromium->press(key);
    return chromium->text("key(state.layer, state.head)");
  };
  CHECK(heads(0, " ") == "0.0");
  CHECK(heads(3, "Enter") == "1.1");
  CHECK(heads(2, " ") == "1.0");
  CHECK(chromium->text("document.activeElement.getAttribute('aria-label')") == "layer 2 head 1: mixed attention");
  chromium->run("document.getElementById('tab-2').focus()");
  const auto tab = [&](const std::string& key) {
    chromium->press(key);
    return chromium->text("document.querySelector('[aria-selected=true]').textContent + document.activeElement.id");
  };
  CHECK(tab("End") == "QK and OVtab-7");
  CHECK(tab("ArrowRight") == "Sentencetab-0");
  CHECK(tab("ArrowLeft") == "QK and OVtab-7");
  CHECK(tab("Home") == "Sentencetab-0");
  CHECK(chromium->complaints() == std::vector<std::string>{});
}
