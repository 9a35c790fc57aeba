#include "browser.h"
#include "inspect/page/page.h"
#include "open.h"
#include "tests/catch.h"

using namespace heed;

namespace {

const std::vector<std::string> hostile{"</script><script>alert(1)</script>",
                                       "<!--",
                                       "<img src=x onerror=alert(2)>",
                                       "]]>",
                                       "&lt;b&gt;",
                                       "\"'`${alert(3)}\\",
                                       "\u202Egnp.exe",
                                       "a\u2066b",
                                       "\u2028",
                                       "x\x01y",
                                       "\x7f",
                                       "\u200B",
                                       "{{script}}",
                                       "=1+1,\"q\"",
                                       "שלום",
                                       "苹果"};

Model hostile_model() {
  Model model;
  for (const std::string& word : hostile) model.vocabulary.add(word);
  make_network(model, answerer_of({.max_length = 16, .layers = 1, .block = {.attention = {.d_model = 4, .heads = 2}}}),
               3);
  model.queries = {hostile[0]};
  model.step = 400;
  return model;
}

}  // namespace

TEST_CASE("Hostile tokens are displayed, but do not run or reorder other text") {
  Browser* chromium = browser();
  if (!chromium) return;
  Example example;
  example.tokens = hostile;
  example.antecedent = 1;
  const Page page(hostile_model(), {example});
  const std::string html = read_file(page.file);
  CHECK(html.find("alert(1)</script>") == std::string::npos);
  CHECK(html.find("<!--") == std::string::npos);
  CHECK(html.find("\u2028") == std::string::npos);
  chromium->open(page.file);
  for (const std::string& view : views_of(*chromium)) {
    show(*chromium, view);
    INFO(view);
    // The page and its saved copy contain no additional script, picture or comment.
    CHECK(chromium->run("document.querySelectorAll('main script, header script, main img, header img').length") == 0);
    CHECK(chromium->run(
              "viewNow().figures.filter(({svg}) => svg.isConnected).every((one) => !new DOMParser()"
              ".parseFromString(one.svgText(), 'image/svg+xml').querySelector('script, img, parsererror'))") == true);
  }
  show(*chromium, "Sentence");
  const Json shown = chromium->run(
      "[...document.querySelectorAll('.token-left')].map((t) => (t.querySelector('title') ?? t).textContent)");
  CHECK(shown == Json({hostile[0], "<!--", hostile[2], "]]>", "&lt;b&gt;", hostile[5], "⟨U+202E⟩gnp.exe", "a⟨U+2066⟩b",
                       "⟨U+2028⟩", "x␁y", "␡", "⟨U+200B⟩", "{{script}}", "=1+1,\"q\"", "שלום", "苹果"}));
  CHECK(chromium->run("[...document.querySelectorAll('.sentence bdi')].map((t) => t.textContent).includes('<!--')") ==
        true);
  CHECK(
      chromium->run("[direction(['\"', 'שלום', 'a']), direction(['a', 'שלום']), direction(['苹果']), direction(['!'])]")
          .dump() == R"(["rtl","ltr","ltr","ltr"])");
  CHECK(chromium->text("csvText([['=1+1,\"q\"', 'a\\nb', 'c']])") == "\"=1+1,\"\"q\"\"\",\"a\nb\",c\r\n");
  CHECK(chromium->complaints() == std::vector<std::string>{});
}
