#include "tests/explain/studies/helpers.h"
#include "tests/inspect/inspected_run.h"
#include "views/causes_by_view.h"

#include <heed/explain/studies/causes_by.h>
#include <heed/formats/datasets/jsonl.h>

using namespace heed;

namespace {

// Two kinds of sentences, in pairs where `times` is even.
std::vector<Example> of_two_kinds() {
  std::vector<Example> all = sentences();
  for (std::size_t i = 0; i < all.size(); ++i) all[i].relation = i == 1 ? "reflexive" : "agreement";
  return all;
}

// Causes as measured with this share of answers lost.
Causes with_loss(const Interval& lost, int sentences) {
  Causes causes;
  causes.sentences = sentences;
  causes.pointing = {1, 0, 0.9, {}, {}};
  causes.rows.push_back({.what = Cause::What::edge, .layer = 1, .head = 0, .from = "query", .to = "antecedent"});
  causes.rows.back().lost = lost;
  return causes;
}

}  // namespace

TEST_CASE("causes_by measures each kind of sentence as causes() measures it alone") {
  const Model model = small_model();
  const std::vector<Example> all = of_two_kinds();
  const Causes whole = causes(model, all);
  const CausesBy found = causes_by(model, all, whole, "relation");
  REQUIRE(found.groups.size() == 2);
  CHECK((found.groups[0].value == "agreement" && found.groups[0].causes.sentences == 4));
  CHECK((found.groups[1].value == "reflexive" && found.groups[1].causes.sentences == 1));
  CHECK(found.groups[0].causes.pairs == 2);  // pairs stay together
  const Causes alone = causes(model, {all[1]});
  CHECK(found.groups[1].causes.probability == Approx(alone.probability));
  CHECK((found.by == Cause::What::edge && found.layer == whole.pointing->layer && found.head == whole.pointing->head));
  CHECK(found.differences.empty());  // five sentences show nothing
  const std::string text = causes_by_view(found, {});
  CHECK(text.starts_with("By relation:\n  agreement, 4 sentences, "));
  CHECK(text.find("\n  reflexive, 1 sentence, ") != std::string::npos);
  const Json json = causes_by_json(found);
  CHECK((json["field"] == "relation" && json["groups"].size() == 2 && json["groups"][0]["causes"]["sentences"] == 4));
}

TEST_CASE("causes_by splits by cue word, answer or query, and names the fields that exist") {
  const Model model = small_model();
  const std::vector<Example> all = of_two_kinds();
  const Causes whole = causes(model, all);
  CHECK(causes_by(model, all, whole, "decider").groups.size() == 3);
  CHECK(causes_by(model, all, whole, "query").groups.size() == 1);
  CHECK(default_field(all) == "relation");
  CHECK(default_field(sentences()).empty());
  CHECK(message([&] { check_field(all, "colour"); }) ==
        "the held-out sentences have no field 'colour'; they have relation, decider, answer, query");
  CHECK(message([&] {
          check_field(sentences(), "relation");
        }).starts_with("the held-out sentences have no field 'relation'"));
  std::vector<Example> many(21, all[1]);
  for (std::size_t i = 0; i < many.size(); ++i) many[i].relation = std::to_string(i);
  CHECK(message([&] { check_field(many, "relation"); }) ==
        "the held-out sentences have 21 values of 'relation'; expected at most 20 kinds to tell apart");
}

TEST_CASE("The chance level of a kind is its own, except where the answer or the cue word makes the kinds") {
  const Model model = small_model();
  std::vector<Example> all = sentences();
  all.insert(all.end(), 3, all[1]);
  for (std::size_t i = 5; i < all.size(); ++i) all[i].answer = "dog", all[i].tokens[0] = "too";
  const auto chances = [&](const std::string& field) {
    std::map<std::string, double> found;
    for (const CausesBy::Group& group : causes_by(model, all, causes(model, all), field).groups)
      found[group.value] = group.causes.chance;
    return found;
  };
  // "dog" is right in 4 of 8 sentences, "street" in 3.
  CHECK(chances("answer") == std::map<std::string, double>{{"dog", 0.5}, {"street", 0.5}, {"the", 0.5}});
  for (std::size_t i = 0; i < all.size(); ++i) all[i].relation = i < 5 ? "first" : "second";
  CHECK(chances("relation") == std::map<std::string, double>{{"first", 0.6}, {"second", 1}});
  all[3].answer = "dog";  // 5 of 8
  CHECK(chances("answer") == std::map<std::string, double>{{"dog", 1}, {"street", 0.5}});
}

