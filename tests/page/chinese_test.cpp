#include "browser.h"
#include "choosing.h"
#include "open.h"

#include <heed/formats/datasets/jsonl.h>

using namespace heed;

namespace {

// Returns the texts of the page that hold English: those with a word that is neither one of the models' nor a name.
constexpr const char* english_left = R"((() => {
  const names = 'heed svg png csv inspect json serve page dropout train runwriter jsonl limit set dump weights true data test held out softmax logit mlp holm english none run ' +
      'chooses writes answers model safetensors float';
  const known = new Set(names.split(' '));
  const add = (token) => token.toLowerCase().match(/[a-z]+/g)?.forEach((word) => known.add(word));
  content.runs.forEach(({name, sentences}, run) => {
    add(name);
    sentences.flatMap(({tokens}) => tokens).forEach(add);
    (engineOf(run)?.vocabulary ?? []).forEach(add);
  });
  const found = [];
  const look = (text) => text?.match(/[A-Za-z]{3,}/g)?.some((word) => !known.has(word.toLowerCase())) && found.push(text.slice(0, 200));
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    if (!['SCRIPT', 'NOSCRIPT', 'TEXTAREA'].includes(texts.currentNode.parentNode.tagName)) look(texts.currentNode.data);
  }
  document.querySelectorAll('body *').forEach((one) => ['aria-label', 'title', 'aria-valuetext'].forEach((name) => look(one.getAttribute(name))));
  return [...new Set(found)];
})())";

}  // namespace

TEST_CASE("For each kind of run, every view of the Chinese page is in Chinese") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Scratch place;
  const Model chooses = choosing_model(), writes = small_model(decoder_of(modern_config())), answers = small_model();
  write_choosing_run(place / "chooses", chooses, counterparts());
  write_run(place / "writes", writes, {question(writes, animal)});
  write_run(place / "answers", answers, examples_of(answers));
  std::vector<Example> held_out = examples_of(answers);
  for (Example& e : held_out) e.answer = "animal";
  write_jsonl(held_out_path(place / "answers"), held_out);
  std::filesystem::create_directory(place / "answers/models");
  Model first = small_model();
  first.step = 0;
  save_model(dumped_model_path(place / "answers", 0), first);
  const std::vector<std::vector<std::string>> pages{{"answers"}, {"chooses"}, {"writes"}, {"answers", "chooses"}};
  for (const std::vector<std::string>& runs : pages) {
    std::vector<PageRun> of_runs;
    for (const std::string& run : runs) of_runs.push_back(page_run(place / run, 2));
    write_file(place / "page.html", page(of_runs, "zh"));
    chromium->open(place / "page.html");
    CHECK(chromium->text("document.documentElement.lang") == "zh-Hans");
    for (const std::string& view : views_of(*chromium)) {
      INFO(runs.back() << ": " << view);
      show(*chromium, view);
      open_details(*chromium);
      chromium->run("document.querySelectorAll('#main details').forEach((one) => { one.open = true; })");
      chromium->run("new Promise((done) => setTimeout(done, 200))");  // for results that are computed in slices
      chromium->settle();
      CHECK(chromium->run(english_left) == Json::array());
    }
    CHECK(chromium->complaints() == std::vector<std::string>{});
  }
}

TEST_CASE("Each format of the program's sentences is translated with its values") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Scratch place;
  const Model model = small_model();
  write_run(place / "run", model, examples_of(model));
  write_file(place / "page.html", page({page_run(place / "run")}, "zh"));
  chromium->open(place / "page.html");
  CHECK(chromium->run(
            "Object.entries(programChinese).filter(([format, chinese]) => said(format.replaceAll('{}', '7')) !== "
            "chinese.replace(/\\{\\d\\}/g, '7'))") == Json::array());
  CHECK(chromium->text("said('Yes: without the edge from the query to the antecedent in layer 2 head 1, 95.6 % of the "
                       "advantage over chance is "
                       "lost (93.1 to 97.2); 23.0 % ± 2.6 of 1000 sentences are then answered right (before 100.0 %, "
                       "by chance 50.0 %).')") ==
        "是：在第 2 层第 1 头里切断从查询词到先行词的边，超出随机水平的部分失去 95.6 %（93.1 到 97.2）；1000 "
        "个句子答对 23.0 % ± 2.6，之前为 100.0 %，随机水平 50.0 %。");
  CHECK(chromium->text("said('Without that edge in every head of that layer, 99.1 % of the advantage over chance is "
                       "lost (97.0 to 101.2) over "
                       "1000 sentences.')") ==
        "在这一层的全部头里切断这条边，超出随机水平的部分失去 99.1 %（97.0 到 101.2），共 1000 个句子。");
  CHECK(chromium->text("said('a sentence without a translation')") == "a sentence without a translation");
}

TEST_CASE("A button and the URL switch the page's language; the view stays") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  const auto tab = [&] {
    return chromium->text(
        "document.querySelector('[aria-selected=true]').textContent + ' ' + state.layer + state.head");
  };
  chromium->open(page.file, 1280, false, "#view=all-heads&sentence=2&layer=1&head=2");
  CHECK(tab() == "All heads 01");
  CHECK(chromium->text("document.documentElement.lang") == "en");
  chromium->run("document.querySelector('.language').click()");
  chromium->wait_for("document.readyState === 'complete' && document.documentElement.lang === 'zh-Hans'");
  CHECK(tab() == "全部的头 01");
  chromium->wait_for("location.hash.endsWith('&language=zh&step=400&layer=1&head=2&word=8')");
  chromium->run("document.querySelector('.language').click()");
  chromium->wait_for("document.readyState === 'complete' && document.documentElement.lang === 'en'");
  CHECK(tab() == "All heads 01");
  CHECK(chromium->text("location.hash").find("language") == std::string::npos);
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("What is typed into the Chinese page is answered in Chinese") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Scratch place;
  const Model model = small_model();
  write_run(place / "run", model, examples_of(model));
  write_file(place / "page.html", page({page_run(place / "run")}, "zh"));
  chromium->open(place / "page.html");
  show(*chromium, "试一试");
  const auto notice = [&](const std::string& text) {
    chromium->run(
        fmt::format("(() => {{ const input = document.querySelector('textarea[aria-label=\"你的句子\"]'); input.value "
                    "= '{}'; input.oninput(); }})()",
                    text));
    chromium->settle();
    return chromium->text("document.querySelector('#panel .notice').textContent");
  };
  CHECK(notice("") == "请输入一个句子。");
  CHECK(notice("The anmal was tired") == "模型不认识“anmal”；是不是 animal？");
  CHECK(chromium->complaints() == std::vector<std::string>{});
}
