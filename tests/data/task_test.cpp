#include "tests/catch.h"
#include "tests/data/helpers.h"

#include <heed/data/task.h>
#include <heed/data/tasks/coreference.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>

using namespace heed;

namespace {

Example example(std::vector<std::string> tokens, int query, int antecedent) {
  Example e;
  e.answer = tokens[static_cast<std::size_t>(antecedent)];
  e.tokens = std::move(tokens);
  e.query = query;
  e.antecedent = antecedent;
  return e;
}

std::vector<int> values(const Ids& ids) { return {ids.data(), ids.data() + ids.numel()}; }

}  // namespace

TEST_CASE("A batch is padded to its longest text") {
  const Vocabulary vocabulary({"pad", "a", "b", "it"});
  const Example longer = example({"a", "b", "it"}, 2, 1), shorter = example({"it", "a"}, 0, 1);
  const NumberedExamples examples({longer, shorter}, vocabulary);
  const Batch batch = examples.batch(0, 2);
  CHECK(batch.tokens.shape() == Shape{2, 3});
  CHECK(values(batch.tokens) == std::vector<int>{1, 2, 3, 3, 1, 0});
  CHECK(batch.lengths == std::vector<int>{3, 2});
  CHECK(values(batch.query) == std::vector<int>{2, 0});
  CHECK(values(batch.answer) == std::vector<int>{2, 1});
  CHECK(batch.segments.numel() == 0);
  const Batch twice = examples.batch({1, 1});
  CHECK(twice.tokens.shape() == Shape{2, 2});
  CHECK(values(twice.tokens) == std::vector<int>{3, 1, 3, 1});
  CHECK(values(twice.query) == std::vector<int>{0, 0});
  CHECK(values(twice.answer) == std::vector<int>{1, 1});
  CHECK(message([&] { examples.batch(std::vector<int>{}); }) == "batch: expected at least one example");
  for (const int number : {-1, 2}) {
    CHECK(message([&] { examples.batch({number}); }) ==
          fmt::format("batch: no example has number {}; expected 0 to 1", number));
  }
}

TEST_CASE("Batches contain all examples in order, and the last one holds the remainder") {
  const Vocabulary vocabulary({"pad", "a", "b", "it"});
  const Example longer = example({"a", "b", "it"}, 2, 1), shorter = example({"it", "a"}, 0, 1);
  const NumberedExamples examples({longer, shorter, longer, longer, shorter}, vocabulary);
  std::vector<std::vector<int>> lengths;
  for (const Batch& batch : examples.batches(2)) lengths.push_back(batch.lengths);
  CHECK(lengths == std::vector<std::vector<int>>{{3, 2}, {3, 3}, {2}});
  CHECK(NumberedExamples().batches(2).empty());
}

TEST_CASE("index_of returns the first position of a word, or -1") {
  const std::vector<std::string> tokens = {"the", "dog", "and", "the", "cat"};
  CHECK(index_of("the", tokens) == 0);
  CHECK(index_of("cat", tokens) == 4);
  CHECK(index_of("cow", tokens) == -1);
}

TEST_CASE("Either every example has sentence numbers, or none has") {
  const Vocabulary vocabulary({"a", "b", "it"});
  Example first = example({"a", "b", "it"}, 2, 1), second = example({"it", "a"}, 0, 1);
  first.sentences = {1, 1, 0};
  CHECK(message([&] {
          NumberedExamples({first, second}, vocabulary);
        }) == "example 1 has 0 sentence numbers for 2 tokens; expected one each, or none in the whole set");
  second.sentences = {0, 2};
  CHECK(values(NumberedExamples({first, second}, vocabulary).batch(0, 2).segments) ==
        std::vector<int>{1, 1, 0, 0, 2, 0});
}

TEST_CASE("Either every example has candidates, or none has") {
  const Vocabulary vocabulary({"a", "b", "it"});
  Example first = example({"a", "b", "it"}, 2, 1);
  const Example second = first;
  first.candidates = {{0, 1}, {1, 2}};
  first.chosen = 1;
  CHECK(message([&] {
          NumberedExamples({first, second}, vocabulary);
        }) == "example 1 has 0 candidates, the first has 2; expected some in each, or none in the whole set");
  CHECK(message([&] {
          NumberedExamples({second, first}, vocabulary);
        }) == "example 1 has 2 candidates, the first has 0; expected some in each, or none in the whole set");
}

