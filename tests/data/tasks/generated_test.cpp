// What holds for every task that makes its own sentences, and what each promises beyond.
#include "tests/catch.h"
#include "tests/data/helpers.h"

#include <heed/data/tasks/bank.h>
#include <heed/data/tasks/chinese.h>
#include <heed/data/tasks/coreference.h>

#include <algorithm>
#include <map>
#include <set>

using namespace heed;
using heed::test::message;
using heed::test::text;

namespace {

using Pairs = std::set<std::pair<std::string, std::string>>;
using Set = std::vector<Example>;

std::set<std::string> texts(const Set& set) {
  std::set<std::string> all;
  for (const Example& e : set) all.insert(fmt::format("{} @{}", text(e), e.query));
  return all;
}

bool share(const Pairs& a, const Pairs& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& pair) { return b.count(pair) > 0; });
}

std::string token(const Example& e, int place) { return e.tokens.at(static_cast<std::size_t>(place)); }

void check_twins(const Set& set) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (set[i].twin < 0) continue;
    const Example& twin = set.at(static_cast<std::size_t>(set[i].twin));
    REQUIRE(twin.twin == static_cast<int>(i));
    REQUIRE(twin.answer != set[i].answer);
    REQUIRE(twin.query == set[i].query);
    int differences = 0;
    for (std::size_t t = 0; t < twin.tokens.size(); ++t) differences += twin.tokens[t] != set[i].tokens[t];
    REQUIRE(differences == 1);
  }
}

Pairs coreference_pairs(const Set& set) {
  Pairs pairs;
  for (const Example& e : set) pairs.emplace(e.answer, e.decider);
  return pairs;
}

}  // namespace

TEST_CASE("coreference: sizes, words and sentences as promised") {
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
  check_twins(task.train);
  check_twins(task.held_out);
}

TEST_CASE("coreference: both nouns are candidates, one pronoun asks") {
  const Task task = coreference_task(2000, 500, Random(2));
  std::map<std::string, std::set<std::string>> adjectives;  // by noun
  for (const Set* set : {&task.train, &task.held_out}) {
    for (const Example& e : *set) {
      CHECK(token(e, e.query) == "it");
      CHECK(std::count(e.tokens.begin(), e.tokens.end(), "it") == 1);
      CHECK(token(e, e.antecedent) == e.answer);
      CHECK(token(e, e.distractor) != e.answer);
      CHECK(std::count(e.tokens.begin(), e.tokens.end(), e.decider) == 1);
      adjectives[e.answer].insert(e.decider);
    }
  }
  CHECK(adjectives.size() == 24);  // 12 animals, 12 places
  for (const auto& [noun, own] : adjectives) CHECK(own.size() == 10);
}

