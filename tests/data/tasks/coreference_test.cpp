#include "tests/data/tasks/generated.h"

#include <heed/data/tasks/coreference.h>

#include <map>

using namespace heed;
using namespace heed::test;

namespace {

Pairs coreference_pairs(const Set& set) {
  Pairs pairs;
  for (const Example& e : set) pairs.emplace(e.answer, e.cue);
  return pairs;
}

}  // namespace

TEST_CASE("coreference: the task has the documented sizes, words and sentences") {
  const Task task = coreference_task(4000, 1000, Random(1));
  CHECK(task.train.size() == 4000);
  CHECK(task.held_out.size() == 1000);
  CHECK(texts(task.train).size() == 4000);  // no sentence twice
  CHECK(texts(task.held_out).size() == 1000);
  CHECK(task.max_length == 14);
  CHECK(task.held_out[0].answer == "animal");
  CHECK(task.held_out[1].answer == "street");
  for (const char* word : {"The", "dog", "didn't", "cross", "the", "road", "because", "it", "was", "too", "muddy"}) {
    CHECK(task.vocabulary.contains(word));
  }
  std::set<std::size_t> lengths;
  for (const Example& e : task.train) lengths.insert(e.tokens.size());
  CHECK(lengths == std::set<std::size_t>{11, 12, 13, 14});
  check_counterparts(task.train);
  check_counterparts(task.held_out);
}

TEST_CASE("coreference: both nouns are candidates, and the pronoun is the query") {
  const Task task = coreference_task(2000, 500, Random(2));
  std::map<std::string, std::set<std::string>> adjectives;  // by noun
  for (const Set* set : {&task.train, &task.held_out}) {
    for (const Example& e : *set) {
      CHECK(token(e, e.query) == "it");
      CHECK(std::count(e.tokens.begin(), e.tokens.end(), "it") == 1);
      CHECK(token(e, e.antecedent) == e.answer);
      CHECK(token(e, e.distractor) != e.answer);
      CHECK(std::count(e.tokens.begin(), e.tokens.end(), e.cue) == 1);
      adjectives[e.answer].insert(e.cue);
    }
  }
  CHECK(adjectives.size() == 24);  // 12 animals, 12 places
  for (const auto& [noun, own] : adjectives) CHECK(own.size() == 10);
}

TEST_CASE("coreference: position and frequency do not predict the antecedent") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Task task = coreference_task(4000, 1000, Random(seed));
    for (const Set* set : {&task.train, &task.held_out}) {
      // By length and by index of the pronoun, that is by shape: the antecedent is the first noun in half of
      // them.
      std::map<std::pair<std::size_t, int>, std::pair<int, int>> first_of;
      std::map<std::string, int> answers;
      int before_query = 0;
      for (const Example& e : *set) {
        auto& [first, all] = first_of[{e.tokens.size(), e.query}];
        first += e.antecedent < e.distractor;
        ++all;
        before_query += e.antecedent < e.query;
        ++answers[e.answer];
      }
      for (const auto& [shape, counts] : first_of) CHECK(2 * counts.first == counts.second);
      CHECK(answers.size() == 24);
      const int size = static_cast<int>(set->size());
      CHECK(before_query > size * 4 / 10);
      CHECK(before_query < size * 6 / 10);
      for (const auto& [noun, count] : answers) {
        CHECK(count > size / 24 / 2);
        CHECK(count < size / 24 * 2);
      }
    }
  }
}

TEST_CASE("coreference: held-out pairs do not occur in training, but their words do") {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const Task task = coreference_task(8000, 2000, Random(seed));
    const Pairs seen = coreference_pairs(task.train), unseen = coreference_pairs(task.held_out);
    CHECK_FALSE(share(seen, unseen));
    CHECK(seen.size() == 192);   // 24 nouns with 8 adjectives each
    CHECK(unseen.size() == 48);  // and 2
    CHECK(unseen.count({"animal", "tired"}) == 1);
    CHECK(unseen.count({"street", "wide"}) == 1);
    CHECK(text(task.held_out[0]) == "The animal didn't cross the street because it was too tired");
    CHECK(text(task.held_out[1]) == "The animal didn't cross the street because it was too wide");
    std::set<std::string> adjectives;
    for (const auto& [noun, adjective] : seen) adjectives.insert(adjective);
    CHECK(adjectives.size() == 20);
  }
}

TEST_CASE("coreference: the seed determines the sentences, and sizes have limits") {
  const Task task = coreference_task(200, 100, Random(1));
  CHECK(texts(task.train) == texts(coreference_task(200, 100, Random(1)).train));
  CHECK(texts(task.train) != texts(coreference_task(200, 100, Random(2)).train));
  CHECK(message([] { coreference_task(5, 2, Random(1)); }) ==
        "data.sentences: expected an even number, as sentences come in pairs, got 5");
  CHECK(message([] { coreference_task(2, 40000, Random(1)); }) ==
        "data.held_out (pairs): expected 0 to 18432, got 20000: no more exist");
  CHECK(texts(coreference_task(2, 36864, Random(1)).held_out).size() == 36864);
}
