#include "tests/catch.h"
#include "tests/inspect/sample.h"

#include <heed/explain/evaluation.h>

#include <cmath>

using namespace heed;

namespace {

Example asked_of(const Model& model, const char* text, int antecedent, const char* answer) {
  Example example = question(model, text);
  example.antecedent = antecedent;
  example.answer = answer;
  return example;
}

// A model whose answer is always `word`.
Model model_that_says(const std::string& word) {
  Model model = small_model();
  std::vector<double> bias(static_cast<std::size_t>(model.vocabulary.size()));
  bias[static_cast<std::size_t>(model.vocabulary[word])] = 1000;
  Tensor(model.parameters["output_bias"]).copy_from(tensor({model.vocabulary.size()}, bias));
  return model;
}

}  // namespace

TEST_CASE("evaluate counts right answers, and minimal pairs with two right answers") {
  const Model model = model_that_says("animal");
  std::vector<Example> examples{asked_of(model, "The animal because it was tired", 1, "animal"),
                                asked_of(model, "The street because it was tired", 1, "street"),
                                asked_of(model, "The animal because it was too", 1, "animal"),
                                asked_of(model, "The animal was too because it", 1, "animal")};
  const auto evaluated = [&] { return evaluate(model, NumberedExamples(examples, model.vocabulary)); };
  CHECK(evaluated().accuracy == 0.75);
  CHECK(std::isnan(evaluated().counterpart_accuracy));
  examples[0].counterpart = 1, examples[1].counterpart = 0;
  examples[2].counterpart = 3, examples[3].counterpart = 2;
  CHECK(evaluated().counterpart_accuracy == 0.5);
  CHECK(evaluated().loss > 100);  // the loss of the wrong answer, averaged over four
}

TEST_CASE("evaluate averages the weight on the antecedent over the examples that have one") {
  const Model model = small_model();
  std::vector<Example> examples{asked_of(model, "The animal because it was tired", 1, "animal"),
                                asked_of(model, "The street it", 1, "street"),
                                asked_of(model, "The dog because it", -1, "dog")};
  const Evaluation both = evaluate(model, NumberedExamples(examples, model.vocabulary));
  REQUIRE(both.antecedent_weight.size() == 2);
  REQUIRE(both.antecedent_weight[1].size() == 2);
  double expected = 0;
  for (int i = 0; i < 2; ++i) {
    const SentenceAttention one = attend(model, examples[static_cast<std::size_t>(i)]);
    expected += one.layers[1].at({1, one.query, 1}) / 2;
  }
  CHECK(both.antecedent_weight[1][1] == Approx(expected).epsilon(1e-5));
  const Evaluation none = evaluate(model, NumberedExamples({examples[2]}, model.vocabulary));
  CHECK(std::isnan(none.antecedent_weight[0][0]));
}

TEST_CASE("An answer outside the vocabulary counts as wrong, and not in the loss") {
  Model model = model_that_says("animal");
  model.vocabulary.let_stand_for_unknown("the");
  std::vector<Example> examples{asked_of(model, "The animal because it was tired", 1, "animal"),
                                asked_of(model, "The street because it was tired", 1, "street")};
  const auto evaluated = [&] { return evaluate(model, NumberedExamples(examples, model.vocabulary)); };
  const Evaluation both = evaluated();
  examples.resize(130, asked_of(model, "The animal because it was tired", 1, "newt"));  // in two batches
  CHECK(evaluated().loss == Approx(both.loss));
  CHECK(evaluated().accuracy == Approx(1.0 / 130));
}
