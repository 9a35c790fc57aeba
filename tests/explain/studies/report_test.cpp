#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"
#include "views/view.h"

#include <heed/data/overlap.h>
#include <heed/explain/studies/report.h>

#include <cmath>

using namespace heed;

namespace {

const std::vector<std::string> known{"cup", "hid", "jam", "it", "big", "tiny", "was", "tea", ".", "the"};

Model choosing_model(bool or_none = false, Unknown unknown = Unknown::token) {
  Model model;
  if (unknown == Unknown::token) model.vocabulary.let_stand_for_unknown("<unk>");
  for (const std::string& word : known) model.vocabulary.add(word);
  make_network(model, chooser_of({.max_length = 8, .block = {.attention = {.d_model = 8, .heads = 2}}}, or_none));
  model.queries = {"it"};
  return model;
}

Example asked(const std::string& word, int chosen, const std::string& last = ".") {
  Example example{
      .tokens = {"the", "cup", "hid", "jam", "it", "was", word, last}, .query = 4, .candidates = {{0, 2}, {3, 4}}};
  choose(example, chosen);
  return example;
}

Baselines baselines_of(const std::vector<Example>& training, const Model& model) {
  Baselines result{.bag = BagOfWords(training, model.vocabulary), .training = {}};
  for (const Example& example : training) result.training.insert(sentence_number(example));
  return result;
}

// Returns the model's choice for each sentence, asked one at a time.
int chosen_by(const Model& model, const Example& example) {
  const std::string said = attend(model, example).predicted;
  return said == "(none)" ? -1 : said == "jam";
}

}  // namespace

TEST_CASE("report counts correct answers and correct pairs, for the model and for the baselines") {
  const Model model = choosing_model();
  const Baselines baselines = baselines_of({asked("big", 0, "tea"), asked("tiny", 1, "tea")}, model);
  std::vector<Example> set;
  for (const std::string& word : known) {
    set.push_back(asked(word, 0));
    set.push_back(asked(word, 1, "hid"));
    set[set.size() - 2].counterpart = static_cast<int>(set.size() - 1);
    set.back().counterpart = static_cast<int>(set.size() - 2);
  }
  int right = 0, both = 0;
  for (std::size_t i = 0; i < set.size(); i += 2) {
    const bool one = chosen_by(model, set[i]) == 0, other = chosen_by(model, set[i + 1]) == 1;
    right += one + other;
    both += one && other;
  }
  const Report c = report(model, baselines, "mine", set);
  CHECK(c.sentences == 20);
  CHECK(c.pairs == 10);
  CHECK(c.model.share == Approx(right / 20.0));
  CHECK(c.both_of_pair.share == Approx(both / 10.0));
  CHECK(c.coin == Approx(0.5));
  CHECK(c.nearest == 0.5);  // the jam
  CHECK(c.first == 0.5);
  CHECK_FALSE(c.most_frequent);
  CHECK(c.groups.empty());
  CHECK(c.right.sentences + c.wrong.sentences == 20);
  CHECK(c.right.sentences == right);

  std::vector<Example> all_jam = set;
  for (Example& e : all_jam) {
    choose(e, 1);
    e.counterpart = -1;
  }
  const Report jam = report(model, baselines, "jam", all_jam);
  CHECK(jam.nearest == 1);
  CHECK(jam.most_frequent == 1);
  CHECK(jam.over_most_frequent->share == Approx(jam.model.share - 1));
  CHECK(jam.first == 0);
  CHECK(jam.pairs == 0);
  CHECK(std::isnan(jam.both_of_pair.share));
}

TEST_CASE("report leaves out and counts sentences of the training set") {
  const Model model = choosing_model();
  const Baselines baselines = baselines_of({asked("big", 0), asked("tiny", 1)}, model);
  const Report c =
      report(model, baselines, "leaky", {asked("big", 1), asked("tea", 0), asked("tiny", 1), asked("jam", 1)});
  CHECK(c.known == 2);
  CHECK(c.sentences == 2);
  CHECK(report_view(c, {}).find("2 sentences; 2 left out because the training set has them") != std::string::npos);
  CHECK(message([&] { report(model, baselines, "known", {asked("big", 1)}); }) ==
        "known: no sentence is left: 1 are in the training set, and 0 are too long");
}

