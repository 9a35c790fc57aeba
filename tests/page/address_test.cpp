#include "browser.h"
#include "open.h"
#include "trying.h"

using namespace heed;

TEST_CASE("The URL captures the current view, and a link opens it") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  chromium->open(page.file, 1280, false, "#view=all-heads&sentence=2&step=0&layer=1&head=2&word=3");
  CHECK(chromium->text("document.querySelector('[aria-selected=true]').textContent") == "All heads");
  CHECK(chromium->run("[state.sentence, subject().step, state.layer, state.head, state.token]") ==
        Json({1, 0, 0, 1, 2}));
  CHECK(chromium->text("location.hash") == "#view=all-heads&sentence=2&step=0&layer=1&head=2&word=3");
  show(*chromium, "Calculation");
  CHECK(chromium->text("location.hash").starts_with("#view=calculation&sentence=2&"));
  // Invalid values give the default view.
  chromium->open(page.file, 1280, false, "#view=nothing&sentence=99&step=7&layer=x&head=-1");
  CHECK(chromium->run("[state.tab, state.sentence, subject().step]") == Json({0, 0, 400}));
  const std::string lost = "header.lost.hidden ? '' : header.lost.textContent";
  CHECK(chromium->text(lost) ==
        "This page does not have what its link names: sentence 99; step 7; layer x; view nothing");
  show(*chromium, "All heads");
  chromium->settle();
  CHECK(chromium->text(lost) == "");
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The URL contains a typed sentence, and a link opens it at the same word") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(shaken(small_model()));
  chromium->open(page.file);
  show(*chromium, "Try it");
  const std::string text = "The dog didn't cross the street because it was too tired";
  type(*chromium, text);
  chromium->wait_for("location.hash.includes('text=')");
  const std::string link = chromium->text("location.hash.replace(/word=.*/, 'word=2')");
  chromium->open(page.file, 1280, false, link);
  chromium->wait_for("state.sentence === OWN");
  CHECK(chromium->text("subject().tokens.join(' ')") == text);
  CHECK(chromium->text("document.querySelector('#main textarea').value") == text);
  CHECK(chromium->run("[state.token, subject().query]") == Json({1, 1}));
  chromium->open(page.file, 1280, false, link + "&without=1.1,2.1.3");  // a head, and an edge to the third token
  chromium->wait_for("state.sentence === OWN");
  CHECK(chromium->run("state.removed") == Json({"0.0", "1.0.2"}));
  chromium->wait_for("location.hash.includes('without=1.1%2C2.1.3')");
  CHECK(chromium->run("shownNow().live.reading.removed") == Json({"0.0", "1.0.2"}));
  chromium->open(page.file, 1280, false, "#view=sentence&without=1.2,9.1,1.9,0.1,x");
  CHECK(chromium->run("state.removed") == Json({"0.1"}));
  chromium->open(page.file, 1280, false, "#view=sentence&text=xyzzy");  // a word that the model does not know
  CHECK(chromium->run("state.sentence") == 0);
  chromium->wait_for("!header.lost.hidden");
  CHECK(chromium->text("header.lost.textContent") ==
        "This page does not have what its link names: text “xyzzy”: The model does not know “xyzzy”.");
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("Back and forward visit views, sentences and heads, but not every step of the slider") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  chromium->open(page.file, 1280, false, "#layer=2&head=1");
  show(*chromium, "All heads");
  chromium->click("document.querySelectorAll('#main .head')[1]");
  chromium->run("document.querySelector('.slider input').focus()");
  chromium->press("ArrowLeft");
  chromium->wait_for("location.hash.includes('step=0')");
  const auto go = [&](const char* where) {
    chromium->run(
        fmt::format("new Promise((done) => {{ addEventListener('popstate', done, {{once: true}}); history.{}(); }})"
                    ".then(() => 0)",
                    where));
    chromium->settle();
    return chromium->text(
        "document.querySelector('[aria-selected=true]').textContent + ' ' + key(state.layer, state.head)");
  };
  CHECK(go("back") == "All heads 1.0");
  CHECK(go("back") == "Sentence 1.0");
  CHECK(go("forward") == "All heads 1.0");
  CHECK(go("forward") == "All heads 0.1");
  CHECK(chromium->run("subject().step") == 0);
}
