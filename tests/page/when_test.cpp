#include "browser.h"
#include "inspect/run_studies.h"
#include "open.h"
#include "trying.h"
#include "views/view.h"

#include <heed/formats/datasets/jsonl.h>

// How a page shows the models that dump.weights stores.
using namespace heed;

namespace {

// Returns small_model() with every parameter times `factor`, as if from `step`.
Model scaled(double factor, std::int64_t step) {
  Model model = small_model();
  for (const auto& [name, value] : model.parameters) {
    Tensor parameter = value;
    parameter.copy_from((value.detach() * factor).detach());
  }
  model.step = step;
  return model;
}

struct KeptRun : Scratch {
  std::filesystem::path run = path / "run", file = path / "page.html";
  KeptRun() {
    const Model last = scaled(1.5, 400);
    write_run(run, last, examples_of(last));
    write_jsonl(held_out_path(run), answered(last));
  }
  void keep(const Model& model) const {
    std::filesystem::create_directory(run / "models");
    save_model(dumped_model_path(run, model.step), model);
  }
  void open(Browser& chromium, const std::string& hash, std::size_t most = page_bytes_with_models) const {
    write_file(file, page({page_run(run, 0, max_page_bytes, {}, most)}));
    chromium.open(file, 1280, false, hash);
  }

 private:
  static std::vector<Example> answered(const Model& model) {
    std::vector<Example> examples = examples_of(model);
    for (Example& e : examples) e.answer = e.tokens[static_cast<std::size_t>(e.antecedent)];
    return examples;
  }
};

constexpr const char* says = "document.querySelector('.says').textContent";

}  // namespace

