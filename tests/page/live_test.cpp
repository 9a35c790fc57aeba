#include "browser.h"
#include "inspect/page/page.h"
#include "open.h"
#include "tests/catch.h"
#include "tests/train/program.h"
#include "trying.h"

#include <heed/explain/score_parts.h>
#include <heed/tokenizers/tokenize.h>

using namespace heed;

TEST_CASE("The model in the page computes the program's numbers, to 1e-5") {
  Browser* chromium = browser();
  if (!chromium) return;
  const auto check = [&](const Model& model, const std::string& text) {
    const Page page(model, {question(model, text)});
    chromium->open(page.file);
    show(*chromium, "Try it");
    CHECK(chromium->text("document.querySelector('#main textarea').value") == text);
    CHECK(largest_difference(chromium->run(typed), expected(model, question(model, text))) < tolerance);
    CHECK(chromium->complaints() == std::vector<std::string>{});
  };
  for (const Positions positions : {Positions::learned, Positions::sinusoidal, Positions::none}) {
    check(shaken(small_model(positions, Tie::none, true)), animal);
  }
  check(shaken(small_model(Positions::learned, Tie::K_is_V, true)), animal);
  check(shaken(small_model(Positions::learned, Tie::Q_is_K, false)), animal);
  check(shaken(small_model(Positions::learned, Tie::none, true, 2)), "the dog was tired . was it ?");
  check(shaken(small_model(answerer_of(modern_config()))), animal);
  check(shaken(small_model(decoder_of(modern_config()))), animal);
  for (const MlpConfig& mlp : std::vector<MlpConfig>{{.activation = Activation::gelu_tanh},
                                                     {.activation = Activation::quick_gelu},
                                                     {.activation = Activation::relu},
                                                     {.activation = Activation::relu2},
                                                     {.activation = Activation::quick_gelu, .gated = true},
                                                     {.activation = Activation::relu2, .gated = true}}) {
    TransformerConfig config = small_config(Positions::learned, Tie::none, true);
    config.block.mlp.activation = mlp.activation;
    config.block.mlp.gated = mlp.gated;
    check(shaken(small_model(decoder_of(config, {.tied = false}))), animal);
  }
}

