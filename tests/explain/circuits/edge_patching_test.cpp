#include "formats/internal/config_json.h"
#include "tests/catch.h"
#include "tests/explain/circuits/reference.h"

#include <cmath>

using namespace heed;

namespace {

double distance(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }

}  // namespace

TEST_CASE("EdgePatching with all edges, none or some, for random configurations") {
  RandomConfig draw(11);
  int skipping = 0;
  for (int i = 0; i < 150; ++i) {
    const RandomCase made(draw, i);
    CAPTURE(i, format_json(to_json(made.model.config())));
    const EdgePatching patching(made.model, made.graph, made.clean, made.corrupted);
    const Tensor clean = made.model.logits(made.clean), corrupted = made.model.logits(made.corrupted);
    CHECK(distance(patching.clean().logits, clean) < 1e-9);
    CHECK(distance(patching.corrupted().logits, corrupted) < 1e-9);
    skipping += patching.first_token() > 0;
    std::vector<bool> kept(made.graph.edges().size(), true);
    CHECK(distance(patching.logits(kept), clean) < 1e-9);
    kept.assign(kept.size(), false);
    CHECK(distance(patching.logits(kept), corrupted) < 1e-9);
    CHECK(distance(patching.logits(std::vector(kept.size(), 1 - 1e-15)), corrupted) < 1e-6);  // computed anew
    const auto reference = [&] {
      ReferenceRun run(made.model, made.graph, made.clean, [&](std::size_t edge, int node, const Tensor& output) {
        return kept[edge] ? output : behind_first_tokens(output, patching.corrupted().each[node]);
      });
      return run.logits(made.model.transformer().embed(made.clean));
    };
    Random random = Random(static_cast<std::uint64_t>(i)).stream("edges");
    for (const int kept_of_8 : {6, 4, 2, 1, 1}) {
      for (std::size_t e = 0; e < kept.size(); ++e) kept[e] = random.below(8) < kept_of_8;
      CHECK(distance(patching.logits(kept), reference()) < 1e-6);
    }
    if (made.model.head().unembedding) {
      const Ids words({2}, {3, 1});
      const EdgePatching narrow(made.model, made.graph, made.clean, made.corrupted, words);
      CHECK(distance(narrow.logits(kept), index_select(patching.logits(kept), words, 1)) < 1e-12);
      CHECK(distance(narrow.corrupted().logits, index_select(corrupted, words, 1)) < 1e-9);
    }
    for (int repeat = 0; repeat < 3; ++repeat) {  // one edge alone
      kept.assign(kept.size(), true);
      kept[static_cast<std::size_t>(random.below(std::ssize(kept)))] = false;
      CHECK(distance(patching.logits(kept), reference()) < 1e-6);
    }
    for (std::size_t e = 0; e < kept.size(); ++e) kept[e] = random.below(4) == 0;  // edges on no path change nothing
    const std::vector<bool> on_paths = made.graph.on_paths(kept);
    CHECK(distance(patching.logits(kept), patching.logits(on_paths)) < 1e-6);
  }
  CHECK(skipping > 20);  // models that compute nothing at the first tokens
}