TEST_CASE("part_of returns the rows of one part, and requires parts of equal size") {
  const Vocabulary vocabulary({"pad", "a", "b", "it"});
  const Example longer = example({"a", "b", "it"}, 2, 1), shorter = example({"it", "a"}, 0, 1);
  const Batch batch = NumberedExamples({longer, shorter, longer, shorter}, vocabulary).batch(0, 4);
  const auto second = part_of(batch, 1, 2);
  CHECK(values(second.tokens) == std::vector<int>{1, 2, 3, 3, 1, 0});
  CHECK(second.lengths == std::vector<int>{3, 2});
  CHECK(values(second.query) == std::vector<int>{2, 0});
  CHECK(second.segments.numel() == 0);
  CHECK(message([&] { part_of(batch, 0, 3); }) == "part_of: 3 parts do not divide a batch of 4");

  const Batch windows{.tokens = Ids({2, 3}, {1, 2, 3, 4, 5, 6}), .targets = Ids({6}, {2, 3, -1, 5, 6, -1})};
  const auto last = part_of(windows, 1, 2);
  CHECK(values(last.tokens) == std::vector<int>{4, 5, 6});
  CHECK(values(last.targets) == std::vector<int>{5, 6, -1});
}

TEST_CASE("Each epoch visits every example once, in its own order") {
  const Random random(7);
  std::vector<int> walk;
  for (int step = 0; step < 15; ++step) {  // 60 examples, three epochs of 20
    const std::vector<int> batch = batch_order(20, 4, step, random);
    walk.insert(walk.end(), batch.begin(), batch.end());
  }
  std::vector<int> across;
  for (int step = 0; step < 5; ++step) {
    const std::vector<int> batch = batch_order(20, 12, step, random);
    across.insert(across.end(), batch.begin(), batch.end());
  }
  CHECK(across == walk);  // the order does not depend on the batch size
  std::vector<std::vector<int>> epochs;
  for (int epoch = 0; epoch < 3; ++epoch) {
    epochs.emplace_back(walk.begin() + 20 * epoch, walk.begin() + 20 * (epoch + 1));
    std::vector<int> sorted = epochs.back(), all(20);
    std::sort(sorted.begin(), sorted.end());
    std::iota(all.begin(), all.end(), 0);
    CHECK(sorted == all);
  }
  CHECK(epochs[0] != epochs[1]);
  CHECK(epochs[1] != epochs[2]);
  CHECK(batch_order(20, 4, 3, random) != batch_order(20, 4, 3, Random(8)));
  CHECK(batch_order(3, 8, 0, random).size() == 8);  // a batch larger than the set
  CHECK(message([&] { batch_order(0, 8, 0, random); }) == "batch_order: expected at least one example");
  for (const int size : {0, -4}) {
    CHECK(message([&] { batch_order(10, size, 0, random); }) ==
          fmt::format("batch_order: expected a batch of at least one example, got {}", size));
  }
  const std::int64_t last = std::numeric_limits<std::int64_t>::max() / 4 - 1;
  for (const std::int64_t step : {std::int64_t{-1}, last + 1}) {
    CHECK(message([&] { batch_order(10, 4, step, random); }) ==
          fmt::format("batch_order: expected a step from 0 to {}, got {}", last, step));
  }
  CHECK(batch_order(10, 4, last, random).size() == 4);
}

TEST_CASE("Over many epochs an example occurs at every position equally often") {
  constexpr int count = 10, epochs = 2000;
  std::vector<std::vector<int>> times(count, std::vector<int>(count));
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const std::vector<int> order = batch_order(count, count, epoch, Random(7));
    for (std::size_t i = 0; i < count; ++i) ++times[i][static_cast<std::size_t>(order[i])];
  }
  for (const std::vector<int>& at_position : times) {
    for (const int n : at_position) CHECK(std::abs(n - 200) < 70);  // 5 standard deviations of 13.4
  }
  CHECK(batch_order(1, 3, 0, Random(7)) == std::vector<int>{0, 0, 0});
}