TEST_CASE("coreference: neither position nor frequency tells the antecedent") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Task task = coreference_task(4000, 1000, Random(seed));
    for (const Set* set : {&task.train, &task.held_out}) {
      // By length and by place of the pronoun, that is by shape: the antecedent is the first noun in half of
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

TEST_CASE("coreference: held-out pairs are unseen, their words are not") {
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

TEST_CASE("coreference: the seed decides, sizes have limits") {
  const Task task = coreference_task(200, 100, Random(1));
  CHECK(texts(task.train) == texts(coreference_task(200, 100, Random(1)).train));
  CHECK(texts(task.train) != texts(coreference_task(200, 100, Random(2)).train));
  CHECK(message([] { coreference_task(5, 2, Random(1)); }) ==
        "data.sentences: expected an even number, as sentences come in twins, got 5");
  CHECK(message([] { coreference_task(2, 40000, Random(1)); }) ==
        "data.held_out (twins): expected 0 to 18432, got 20000: there are no more");
  CHECK(texts(coreference_task(2, 36864, Random(1)).held_out).size() == 36864);
}

TEST_CASE("bank: one word decides the sense, whatever stands around it") {
  const Task task = bank_task(4000, 1000, Random(1));
  CHECK(texts(task.train).size() == 4000);
  CHECK(texts(task.held_out).size() == 1000);
  CHECK(text(task.held_out[0]).substr(0, 22) == "The bank of the river ");
  CHECK(text(task.held_out[1]).substr(0, 22) == "The bank of the money ");
  check_twins(task.train);
  check_twins(task.held_out);
  std::map<std::string, std::set<std::string>> senses;  // of a word, in all texts that have it
  Pairs pairs[2];
  int before = 0, unclear = 0;
  for (const Set* set : {&task.train, &task.held_out}) {
    for (const Example& e : *set) {
      CHECK(token(e, e.query) == "bank");
      CHECK((e.antecedent < 0) == (e.answer == "unclear"));
      CHECK((e.twin < 0) == (e.antecedent < 0));
      if (e.antecedent >= 0) CHECK(token(e, e.antecedent) == e.decider);
      for (const std::string& word : e.tokens) {
        senses[word].insert(e.answer);
        pairs[set == &task.held_out].emplace(e.decider, word);
      }
      before += e.antecedent >= 0 && e.antecedent < e.query;
      unclear += e.antecedent < 0;
    }
  }
  int shore = 0, finance = 0;
  for (const auto& [word, of] : senses) {
    shore += of == std::set<std::string>{"shore"};
    finance += of == std::set<std::string>{"finance"};
  }
  CHECK(shore == 10);
  CHECK(finance == 10);
  CHECK(before > 1000);  // the deciding word stands on both sides of "bank"
  CHECK(before < 2333);
  CHECK(unclear == Approx(5000 / 3).margin(250));
  for (const char* person : {"farmer", "teacher", "pilot"}) {
    for (const auto& [word, of] : senses) {
      if (of.size() == 1) CHECK((pairs[0].count({word, person}) + pairs[1].count({word, person})) == 1);
    }
  }
  CHECK(message([] { bank_task(9602, 2, Random(1)); }) ==
        "data.sentences (twins): expected 0 to 4800, got 4801: there are no more");
}

TEST_CASE("chinese: three questions, the first held out is 苹果 很 甜") {
  const Task task = chinese_task(3600, 900, Random(1));
  CHECK(task.train.size() == 3600);
  CHECK(task.held_out.size() == 900);
  CHECK(texts(task.train).size() == 3600);
  CHECK(texts(task.held_out).size() == 900);
  CHECK(task.held_out[0].answer == "苹果");
  CHECK(task.held_out[0].query == 2);
  CHECK(task.held_out[1].answer == "甜");
  CHECK(task.held_out[1].query == 0);
  check_twins(task.train);
  check_twins(task.held_out);
  std::map<std::string, int> relations;
  for (const Example& e : task.train) {
    CHECK(token(e, e.antecedent) == e.answer);
    CHECK((e.relation == "pronoun") == (token(e, e.query) == "它"));
    if (e.relation == "pronoun") CHECK(e.twin >= 0);
    ++relations[e.relation];
  }
  CHECK(relations == std::map<std::string, int>{{"adjective", 1400}, {"noun", 1400}, {"pronoun", 800}});
  for (const char* word : {"小狗", "没有", "过", "马路", "，", "因为", "它", "太", "累", "了", "宽", "柠檬", "酸"}) {
    CHECK(task.vocabulary.contains(word));
  }
}

TEST_CASE("chinese: held-out pairs of noun and adjective are unseen") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Task task = chinese_task(14400, 3600, Random(seed));
    const auto pairs_of = [](const Set& set) {
      Pairs pairs;
      for (const Example& e : set) {
        if (e.relation == "pronoun") pairs.emplace(e.answer, e.decider);
        if (e.relation == "adjective") pairs.emplace(e.answer, token(e, e.query));
        if (e.relation == "noun") pairs.emplace(token(e, e.query), e.answer);
      }
      return pairs;
    };
    const Pairs seen = pairs_of(task.train), unseen = pairs_of(task.held_out);
    CHECK_FALSE(share(seen, unseen));
    CHECK(seen.size() > 280);  // of 288: 36 nouns with 8 adjectives each
    CHECK(seen.size() <= 288);
    CHECK(unseen.size() == 72);
    CHECK(text(task.held_out[0]) == "苹果 很 甜");
  }
  CHECK(texts(chinese_task(100, 50, Random(1)).train) == texts(chinese_task(100, 50, Random(1)).train));
  CHECK(texts(chinese_task(100, 50, Random(1)).train) != texts(chinese_task(100, 50, Random(2)).train));
  CHECK(chinese_task(100, 50, Random(1)).train.size() == 100);
}
