#include "tests/explain/studies/helpers.h"
#include "views/view.h"

#include <heed/explain/studies/causes.h>

using namespace heed;

TEST_CASE("causes_json names interventions and counts layers and heads from 0") {
  const Model model = small_model();
  const Causes found = causes(model, sentences(), {question(model, "The dog was it")});
  const Json json = causes_json(found);
  CHECK(json["pointing"]["layer"] == found.pointing->layer);
  CHECK(json["rows"][0]["what"] == "head zero");
  CHECK(json["rows"].back()["what"] == "zero weight everywhere");
  CHECK((json["rows"].back()["head"].is_null() && json["rows"].back()["layer"].is_null()));
  CHECK(json["rows"][0]["accuracy_error"] == found.rows[0].accuracy.error());
  CHECK(json["rows"][0]["before"] == found.rows[0].before.share);
  CHECK(json["rank_correlation"]["last_layer"] == found.rank_correlation_last);
  CHECK(json["attribution"][0]["terms"].size() == 2 * 4);
}

TEST_CASE("causes_json writes null for unknown values") {
  const Model model = small_model();
  std::vector<Example> bare = sentences();
  for (Example& e : bare) e.antecedent = e.distractor = e.counterpart = -1, e.cue = "";
  bare[4].answer = "the";  // no answer is right in most of them
  const Causes found = causes(model, bare, {});
  const Json json = causes_json(found);
  CHECK(json["chance"].is_null());
  CHECK(json["pointing"].is_null());
  CHECK(json["twin_accuracy"].is_null());
}
