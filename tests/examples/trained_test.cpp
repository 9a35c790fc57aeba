#include "inspect/run_studies.h"
#include "tests/catch.h"
#include "tests/scratch.h"
#include "train/relations.h"
#include "train/training.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <map>

using namespace heed;

// Trains the example configurations and checks their results on held-out examples.
namespace {

Experiment trained(const std::string& file, const std::vector<std::string>& overrides = {}) {
  const Scratch scratch;
  const Config config = read_config(file, overrides);
  Experiment experiment = make_experiment(config);
  const RunDirectory run = RunDirectory::create(config.name, to_yaml(config), scratch.path / "run");
  const Listener silent{[](std::int64_t, double) {}, [](std::int64_t, double, const Evaluation&) {}};
  const volatile std::sig_atomic_t stop = 0;
  train(experiment, run, silent, stop);
  return experiment;
}

Evaluation evaluation_after(const Experiment& e) { return evaluate(e.model, e.held_out); }

double best_last_head(const Evaluation& e) { return std::ranges::max(e.antecedent_weight.back()); }

}  // namespace

TEST_CASE("toy.yaml trains a head that points to the antecedent, with each of five seeds") {
  const int seed = GENERATE(1, 2, 3, 4, 5);
  CAPTURE(seed);
  const Evaluation e = evaluation_after(trained("toy.yaml", {"seed=" + std::to_string(seed)}));
  CHECK(e.accuracy >= 0.99);
  CHECK(e.counterpart_accuracy >= 0.98);
  CHECK(best_last_head(e) >= 0.6);
}

TEST_CASE("In toy.yaml, knockout and patching of the pointing head change the answers") {
  const Experiment e = trained("toy.yaml");
  const Causes found = causes(e.model, e.task.held_out, e.watched, {.most = 300});
  REQUIRE(found.pointing);
  const auto [layer, head, weight, others, flips_more] = *found.pointing;
  CHECK((layer == 1 && weight > 0.9));
  const Cause& cut = *found.find(Cause::What::edge, layer, head, "antecedent");
  CHECK(cut.accuracy.share < 0.5);  // chance: 0.5
  for (const char* to : {"other", "decider", "itself", "rest"}) {
    CAPTURE(to);
    CHECK(found.find(Cause::What::edge, layer, head, to)->accuracy.share > 0.95);
  }
  CHECK(found.find(Cause::What::edge, layer, head, "rest")->unmoved.share > 0.95);
  CHECK(found.find(Cause::What::only_edge, layer, head, "antecedent")->accuracy.share > 0.95);
  CHECK(found.find(Cause::What::edge_all_heads, layer, -1, "antecedent")->accuracy.share < 0.3);
  CHECK(found.find(Cause::What::patch_head, layer, head)->flipped.share > 0.85);
  CHECK(found.find(Cause::What::patch_layer, layer, -1)->flipped.share > 0.95);
  CHECK(found.rank_correlation_last > 0.8);
  for (const Attribution& one : found.attribution) {
    double of_answer = 0;
    for (const auto& term : one.terms) of_answer += term.source == one.antecedent ? term.logit : 0;
    CHECK(one.tokens.at(static_cast<std::size_t>(one.antecedent)) == one.answer);
    CHECK(of_answer > 0.6 * one.logit);
  }
}

TEST_CASE("examples/induction.yaml learns a previous-token head and an induction head") {
  const std::string seed = GENERATE("1", "12");
  CAPTURE(seed);
  const Experiment e = trained("examples/induction.yaml", {"seed=" + seed, "train.steps=700"});
  const Causes found = causes(e.model, e.task.held_out, e.watched, {.most = 40});
  CHECK(found.accuracy.share > 0.95);
  REQUIRE(found.pointing);
  CHECK((found.pointing->layer == 1 && found.pointing->weight > 0.5));
  CHECK(found.find(Cause::What::edge_all_heads, 1, -1, "antecedent")->accuracy.share < 0.1);
  const auto brings_cue = [](const Cause& row) {  // from the token that follows it, in the first layer
    return row.what == Cause::What::edge && row.layer == 0 && row.from == "antecedent" && row.to == "decider" &&
           row.weight > 0.3 && row.accuracy.share < 0.1;
  };
  CHECK(std::ranges::count_if(found.rows, brings_cue) == 1);
}

TEST_CASE("With shuffled antecedents, toy.yaml stays at chance level") {
  const Evaluation e = evaluation_after(trained("toy.yaml", {"data.shuffle_antecedents=true"}));
  CHECK(std::abs(e.accuracy - 0.5) < 0.05);
  CHECK(e.counterpart_accuracy < 0.2);
  CHECK(best_last_head(e) < 0.5);  // it can attend to both nouns, but cannot know which is the antecedent
}

TEST_CASE("examples/mine.yaml reaches 90 % accuracy with 180 training sentences") {
  const int seed = GENERATE(1, 2, 3);
  CAPTURE(seed);
  const Evaluation e = evaluation_after(trained("examples/mine.yaml", {"seed=" + std::to_string(seed)}));
  CHECK(e.accuracy >= 0.9);
  CHECK(e.counterpart_accuracy >= 0.9);
}

TEST_CASE("In examples/bank.yaml, a head gives the cue word a weight of 0.7 or more") {
  const Evaluation e = evaluation_after(trained("examples/bank.yaml"));
  CHECK(e.accuracy >= 0.98);
  CHECK(best_last_head(e) >= 0.7);
}

TEST_CASE("examples/chinese.yaml learns three relations; noun has another head than the others") {
  const Experiment e = trained("examples/chinese.yaml");
  std::map<std::string, std::vector<double>> weight;  // of the last layer's heads
  for (const Relation& relation : evaluate_relations(e.model, e.task.held_out)) {
    CAPTURE(relation.name);
    CHECK(relation.evaluation.accuracy >= 0.99);
    CHECK(best_last_head(relation.evaluation) >= 0.7);
    weight[relation.name] = relation.evaluation.antecedent_weight.back();
  }
  REQUIRE(weight.size() == 3);
  const auto best = [&](const char* name) { return std::ranges::max_element(weight[name]) - weight[name].begin(); };
  const auto seeks_adjectives = best("noun");
  CHECK(best("adjective") != seeks_adjectives);
  CHECK(best("pronoun") != seeks_adjectives);
  CHECK(weight["adjective"].at(seeks_adjectives) < 0.5);
  CHECK(weight["pronoun"].at(seeks_adjectives) < 0.5);
}