TEST_CASE("A model above 2 MiB is stored in float16, and its numbers stay within 3e-3") {
  Browser* chromium = browser();
  if (!chromium) return;
  Model model;
  for (int c = 0; c < 65; ++c) model.vocabulary.add(fmt::format("w{}", c));
  TransformerConfig config = modern_config();  // as many parameters as examples/nanogpt.yaml has
  config.max_length = 64;
  config.layers = 4;
  config.block.attention.d_model = 128;
  config.block.attention.heads = 4;
  config.block.mlp.width = 512;
  make_network(model, decoder_of(config));
  model.step = 400;
  std::string text;
  for (int t = 0; t < 40; ++t) text += fmt::format("{}w{}", t > 0 ? " " : "", (7 * t * t + t) % 65);
  const Page page(model, {question(model, text)});
  chromium->open(page.file);
  chromium->wait_for("Boolean(shownNow().live)");
  CHECK(chromium->run("content.runs[0].model.float16") == true);
  const double difference = largest_difference(chromium->run(typed), expected(model, question(model, text)));
  fmt::print("float16: the largest difference of a weight or probability is {:.1e}\n", difference);
  CHECK(difference > 1e-7);
  CHECK(difference < 3e-3);
  // The answer after a removal is computed in slices, too.
  chromium->run("toggleRemoved(['3.1'])");
  chromium->wait_for("Boolean(shownNow().live) && document.querySelector('.aside h2').textContent.endsWith('removal')");
  const Json answers =
      chromium->run("shownNow().live.reading.answers(39, 3).map(({probability, before}) => probability !== before)");
  CHECK(answers == Json({true, true, true}));
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The page of a run of toy.yaml contains its model and its causes") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Scratch place;
  std::filesystem::copy_file("toy.yaml", place / "toy.yaml");
  const Ended made = run_program(place,
                                 "train --quiet --config toy.yaml --out run --set train.steps=60 "
                                 "--set data.held_out=40 && inspect page run --out page.html --limit 20");
  INFO(made.err);
  REQUIRE(made.code == 0);
  chromium->open(place / "page.html");
  const Model model = load_model(model_path(place / "run"));
  for (const char* text : {animal, "The bridge wasn't crossed by the horse because it was too narrow"}) {
    show(*chromium, "Try it");
    type(*chromium, text);
    CHECK(largest_difference(chromium->run(typed), expected(model, question(model, text))) < tolerance);
  }
  show(*chromium, "Why");
  const Ended causes = run_program(place, "inspect causes run --limit 20");
  // The same texts as in the program, also next to every picture.
  std::string told = causes.out;
  std::ranges::replace(told, '\n', ' ');
  const std::string answer = chromium->text("document.querySelector('.verdict').textContent");
  CHECK(told.find(" Is the attention the cause? " + answer + " ") != std::string::npos);
  CHECK(answer.find(" of 20 sentences are answered right") != std::string::npos);
  CHECK(answer.find(", by chance 50.0 %") != std::string::npos);
  std::string others =
      chromium->text("[...document.querySelector('.figures').children].map((one) => one.textContent).join(' ')");
  std::ranges::replace(others, '\n', ' ');
  CHECK(told.find(" " + others + " ") != std::string::npos);
  show(*chromium, "Sentence");
  CHECK(chromium->text("document.querySelector('.finding').innerText") ==
        "Is the attention the cause? " + answer + " Details");
  show(*chromium, "Why");
  // The largest changes are drawn in order; the others are folded.
  CHECK(chromium->run("byEffect(content.runs[0].causes.rows).length") == 73);
  CHECK(chromium->run("viewNow().figures[0].svg.getAttribute('aria-label').split('; ').length") == 10);
  CHECK(chromium->run("viewNow().figures[0].height") < 500);
  open_details(*chromium);
  chromium->run(
      "[...document.querySelectorAll('#main summary')].find((s) => s.textContent === 'Remove one edge: 38').click()");
  chromium->settle();
  const char* rows = "document.querySelectorAll('#main table[aria-label=\"Remove one edge\"] tbody tr').length";
  CHECK(chromium->run(rows) == 10);
  chromium->click("[...document.querySelectorAll('#main button')].find((b) => b.textContent === 'Show the other 28')");
  CHECK(chromium->run(rows) == 38);
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("Try it answers typed sentences, other queries and removed heads with the program's numbers") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Model model = shaken(small_model());
  const Page page(model);
  chromium->open(page.file);
  show(*chromium, "Try it");
  const std::string text = "The dog didn't cross the street because it was too tired";
  type(*chromium, text);
  CHECK(largest_difference(chromium->run(typed), expected(model, question(model, text))) < tolerance);
  const SentenceAttention said = attend(model, question(model, text));
  CHECK(chromium->text("document.querySelector('#main .answers tbody tr').textContent")
            .starts_with(said.predicted + fmt::format("{:.3f}", said.probability)));

  chromium->click("viewNow().figures[0].svg.querySelectorAll('.token-left')[1]");
  CHECK(largest_difference(chromium->run(typed), expected(model, question(model, text, "dog"))) < tolerance);

  // Removing a head removes its contribution through W_O.
  chromium->run("update({layer: 0, head: 1})");
  chromium->settle();
  press_button(*chromium, "Remove layer 1 head 2");
  const Model without = shaken(small_model());
  Tensor W_O = without.parameters["encoder.0.attention.W_O.weight"];
  std::vector<double> values = W_O.to_vector();
  std::fill(values.begin() + 5 * 8, values.end(), 0.0);
  W_O.copy_from(tensor(W_O.shape(), values));
  CHECK(largest_difference(chromium->run(typed), expected(without, question(model, text, "dog"))) < tolerance);
  CHECK(chromium->run("document.querySelectorAll('#main .answers tbody td:nth-child(3)').length") == 5);
  press_button(*chromium, "Put back layer 1 head 2");
  CHECK(largest_difference(chromium->run(typed), expected(model, question(model, text, "dog"))) < tolerance);

  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("A typed sentence is shown in every view, until it is reset") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(shaken(small_model()));
  chromium->open(page.file);
  const char* header = "document.querySelector('.sentence').innerText + document.querySelector('.signs').innerText";
  const std::string before = chromium->text(header);
  const std::string picture = chromium->text("viewNow().figures[0].svgText()");
  show(*chromium, "Try it");
  const std::string text = "The dog didn't cross the street because it was too tired";
  type(*chromium, text);
  show(*chromium, "Sentence");
  CHECK(chromium->text("document.querySelector('.words').textContent").starts_with(text));
  CHECK(chromium->text("document.querySelector('.signs').textContent").find("Your own sentence") != std::string::npos);
  const Model whole = shaken(small_model());
  const std::vector<double> weights = expected(whole, question(whole, text));
  CHECK(largest_difference(chromium->run(all_weights("subject().attention")),
                           {weights.begin(), weights.begin() + 4 * 121}) < tolerance);
  press_button(*chromium, "Back to the watched sentence");
  CHECK(chromium->text(header) == before);
  CHECK(chromium->text("viewNow().figures[0].svgText()") == picture);

  show(*chromium, "Try it");
  type(*chromium, text);
  press_button(*chromium, "Reset");
  CHECK(chromium->text("document.querySelector('#main textarea').value") == animal);
  show(*chromium, "Sentence");
  CHECK(chromium->text("viewNow().figures[0].svgText()") == picture);
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("A click on a word at the right removes the edge to it and renormalises the weights") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Model model = shaken(small_model());
  const Page page(model);
  chromium->open(page.file, 1280, false, "#layer=2&head=2");
  const char* row = "Array.from(shownNow().live.reading.attention.of(1, 1).subarray(77, 88))";
  const Json before = chromium->run(row);
  chromium->click("viewNow().figures[0].svg.querySelectorAll('.token-right')[1]");
  const Json after = chromium->run(row);
  CHECK(after[1] == 0);
  for (const std::size_t key : {0U, 2U, 7U, 10U}) {
    CHECK(after[key].get<double>() == Approx(before[key].get<double>() / (1 - before[1].get<double>())).epsilon(1e-4));
  }
  CHECK(chromium->run("Array.from(shownNow().attention.of(1, 1).subarray(77, 88))") == after);
  CHECK(chromium->text("document.querySelector('#panel .says').textContent").ends_with(", after the removal."));
  chromium->click("viewNow().figures[0].svg.querySelectorAll('.token-right')[1]");
  CHECK(chromium->run(row) == before);
}

