#include "tests/models/random_models.h"

#include "browser.h"
#include "choosing.h"
#include "formats/internal/config_json.h"
#include "open.h"
#include "trying.h"

#include <heed/explain/score_parts.h>

using namespace heed;

namespace {

struct DrawnModel {
  Model model;
  std::string text;
  Example example;
  explicit DrawnModel(RandomConfig& draw) : model(small_model(draw(14))) {
    shake_all(model.parameters);
    const bool chooses = model.head().chooses_candidates();
    text = chooses ? "the [dog] was tired . was it [the street] ?" : "the dog was tired . was it the street ?";
    example = question(model, text, model.head().has_token_logits() || model.head().classifies() ? "" : "it");
    if (chooses) choose(example, 0);
    if (!chooses) example.answer = "dog";
  }
};

}  // namespace

TEST_CASE("The page computes models of random configurations as the program does") {
  Browser* chromium = browser();
  if (!chromium) return;
  RandomConfig draw(8);
  int computed = 0;
  for (int i = 0; i < 90; ++i) {
    const DrawnModel drawn(draw);
    CAPTURE(i, format_json(to_json(drawn.model.config())));
    const Scratch place;
    write_choosing_run(place / "run", drawn.model, {drawn.example});
    const PageRun run = page_run(place / "run", 1);
    if (run.description.at("model").is_null()) continue;  // it has what a page does not compute
    ++computed;
    write_file(place / "page.html", page({run}));
    chromium->open(place / "page.html");
    show(*chromium, "Try it");
    CHECK(largest_difference(chromium->run(typed), expected(drawn.model, drawn.example)) < 1e-4);
    const int layer = drawn.model.layers() - 1, head = drawn.model.heads() - 1;
    const ScoreParts parts = score_parts(drawn.model, drawn.example, layer, head, {.to = 2});
    std::vector<double> numbers{parts.score, parts.reference, parts.weight};
    for (const auto* side : {&parts.query, &parts.key}) {
      for (const ScoreParts::Part& part : *side) numbers.insert(numbers.end(), {part.score, part.ahead});
    }
    for (double& number : numbers) number /= std::max(1.0, std::abs(parts.score));
    const Json found = chromium->run(fmt::format(
        "(() => {{ const p = finished(takingApart(readerOf(0), subject(), {}, {}, {}, 2, -1)), scale = Math.max(1, "
        "Math.abs(p.score)); return [p.score, p.reference, p.weight, ...[...p.query, ...p.key].flatMap(({{score, "
        "ahead}}) => [score, ahead])].map((x) => x / scale); }})()",
        layer, head, drawn.example.query));
    CHECK(largest_difference(found, numbers) < 1e-4);
    if (drawn.model.head().generates()) {
      const Batch asked = batch_of(drawn.model, drawn.example);
      const Json logits = chromium->run(
          "(() => { const writer = new Writer(readerOf(0)); return subject().tokens.flatMap((token) => "
          "[...writer.next(token)]); })()");
      const Tensor given = drawn.model.logits({.tokens = asked.tokens});
      const double scale = std::max(1.0, max(abs(given)).item() / 100);  // without norms they may be large
      CHECK(largest_difference(logits, given.to_vector()) < 1e-3 * scale);
    }
    CHECK(chromium->complaints() == std::vector<std::string>{});
  }
  CHECK(computed > 10);
}
