#include "tests/explain/studies/helpers.h"
#include "tests/message.h"

#include <heed/explain/studies/cause_history.h>
#include <heed/explain/studies/causes.h>

using namespace heed;

TEST_CASE("cause_history gives the results of causes() for each model, and reports progress") {
  int told = 0;
  const CauseHistory history = cause_history(
      2, [](std::size_t i) { return small_model(i == 0 ? Positions::none : Positions::learned); }, sentences(),
      {.progress = [&](const std::string& what, double, double) { told += what == "weights and effects"; }});
  CHECK((history.sentences == 5 && history.held_out == 5 && told == 14));
  REQUIRE(history.steps.size() == 2);
  const Causes found = causes(small_model(), sentences());
  CHECK(history.steps[1].accuracy == Approx(found.accuracy.share));
  CHECK(history.steps[1].heads[1][0].effect.share ==
        Approx(-found.find(Cause::What::edge, 1, 0, "antecedent")->probability).margin(1e-12));
  std::vector<Example> bare = sentences();
  for (Example& e : bare) e.antecedent = -1;
  CHECK(message([&] {
          cause_history(
              1, [](std::size_t) { return small_model(); }, bare);
        }) == "the held-out sentences have no antecedents, so no edge can be cut");
}
