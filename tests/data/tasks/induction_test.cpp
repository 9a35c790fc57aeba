#include "tests/catch.h"
#include "tests/message.h"

#include <heed/data/tasks/induction.h>

#include <set>

using namespace heed;

TEST_CASE("induction: a sequence is distinct signs, and then the same signs in the same order") {
  const Task task = induction_task(300, 20, 32, Random(1));
  REQUIRE(task.corpus);
  const Corpus& corpus = *task.corpus;
  CHECK(corpus.train.size() == 300 * 33);
  CHECK(corpus.held_out.size() == 20 * 33);
  CHECK(corpus.is_sequences);
  std::set<std::int64_t> periods;
  for (std::int64_t begin = 0; begin < corpus.train.size(); begin += 33) {
    std::int64_t period = 1;
    while (corpus.train[begin + period] != corpus.train[begin]) ++period;
    periods.insert(period);
    std::set<std::int32_t> different;
    for (std::int64_t t = 0; t < period; ++t) different.insert(corpus.train[begin + t]);
    CHECK(std::ssize(different) == period);
    for (std::int64_t t = period; t < 33; ++t) CHECK(corpus.train[begin + t] == corpus.train[begin + t - period]);
  }
  CHECK((*periods.begin() == 8 && *periods.rbegin() == 16 && periods.size() == 9));
}

TEST_CASE("induction: the query is a repeated sign, and the answer follows its first occurrence") {
  const Task task = induction_task(10, 300, 40, Random(2));
  REQUIRE(task.held_out.size() == 200);
  for (const Example& piece : task.held_out) {
    CHECK(piece.query + 1 == std::ssize(piece.tokens));
    CHECK(piece.tokens[static_cast<std::size_t>(piece.antecedent) - 1] == piece.tokens.back());
    CHECK(index_of(piece.cue, piece.tokens) == piece.antecedent - 1);
    CHECK(piece.answer == piece.tokens[static_cast<std::size_t>(piece.antecedent)]);
    CHECK(piece.antecedent < piece.query);
  }
  CHECK(message([] { induction_task(1, 1, 8, Random(1)); }) ==
        "data.context: task induction needs from 16 to 124, got 8");
}