TEST_CASE("The first view can remove the edge and the head, and shows the changed answer") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Model model = shaken(small_model());
  const Page page(model);
  chromium->open(page.file, 1280, false, "#layer=2&head=1");
  const std::vector<double> whole = expected(model, question(model, animal));
  const auto text = [&](const char* of) {
    return chromium->text(std::string("document.querySelector('#panel ") + of + "').textContent");
  };
  CHECK(text(".guide li").starts_with("In layer 2 head 1, it puts "));
  const std::string answer = attend(model, question(model, animal)).predicted;
  CHECK(text(".guide li:last-child").starts_with("The answer is " + answer + ", with probability "));
  press_button(*chromium, "Remove this edge");
  CHECK(chromium->run("state.removed") == Json::array({"1.0.1"}));
  CHECK(chromium->run("shownNow().attention.of(1, 0)[7 * 11 + 1]") == 0);
  CHECK(text(".aside h2").ends_with(", after the removal"));
  CHECK(chromium->text("document.querySelector('.answer').textContent").ends_with(" after the removal"));
  CHECK(text(".guide li:last-child")
            .find(fmt::format(" instead of {:.3f}.",
                              *std::ranges::max_element(whole.end() - std::ssize(model.vocabulary.words()),
                                                        whole.end()))) != std::string::npos);
  press_button(*chromium, "Put the edge back");
  CHECK(chromium->run("state.removed") == Json::array());
  // Another sentence is shown without removals.
  press_button(*chromium, "Remove layer 2 head 1");
  CHECK(chromium->run("state.removed") == Json::array({"1.0"}));
  choose(*chromium, "Sentence", 1);
  CHECK(chromium->run("state.removed") == Json::array());
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("Try it shows a message for unknown words and for texts that are too long or empty") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page page(small_model());
  chromium->open(page.file);
  show(*chromium, "Try it");
  const auto notice = [&](const std::string& text) {
    type(*chromium, text);
    return chromium->text(
        "document.querySelector('.notice').hidden ? '' : document.querySelector('.notice').textContent");
  };
  CHECK(notice("The animl was it") == "The model does not know “animl”; did you mean animal?");
  CHECK(notice("it it it it it it it it it it it it it") == "The text has 13 tokens; the model has positions for 12.");
  CHECK(notice("  ") == "Type a sentence.");
  CHECK(notice("the animal was tired") ==
        "The model was trained on questions about it only; this text asks about its last token.");
  CHECK(chromium->run("document.querySelector('.stale') !== null") == false);
  CHECK(notice("the animl") != "");
  CHECK(chromium->run("document.querySelector('.stale') !== null") == true);
  // All results of the last answer are dimmed: the table and the picture.
  CHECK(chromium->run("['.answers', '.picture'].every((one) => "
                      "document.querySelector(`#panel ${one}`).closest('.stale') !== null)") == true);
  CHECK(notice("the animal was it") == "");
  CHECK(chromium->run("document.querySelector('.stale') !== null") == false);
}