TEST_CASE("Counterparts differ in one word, antecedent and answer") {
  std::vector<Example> examples = {
      example({"dog", "road", "it", "tired"}, 2, 0),  // 0: counterpart of 4
      example({"dog", "road", "it", "weak"}, 2, 0),   // 1: same antecedent as 0, no counterpart
      example({"dog", "road", "it", "wide"}, 3, 1),   // 2: another query
      example({"cat", "road", "it", "wide"}, 2, 1),   // 3: two words differ from 0
      example({"dog", "road", "it", "wide"}, 2, 1),   // 4
      example({"dog", "road", "it"}, 2, 1),           // 5: another length
      example({"cow", "park", "it"}, 2, 0),           // 6: the text of 7, with another answer
      example({"cow", "park", "it"}, 2, 1)};
  pair_counterparts(examples);
  std::vector<int> counterparts, distractors;
  for (const Example& e : examples) counterparts.push_back(e.counterpart), distractors.push_back(e.distractor);
  CHECK(counterparts == std::vector<int>{4, -1, -1, -1, 0, -1, -1, -1});
  CHECK(distractors == std::vector<int>{1, -1, -1, -1, 0, -1, -1, -1});
}

TEST_CASE("An example has at most one counterpart, with a different answer") {
  std::vector<Example> examples = {example({"dog", "road", "it", "tired"}, 2, 0),
                                   example({"dog", "road", "it", "wide"}, 2, 1),    // differs in the last word,
                                   example({"cat", "road", "it", "tired"}, 2, 1)};  // in the first
  pair_counterparts(examples);
  REQUIRE(examples[0].counterpart > 0);
  CHECK(examples[static_cast<std::size_t>(examples[0].counterpart)].counterpart == 0);
  CHECK(examples[static_cast<std::size_t>(3 - examples[0].counterpart)].counterpart == -1);

  examples = {example({"dog", "dog", "it", "tired"}, 2, 0), example({"dog", "dog", "it", "wide"}, 2, 1)};
  pair_counterparts(examples);
  CHECK(examples[0].counterpart == -1);
  CHECK(examples[1].counterpart == -1);
}

TEST_CASE("pair_twins finds the minimal pairs of 20,000 sentences in less than 5 seconds") {
  Task task = coreference_task(20000, 2, Random(3));
  for (Example& e : task.train) e.counterpart = -1;
  const auto start = std::chrono::steady_clock::now();
  pair_counterparts(task.train);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  int paired = 0;
  for (std::size_t i = 0; i < task.train.size(); ++i) {
    const Example& e = task.train[i];
    if (e.counterpart < 0) continue;
    ++paired;
    const Example& counterpart = task.train[static_cast<std::size_t>(e.counterpart)];
    CHECK(counterpart.counterpart == static_cast<int>(i));
    CHECK(e.answer != counterpart.answer);
  }
  CHECK(paired > 19000);
  CHECK(seconds.count() < 5);
}

TEST_CASE("shuffle_antecedents chooses between the two candidates, and half of the choices are wrong") {
  Task task = coreference_task(2000, 2, Random(3));
  std::vector<Example> shuffled = task.train;
  shuffle_antecedents(shuffled, Random(5));
  int changed = 0;
  for (std::size_t i = 0; i < shuffled.size(); ++i) {
    const Example &before = task.train[i], &after = shuffled[i];
    CHECK(after.tokens == before.tokens);
    CHECK(after.answer == after.tokens[static_cast<std::size_t>(after.antecedent)]);
    CHECK(std::minmax(after.antecedent, after.distractor) == std::minmax(before.antecedent, before.distractor));
    changed += after.answer != before.answer;
  }
  CHECK(changed > 900);
  CHECK(changed < 1100);
  shuffled[1].distractor = -1;
  CHECK(message([&] { shuffle_antecedents(shuffled, Random(5)); }) ==
        "shuffle_antecedents: expected an antecedent and a distractor in example 1");
}

TEST_CASE("hold_out holds out a tenth of the groups and keeps groups together") {
  Task task;
  std::vector<std::vector<Example>> groups;
  for (int i = 0; i < 50; ++i) {
    groups.push_back({example({std::to_string(i), "it"}, 1, 0), example({std::to_string(i), "that"}, 1, 0)});
  }
  hold_out(task, groups, {}, Random(1));
  REQUIRE(task.train.size() == 90);
  REQUIRE(task.held_out.size() == 10);
  for (std::size_t i = 0; i < 10; i += 2) CHECK(task.held_out[i].answer == task.held_out[i + 1].answer);
  std::vector<Example> pairs;
  for (int i = 0; i < 30; ++i) {
    for (const int antecedent : {0, 1}) {
      pairs.push_back(example({std::to_string(i), "b", antecedent == 0 ? "x" : "y", "it"}, 3, antecedent));
    }
  }
  pair_counterparts(pairs);
  Task paired;
  hold_out(paired, with_counterparts(pairs), {}, Random(1));
  for (const std::vector<Example>* set : {&paired.train, &paired.held_out}) {
    for (std::size_t i = 0; i < set->size(); ++i) {  // in the new set, not in `pairs`
      CHECK((*set)[i].counterpart == static_cast<int>(i % 2 == 0 ? i + 1 : i - 1));
    }
  }
  Task again, other;
  hold_out(again, groups, {}, Random(1));
  hold_out(other, groups, {}, Random(2));
  CHECK(again.held_out[0].answer == task.held_out[0].answer);
  const auto answers = [](const Task& t) {
    std::vector<std::string> all;
    for (const Example& e : t.held_out) all.push_back(e.answer);
    return all;
  };
  CHECK(answers(other) != answers(task));
  Task small;
  small.name = "jsonl";
  groups.resize(1);
  CHECK(message([&] { hold_out(small, groups, {}, Random(1)); }) ==
        "task 'jsonl': 1 group of examples; expected two to hold one out");
}