TEST_CASE("Try, Calculation, QK and OV and Why show the slider's step") {
  Browser* chromium = browser();
  if (!chromium) return;
  const KeptRun place;
  place.keep(scaled(2, 0));
  place.open(*chromium, "#view=try-it&step=0");
  const auto read_by = [&](const Model& model, const std::string& tokens) {
    const SentenceAttention said = attend(model, question(model, tokens));
    std::vector<double> numbers{said.probability};
    for (const Tensor& layer : said.layers) {
      const std::vector<double> weights = layer.to_vector();
      numbers.insert(numbers.end(), weights.begin(), weights.end());
    }
    return numbers;
  };
  const std::string tried = "(({found, attention}) => [Math.max(...found.probabilities), ..." +
                            all_weights("attention") + "])(shownNow().live.reading)";
  const auto move_to = [&](const char* key) {
    chromium->run("document.querySelector('.slider input').focus()");
    chromium->press(key);
    chromium->settle();
  };
  CHECK(largest_difference(chromium->run(tried), read_by(scaled(2, 0), animal)) < 1e-5);
  CHECK(chromium->text(says).starts_with("At step 0, in layer "));
  move_to("End");
  CHECK(largest_difference(chromium->run(tried), read_by(scaled(1.5, 400), animal)) < 1e-5);
  CHECK(chromium->text(says).starts_with("At step 400, in layer "));
  // The user's own sentence is updated, too, in every view that shows it.
  const std::string own = "The dog didn't cross the street because it was too tired";
  chromium->run("(() => { const field = document.querySelector('#main textarea'); field.value = " + Json(own).dump() +
                "; field.dispatchEvent(new Event('input')); })()");
  move_to("Home");
  CHECK(largest_difference(chromium->run(tried), read_by(scaled(2, 0), own)) < 1e-5);
  show(*chromium, "Sentence");
  const std::string shown = "[subject().probability, ..." + all_weights("subject().attention") + "]";
  CHECK(largest_difference(chromium->run(shown), read_by(scaled(2, 0), own)) < 1e-5);
  move_to("End");
  CHECK(largest_difference(chromium->run(shown), read_by(scaled(1.5, 400), own)) < 1e-5);
  chromium->run("chooseSentence(0)");

  for (const auto& [view, said] : std::vector<std::pair<std::string, std::string>>{
           {"Calculation", "In the saved model of step {}, the largest score of "},
           {"QK and OV", "The words of the saved model of step {}."}}) {
    show(*chromium, view);
    for (const auto& [key, step] : {std::pair{"Home", 0}, std::pair{"End", 400}}) {
      move_to(key);
      CHECK(chromium->text(says).starts_with(fmt::format(fmt::runtime(said), step)));
    }
  }
  const auto largest_entry = [&] {
    return chromium->run("Math.max(...readerOf(0).blocks[0].W_Q.weight)").get<double>();
  };
  const double last = largest_entry();
  move_to("Home");
  CHECK(largest_entry() == Approx(last * 2 / 1.5).epsilon(1e-5));
  show(*chromium, "Why");
  open_details(*chromium);
  chromium->wait_for("document.querySelector('#main').textContent.includes('In the saved model of step 0.')");
  move_to("End");
  chromium->wait_for("document.querySelector('#main').textContent.includes('In the saved model of step 400.')");
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The page computes a large model on a long text in slices, and then shows the result") {
  Browser* chromium = browser();
  if (!chromium) return;
  const auto large = [](double factor, std::int64_t step) {
    TransformerConfig config = small_config();
    config.layers = 6;
    config.block.attention.heads = 8;
    config.max_length = 24;
    Model model = small_model(answerer_of(config));
    for (const auto& [name, value] : model.parameters) {
      Tensor parameter = value;
      parameter.copy_from((value.detach() * factor).detach());
    }
    model.step = step;
    return model;
  };
  const Scratch place;
  const std::string text = std::string(animal) + " because " + animal;
  const Model last = large(1.5, 400), first = large(2, 0);
  write_run(place / "run", last, {question(last, text)});
  std::filesystem::create_directory(place / "run/models");
  save_model(dumped_model_path(place / "run", 0), first);
  write_file(place / "page.html", page({page_run(place / "run")}));
  const auto probability = [&](const Model& model) { return attend(model, question(model, text)).probability; };
  chromium->open(place / "page.html", 1280, false, "#view=try-it");
  chromium->run("fewProducts = 0; readers.clear()");
  const char* shown = "Math.max(...shownNow().live.reading.found.probabilities)";
  chromium->wait_for("Boolean(shownNow().live)");
  CHECK(chromium->run(shown).get<double>() == Approx(probability(last)).margin(1e-5));
  chromium->run("document.querySelector('.slider input').focus()");
  chromium->press("Home");
  chromium->wait_for("subject().step === 0 && Boolean(shownNow().live)");
  CHECK(chromium->run(shown).get<double>() == Approx(probability(first)).margin(1e-5));
  show(*chromium, "Calculation");
  chromium->run("document.querySelector('.slider input').focus()");
  chromium->press("End");
  chromium->wait_for(std::string(says) + ".startsWith('In the saved model of step 400, the largest score of ')");
  CHECK(chromium->run("document.querySelector('#main .stale') === null && !viewNow().element.matches('.stale')") ==
        true);
  const SentenceAttention said = attend(last, question(last, text));
  const double expected = said.layers[0].at({0, said.query, 3});
  chromium->run("update({layer: 0, head: 0, token: subject().query})");
  chromium->settle();
  CHECK(chromium->run("walk(readerOf(0), subject(), subject().query).parts[3].weight").get<double>() ==
        Approx(expected).margin(1e-5));
  // Moving the slider cancels an unfinished computation.
  chromium->run(
      "(() => { readers.clear(); state.step = 0; const reader = readerOf(0), text = subject(); "
      "told = 0; reader.readSoon(text, () => { ++told; }); reader.readSoon(text, () => { ++told; }); state.step = 1; "
      "kept = reader.known; })()");
  chromium->wait_for("told === 2");
  CHECK(chromium->run("kept.size") == 0);
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("A step without a stored model shows the nearest one, with a message") {
  Browser* chromium = browser();
  if (!chromium) return;
  const KeptRun place;
  place.keep(scaled(2, 0));
  place.open(*chromium, "#view=qk-and-ov&step=0", 0);
  CHECK(chromium->run("document.querySelector('.training').hidden") == true);
  CHECK(chromium->text(says).starts_with("The words of the saved model of step 400."));
  CHECK(chromium->text("document.getElementById('footer').textContent").find("leaves out 1, to stay below 20 MB.") !=
        std::string::npos);
  // One of three steps is stored.
  write_dump(place.run, {200, read_dump(dump_path(place.run, 0)).sentences});
  place.keep(scaled(3, 200));
  place.open(*chromium, "#view=qk-and-ov&step=200");
  CHECK(chromium->text(says).starts_with("The words of the saved model of step 200."));
  std::filesystem::remove(dumped_model_path(place.run, 200));
  place.open(*chromium, "#view=qk-and-ov&step=200");
  const std::string nearest = chromium->text(says);
  CHECK(nearest.starts_with("The words of the saved model of step 400, the nearest in this page."));
}

TEST_CASE("The step at which attention became causal is drawn and described for each head") {
  Browser* chromium = browser();
  if (!chromium) return;
  const KeptRun place;
  place.open(*chromium, "#view=why");
  open_details(*chromium);
  CHECK(chromium->text("document.querySelector('#main').textContent").find("which this run did not keep") !=
        std::string::npos);
  CHECK(chromium->run("document.querySelector('.training').hidden") == true);
  place.keep(scaled(2, 0));
  const CauseHistory history = cause_history(place.run);
  place.open(*chromium, "#view=why&step=0&layer=1&head=2");
  open_details(*chromium);
  const auto label = [&] { return chromium->text("viewNow().figures.at(-2).svg.getAttribute('aria-label')"); };
  const auto expected = [&](std::size_t step) {
    const CauseHistory::Edge& edge = history.steps[step].heads[0][1];
    return fmt::format("layer 1 head 2 at step {}: weight {:.2f}, effect of removing it ", history.steps[step].step,
                       edge.weight.share);
  };
  CHECK(label().starts_with(expected(0)));
  CHECK(chromium->text("document.querySelector('#main').textContent").find(history_verdict(history, 0, 1)[0]) !=
        std::string::npos);
  CHECK(chromium->run("viewNow().figures.at(-2).svg.querySelectorAll('polyline').length") == 4);
  // The right end is the last step.
  chromium->click("viewNow().figures.at(-2).box", 0.97, 0.5);
  CHECK(chromium->run("subject().step") == 400);
  CHECK(label().starts_with(expected(1)));
  CHECK(chromium->run("whenRows(content.runs[0].history, 0, 1)[2][1]") == history.steps[1].heads[0][1].weight.share);
  CHECK(chromium->complaints() == std::vector<std::string>{});
}
