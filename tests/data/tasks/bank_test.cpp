#include "tests/data/tasks/generated.h"

#include <heed/data/tasks/bank.h>

#include <map>

using namespace heed;
using namespace heed::test;

TEST_CASE("bank: one cue word decides the sense, independently of the other words") {
  const Task task = bank_task(4000, 1000, Random(1));
  CHECK(texts(task.train).size() == 4000);
  CHECK(texts(task.held_out).size() == 1000);
  CHECK(text(task.held_out[0]).substr(0, 22) == "The bank of the river ");
  CHECK(text(task.held_out[1]).substr(0, 22) == "The bank of the money ");
  check_counterparts(task.train);
  check_counterparts(task.held_out);
  std::map<std::string, std::set<std::string>> senses;  // per word, in all texts that contain it
  Pairs pairs[2];
  int before = 0, unclear = 0;
  for (const Set* set : {&task.train, &task.held_out}) {
    for (const Example& e : *set) {
      CHECK(token(e, e.query) == "bank");
      CHECK((e.antecedent < 0) == (e.answer == "unclear"));
      CHECK((e.counterpart < 0) == (e.antecedent < 0));
      if (e.antecedent >= 0) CHECK(token(e, e.antecedent) == e.cue);
      for (const std::string& word : e.tokens) {
        senses[word].insert(e.answer);
        pairs[set == &task.held_out].emplace(e.cue, word);
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
  CHECK(before > 1000);  // the deciding word occurs on both sides of "bank"
  CHECK(before < 2333);
  CHECK(unclear == Approx(5000 / 3).margin(250));
  for (const char* person : {"farmer", "teacher", "pilot"}) {
    for (const auto& [word, of] : senses) {
      if (of.size() == 1) CHECK((pairs[0].count({word, person}) + pairs[1].count({word, person})) == 1);
    }
  }
  CHECK(message([] { bank_task(4, 3, Random(1)); }) ==
        "data.held_out: expected an even number, as sentences come in pairs, got 3");
  CHECK(message([] { bank_task(9602, 2, Random(1)); }) ==
        "data.sentences (pairs): expected 0 to 4800, got 4801: no more exist");
}