TEST_CASE("Repetitions of a sentence are in one group with their counterparts") {
  std::vector<Example> examples;
  for (const char* cue : {"x", "y", "x", "x", "z"}) {  // x refers to the first word, y to the second
    examples.push_back(example({"a", "b", cue, "it"}, 3, cue[0] == 'y'));
  }
  examples.insert(examples.begin() + 1, example({"c", "d", "x", "it"}, 3, 0));
  pair_counterparts(examples);
  CHECK(examples[0].counterpart == 2);
  const std::vector<std::vector<Example>> groups = with_counterparts(examples);
  REQUIRE(groups.size() == 3);
  std::vector<std::string> cues;
  for (const Example& e : groups[0]) cues.push_back(e.tokens[2]);
  CHECK(cues == std::vector<std::string>{"x", "y", "x", "x"});
  CHECK(groups[1].size() == 1);
  CHECK(groups[2].size() == 1);
  Task task;
  hold_out(task, groups, {}, Random(1));
  int pairs = 0;
  for (const std::vector<Example>* set : {&task.train, &task.held_out}) {
    for (std::size_t i = 0; i < set->size(); ++i) {
      if ((*set)[i].counterpart < 0) continue;
      ++pairs;
      CHECK(set->at(static_cast<std::size_t>((*set)[i].counterpart)).counterpart == static_cast<int>(i));
    }
  }
  CHECK(pairs == 2);
}

TEST_CASE("hold_out takes each group once over all parts") {
  std::vector<std::vector<Example>> groups;
  for (int i = 0; i < 23; ++i) groups.push_back({example({std::to_string(i), "it"}, 1, 0)});
  std::vector<std::string> held_out;
  for (int fold = 1; fold <= 4; ++fold) {
    Task task;
    hold_out(task, groups, {fold, 4}, Random(1));
    CHECK((task.held_out.size() == 5 || task.held_out.size() == 6));
    CHECK(task.train.size() + task.held_out.size() == 23);
    for (const Example& e : task.held_out) held_out.push_back(e.answer);
  }
  std::ranges::sort(held_out);
  CHECK(std::ranges::adjacent_find(held_out) == held_out.end());
  CHECK(held_out.size() == 23);
  Task task;
  task.name = "jsonl";
  CHECK(message([&] {
          hold_out(task, groups, {24, 24}, Random(1));
        }) ==
        "task 'jsonl': 23 groups of examples (sentences, minimal pairs, stories) make no 24 parts to hold out in turn");
  CHECK(message([&] {
          hold_out(task, groups, {5, 4}, Random(1));
        }) == "hold_out: expected a part from 1 to the number of parts, at least 2, got 5 of 4");
}

TEST_CASE("complete() sets the vocabulary, the longest text and the number of sentences of a task") {
  Task task;
  task.name = "t";
  task.train = {example({"a", "it"}, 1, 0)};
  task.held_out = {example({"b", "c", "it"}, 2, 0)};
  task.held_out[0].answer = "d";
  complete(task);
  CHECK(task.vocabulary.words() == std::vector<std::string>{"a", "it", "b", "c", "d"});
  CHECK(task.max_length == 3);
  CHECK(task.max_sentences == 0);
  task.train[0].sentences = {4, 0};
  CHECK(message([&] { complete(task); }) == "task 't': 1 of 2 examples have sentence numbers; expected all or none");
  task.held_out[0].sentences = {0, 0, 0};
  complete(task);
  CHECK(task.max_sentences == 5);
}