TEST_CASE("Calculation shows the steps of the program") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Model model = shaken(small_model());
  const Page page(model);
  chromium->open(page.file, 1280, false, "#layer=2&head=1");
  show(*chromium, "Calculation");
  const std::vector<double> all = expected(model, question(model, animal));
  const Json shown = chromium->run("[...document.querySelectorAll('#main .picture text')].map((t) => t.textContent)");
  for (std::size_t key = 0; key < 11; ++key) {
    const std::string figure = fmt::format("{:.3f}", all[2 * 121 + 7 * 11 + key]);
    INFO(figure);
    CHECK(std::find(shown.begin(), shown.end(), figure) != shown.end());
  }
  CHECK(chromium->run("(() => { const w = walk(readerOf(0), subject(), 7); return w.output.every((x, c) => "
                      "Math.abs(x - w.parts.reduce((sum, {weighted}) => sum + weighted[c], 0)) < 1e-12); })()") ==
        true);
}

TEST_CASE("The page decomposes a score as the program does") {
  Browser* chromium = browser();
  if (!chromium) return;
  const auto check = [&](const Model& model) {
    const Page page(model);
    chromium->open(page.file, 1280, false, "#view=why&layer=2&head=1");
    Example example = question(model, animal);
    example.antecedent = 1;
    example.distractor = 5;  // the antecedent of the second sentence
    const ScoreParts parts = score_parts(model, example, 1, 0);
    std::vector<double> numbers{parts.score, parts.reference, parts.weight};
    for (const auto* side : {&parts.query, &parts.key}) {
      for (const ScoreParts::Part& part : *side) numbers.insert(numbers.end(), {part.score, part.ahead});
    }
    for (const ScoreParts::Cut& cut : parts.cuts) numbers.insert(numbers.end(), {cut.weight, cut.probability});
    const ScoreParts::Product& product = parts.products[0];
    numbers.insert(numbers.end(), {product.score, product.ahead});
    const Json found = chromium->run(fmt::format(
        "(() => {{ const p = finished(takingApart(readerOf(0), subject(), 1, 0, {0}, 1, 5)); "
        "const cuts = [p.without(true, {1}), p.without(false, {2})].map(finished), product = p.product({3}, {4}); "
        "return [p.score, p.reference, p.weight, ...[...p.query, ...p.key].flatMap(({{score, ahead}}) => [score, "
        "ahead]), "
        "...cuts.flatMap(({{weight, probability}}) => [weight, probability]), product.score, product.ahead]; }})()",
        example.query, parts.cuts[0].part, parts.cuts[1].part, product.query, product.key));
    CHECK(largest_difference(found, numbers) < tolerance);
  };
  check(shaken(small_model(answerer_of(modern_config()))));
  check(shaken(small_model(decoder_of(modern_config()))));
  check(shaken(small_model(Positions::learned, Tie::none, true)));
  check(shaken(small_model(Positions::sinusoidal, Tie::K_is_V, true)));
  check(shaken(small_model(Positions::none, Tie::Q_is_K, false)));
  open_details(*chromium);
  // In words: the comparison with the counterpart's antecedent, and the required change.
  chromium->wait_for("document.querySelector('#main').textContent.includes('removed: the weight is ')");
  const std::string text = chromium->text("document.querySelector('#main').textContent");
  CHECK(text.find("In layer 2 head 1 it gives animal the weight ") != std::string::npos);
  CHECK(text.find(" ahead of that of street (") != std::string::npos);
  CHECK(text.find("Query contributions: it") != std::string::npos);
  choose(*chromium, "Compared with", 0);
  chromium->wait_for("document.querySelector('#main').textContent.includes(' ahead of the mean over all words (')");
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The page continues a text token by token with the program's numbers") {
  Browser* chromium = browser();
  if (!chromium) return;
  const auto check = [&](const TransformerConfig& config) {
    Model model;
    model.vocabulary = Vocabulary({"a", "b", "c", " ", "\n"});
    make_network(model, decoder_of(config));
    model.step = 400;
    model.tokenizer = Tokenizer::of_text(Split::characters);
    model = shaken(std::move(model));
    const std::string text = "ab ca\nb cab";  // 11 of at most 12
    const Page page(model, {question(model, text)});
    chromium->open(page.file);
    show(*chromium, "Try it");
    std::vector<std::int32_t> ids;
    for (const char c : text) ids.push_back(model.vocabulary[std::string(1, c)]);
    const Tensor all = model.logits({.tokens = Ids({1, 11}, ids)});  // (1, 11, 5)
    const Json logits = chromium->run("(() => { const writer = new Writer(readerOf(0)); return [..." +
                                      Json(text).dump() + "].flatMap((token) => [...writer.next(token)]); })()");
    CHECK(largest_difference(logits, all.to_vector()) < tolerance);
    // Beyond the context length, both recompute the later half.
    const Json after =
        chromium->run("(() => { const writer = new Writer(readerOf(0)), text = [..." + Json(text + "ab").dump() +
                      "]; let logits; for (let n = 10; n <= 13; ++n) logits = writer.after(text.slice(0, n)); return "
                      "[...logits]; })()");
    const std::vector<std::int32_t> half{model.vocabulary["b"], model.vocabulary[" "], model.vocabulary["c"],
                                         model.vocabulary["a"], model.vocabulary["b"], model.vocabulary["a"],
                                         model.vocabulary["b"]};
    const Tensor anew = model.logits({.tokens = Ids({1, 6}, {half.end() - 6, half.end()})});
    CHECK(largest_difference(after, slice(anew, 1, 5, 6).to_vector()) < tolerance);
    chromium->click("[...document.querySelectorAll('button')].find((b) => b.textContent === 'Continue the text')");
    chromium->wait_for("[...document.querySelector('.written').textContent].length === 211");
    const std::string written = chromium->text("document.querySelector('.written').textContent");
    CHECK(written.starts_with(text));
    CHECK(chromium->complaints() == std::vector<std::string>{});
  };
  check(modern_config());
  check(small_config(Positions::learned, Tie::none, true));
}