TEST_CASE("causes_by_view warns when kinds of sentences are shown to differ") {
  CausesBy found{.field = "relation", .groups = {}, .differences = {}, .largest = {}};
  found.groups = {{"agreement", with_loss({0.5, 0.4, 0.6}, 100)}, {"reflexive", with_loss({0, -0.05, 0.05}, 100)}};
  found.layer = 1;
  found.differences = {{0, 1, {0.5, 0.375, 0.625}}};
  const View view{.terminal = {.width = 500}, .layer = {}, .head = {}};
  CHECK(causes_by_view(found, view)
            .starts_with(
                "The kinds of sentences differ: without the edge to the antecedent in layer 2 head 1, 'agreement' "
                "loses 50.0 points more of its right answers than 'reflexive' (37.5 to 62.5). The verdict over all "
                "sentences mixes them.\nBy relation:\n"));
  found.sentences = 200;
  found.largest = found.differences[0];
  CHECK(undecided_kinds(found).empty());
  found.differences.clear();
  found.largest->lost = {0.031, -0.02, 0.083};
  CHECK(differing_kinds(found).empty());
  CHECK(
      causes_by_view(found, view)
          .ends_with("\nCannot tell from 200 sentences whether the kinds differ: without the edge to the antecedent in "
                     "layer 2 head 1, the largest difference is 3.1 points, by which 'agreement' loses more of its "
                     "right answers than 'reflexive' (-2.0 to 8.3).\n"));
  found.largest->lost = {0, -0.1, 0.1};
  CHECK(undecided_kinds(found).ends_with("the largest difference is 0.0 points (-10.0 to 10.0)."));
}

TEST_CASE("causes_by compares kinds by the rows over all sentences, with the pairs that are in two kinds") {
  const Model model = small_model();
  std::vector<Example> all = of_two_kinds();
  for (Example& e : all) e.relation = e.counterpart >= 0 && e.counterpart < &e - all.data() ? "second" : "first";
  const Causes whole = causes(model, all);
  const CausesBy found = causes_by(model, all, whole, "relation");
  const Cause& row = *whole.find(found.by, found.layer, found.head, "antecedent");
  const HeldOut used(model, all, all.size());
  REQUIRE(std::ssize(row.losses) == row.sentences);
  std::vector<Sample> kinds(2);
  for (const auto& [sentence, lost] : row.losses) {
    const auto i = static_cast<std::size_t>(sentence);
    const auto kind = used.sentences()[i].relation == found.groups[0].value ? 0U : 1U;
    kinds[kind].values.push_back(lost);
    kinds[kind].groups.push_back(used.group(i));
  }
  const auto is_shared = [&](int group) { return std::ranges::count(kinds[0].groups, group) > 0; };
  CHECK(std::ranges::count_if(kinds[1].groups, is_shared) == 2);
  REQUIRE(found.largest);
  CHECK(found.sentences == row.sentences);
  CHECK(found.largest->lost.low == differences_between(kinds)[0].lost.low);
  CHECK(causes_by_json(found)["largest"]["more"] == found.largest->more);
}

TEST_CASE("inspect causes prints a verdict for each relation, and takes another field with --by") {
  const InspectedRun run;
  std::vector<Example> held_out;
  for (int i = 0; i < 4; ++i) {
    held_out.push_back(dog_example());
    held_out.back().relation = i % 2 == 0 ? "agreement" : "reflexive";
  }
  write_jsonl(run.path / "held_out.jsonl", held_out);
  const std::string text = run.inspect({"causes", "RUN"});
  CHECK(text.starts_with("By relation:\n"));
  CHECK(text.find("\nstep 400: 4 of 4 held-out sentences\n") != std::string::npos);
  CHECK(run.inspect({"causes", "RUN", "--by", "answer"}).find("By answer:\n  dog, 4 sentences, ") != std::string::npos);
  CHECK(parse_json(run.inspect({"causes", "RUN", "--json"}), 16)["by"]["groups"].size() == 2);
  CHECK(run.error({"causes", "RUN", "--by", "colour"}) ==
        "the held-out sentences have no field 'colour'; they have relation, answer, query");
  CHECK(run.is_usage_error({"causes", "RUN", "--sentence", "dog", "--by", "answer"},
                           "--by is for held-out sentences; --sentence asks one (see inspect causes --help)"));
}
