#include "browser.h"
#include "inspect/serve/served_page.h"
#include "open.h"
#include "tests/catch.h"
#include "trying.h"

#include <heed/explain/intervention.h>
#include <heed/explain/score_parts.h>
#include <heed/explain/token_circuits.h>

#include <thread>

using namespace heed;

namespace {

// Serves the page of one sentence, without the model, while this object lives.
class Serving {
 public:
  Serving(const Model& model, const std::string& text)
      : page_(sentence_of(model, text), model), thread_([this] { server_.run(page_); }) {}
  ~Serving() {
    server_.stop();
    thread_.join();
  }
  std::string address() const { return fmt::format("http://127.0.0.1:{}{}", server_.port(), page_.path()); }

 private:
  static PageRun sentence_of(const Model& model, const std::string& text) {
    const Example example = question(model, text);
    PageRun run = page_sentence("model", model, attend(model, example), example);
    run.model.clear();
    run.description["model"] = nullptr;
    return run;
  }

  LocalServer server_{0};
  ServedPage page_;
  std::thread thread_;
};

const std::string probability = "shownNow().live?.reading.answers(shownNow().query, 10)[0].probability";

}  // namespace

TEST_CASE("A served page shows the library's results for typed text and for an ablated head") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Model model = shaken(small_model());
  const Serving serving(model, animal);
  chromium->open(serving.address());
  chromium->wait_for("Boolean(shownNow().live)");
  show(*chromium, "Try it");
  type(*chromium, street);
  chromium->wait_for("state.sentence === OWN && Boolean(shownNow().live)");
  const Example example = question(model, street);
  const SentenceAttention expected = attend(model, example);
  CHECK(chromium->text("shownNow().predicted") == expected.predicted);
  CHECK(chromium->run(probability).get<double>() == Approx(expected.probability));
  std::vector<double> weights;
  for (const Tensor& layer : expected.layers) {
    for (const double w : layer.to_vector()) weights.push_back(w);
  }
  CHECK(largest_difference(chromium->run("[..." + all_weights("shownNow().live.reading.attention") + "]"), weights) <
        1e-4);

  chromium->run("toggleRemoved(['0.1'])");
  chromium->wait_for("isRemovedAny() && shownNow().live?.reading !== shownNow().live?.whole");
  const Batch asked = batch_of(model, example);
  const std::vector<double> without = softmax(logits_under({ablate({0, 1})}, model, asked)).to_vector();
  CHECK(chromium->run(probability).get<double>() == Approx(*std::ranges::max_element(without)));
  CHECK(chromium->run("content.runs[0].model") == Json());

  type(*chromium, "it it it it it it it it it it it it it it");
  chromium->wait_for("document.querySelector('#main .notice').textContent.includes('12')");
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("A served page shows the library's score parts and the circuits of the text's words") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Model model = shaken(small_model());
  const Serving serving(model, animal);
  chromium->open(serving.address(), 1280, false, "#view=why&layer=2&head=1");
  chromium->wait_for("document.querySelector('#main').textContent.includes('removed: the weight is ')");
  const Example example = question(model, animal);
  const auto shows = [&](const ScoreParts& parts) {
    const std::string text = chromium->text("document.querySelector('#main').textContent");
    CHECK(text.find(fmt::format("q · k / √d_k = {:.2f}, is ", parts.score)) != std::string::npos);
    const ScoreParts::Cut& cut = parts.cuts[0];
    CHECK(text.find(fmt::format("{} has probability {:.3f} instead of {:.3f}", parts.answer, cut.probability,
                                parts.probability)) != std::string::npos);
  };
  const ScoreParts parts = score_parts(model, example, 1, 0);
  shows(parts);
  choose(*chromium, "Compared with", 3);
  chromium->wait_for("document.querySelector('#main').textContent.includes(' ahead of that of didn')");
  shows(score_parts(model, example, 1, 0, {.rather = 2}));

  show(*chromium, "QK and OV");
  chromium->wait_for("document.querySelectorAll('.two tbody tr').length === 24");
  CHECK(chromium->text("document.querySelector('.two p').textContent").find("The words of the text.") !=
        std::string::npos);
  const Ids tokens = batch_of(model, example).tokens;
  const Tensor raises = token_circuits(model, reshape(tokens, {tokens.numel()}), 1, 0).raises;
  CHECK(chromium->text("document.querySelector('.two section:last-child .figure-text').textContent") ==
        fmt::format("+{:.2f}", max(raises).item()));
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("A served page reports that the program has ended") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Model model = shaken(small_model());
  {
    const Serving serving(model, animal);
    chromium->open(serving.address());
    chromium->wait_for("Boolean(shownNow().live)");
    show(*chromium, "Try it");
  }
  type(*chromium, street);
  chromium->wait_for("document.querySelector('#main .notice').textContent.includes('inspect serve does not answer')");
}