TEST_CASE("report leaves out and counts sentences longer than the model's positions") {
  const Model model = choosing_model();
  std::vector<Example> set{asked("big", 0), asked("tea", 1), asked("tiny", 1)};
  set[0].tokens.push_back("tea");
  set[0].counterpart = 2;
  set[2].counterpart = 0;
  const Report c = report(model, baselines_of({asked("was", 0)}, model), "long", set);
  CHECK(c.too_long == 1);
  CHECK(c.sentences == 2);
  CHECK(c.pairs == 0);
}

TEST_CASE("The controls of a report hide the words of the candidates, or those before the query") {
  const Model model = choosing_model();
  std::vector<Example> set, hidden, after;
  for (const std::string& word : known) {
    set.push_back(asked(word, 0));
    hidden.push_back(set.back());
    hidden.back().tokens[0] = hidden.back().tokens[1] = hidden.back().tokens[3] = "newt";  // unknown
    after.push_back(set.back());
    after.back().tokens[2] = "newt";
  }
  const Baselines baselines = baselines_of({asked("was", 0, "tea")}, model);
  const Report c = report(model, baselines, "set", set);
  REQUIRE(c.without_candidates.has_value());
  CHECK(c.without_candidates->share == report(model, baselines, "hidden", hidden).model.share);
  CHECK(c.after_query->share == report(model, baselines, "after", after).model.share);

  const Model of_known = choosing_model(false, Unknown::error);
  const Report without = report(of_known, baselines_of({asked("was", 0, "tea")}, of_known), "set", set);
  CHECK_FALSE(without.without_candidates.has_value());
}

TEST_CASE("report computes F1 per group over its candidates, as GAP does") {
  const Model model = choosing_model(true);
  std::vector<Example> set;
  int tp = 0, fp = 0, fn = 0;
  for (const std::string& word : known) {
    for (const int chosen : {0, 1, -1}) {
      set.push_back(asked(word, chosen));
      set.back().relation = chosen == 0 ? "masculine" : "feminine";
      const int said = chosen_by(model, set.back());
      if (chosen == 0) continue;
      for (const int candidate : {0, 1}) {
        tp += said == candidate && chosen == candidate;
        fp += said == candidate && chosen != candidate;
        fn += said != candidate && chosen == candidate;
      }
    }
  }
  const Report c = report(model, baselines_of({asked("was", -1, "tea")}, model), "names", set);
  CHECK(c.coin == Approx(1.0 / 3));
  REQUIRE(c.groups.size() == 2);
  CHECK(c.groups[1].name == "feminine");
  CHECK(c.groups[1].sentences == 20);
  CHECK(c.groups[1].F1 == Approx(2.0 * tp / (2 * tp + fp + fn)));
}

TEST_CASE("report measures the mean weight of its head on the correct candidate") {
  const Model model = choosing_model();
  const std::vector<Example> set{asked("big", 0), asked("tea", 1), asked("tiny", 1), asked("jam", 0)};
  const Report c = report(model, baselines_of({asked("was", 0)}, model), "set", set);
  // The mean weight of that head, from the attention to each sentence.
  double meant = 0;
  for (const Example& e : set) {
    const Tensor weights = attend(model, e).layers.at(static_cast<std::size_t>(c.layer));
    const Span span = e.candidates[static_cast<std::size_t>(e.chosen)];
    for (int token = span.begin; token < span.end; ++token) meant += weights.at({c.head, e.query, token}) / 4;
  }
  const double of_report = (c.right.sentences ? c.right.meant * c.right.sentences : 0) +
                           (c.wrong.sentences ? c.wrong.meant * c.wrong.sentences : 0);
  CHECK(of_report / 4 == Approx(meant).margin(1e-6));
}

TEST_CASE("report rejects a model that answers with words") {
  const Model model = small_model();
  const Baselines baselines = baselines_of({asked("was", 0)}, choosing_model());
  CHECK(message([&] { report(model, baselines, "set", {asked("big", 0)}); }) ==
        "a report needs a model that chooses among candidates (model.answer: candidate); this one answers "
        "questions about sentences. inspect evaluate measures any model");
}
