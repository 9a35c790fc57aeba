#include "tests/data/tasks/generated.h"

#include <heed/data/tasks/chinese.h>

#include <map>

using namespace heed;
using namespace heed::test;

TEST_CASE("chinese: the task has three kinds of question, with counterparts and expected words") {
  const Task task = chinese_task(3600, 900, Random(1));
  CHECK(task.train.size() == 3600);
  CHECK(task.held_out.size() == 900);
  CHECK(texts(task.train).size() == 3600);
  CHECK(texts(task.held_out).size() == 900);
  CHECK(task.held_out[0].answer == "苹果");
  CHECK(task.held_out[0].query == 2);
  CHECK(task.held_out[1].answer == "甜");
  CHECK(task.held_out[1].query == 0);
  check_counterparts(task.train);
  check_counterparts(task.held_out);
  std::map<std::string, int> relations;
  for (const Example& e : task.train) {
    CHECK(token(e, e.antecedent) == e.answer);
    CHECK((e.relation == "pronoun") == (token(e, e.query) == "它"));
    if (e.relation == "pronoun") CHECK(e.counterpart >= 0);
    ++relations[e.relation];
  }
  CHECK(relations == std::map<std::string, int>{{"adjective", 1400}, {"noun", 1400}, {"pronoun", 800}});
  for (const char* word : {"小狗", "没有", "过", "马路", "，", "因为", "它", "太", "累", "了", "宽", "柠檬", "酸"}) {
    CHECK(task.vocabulary.contains(word));
  }
}

TEST_CASE("chinese: held-out pairs of noun and adjective do not occur in training") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Task task = chinese_task(14400, 3600, Random(seed));
    const auto pairs_of = [](const Set& set) {
      Pairs pairs;
      for (const Example& e : set) {
        if (e.relation == "pronoun") pairs.emplace(e.answer, e.cue);
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
