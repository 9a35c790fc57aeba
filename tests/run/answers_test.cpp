#include "run/answers.h"

#include "tests/catch.h"
#include "tests/message.h"

using namespace heed;

namespace {

const Vocabulary& known_words() {
  static const Vocabulary all = [] {
    Vocabulary result;
    result.let_stand_for_unknown("<unk>");
    for (const char* word : {"the", "cup", "jam", "it"}) result.add(word);
    return result;
  }();
  return all;
}

struct Answering {
  Parameters parameters;
  Reader reader;
  explicit Answering(Answer answer)
      : reader(Scope(parameters, 1),
               {.vocabulary = known_words().size(), .max_length = 6, .answer = answer, .attention = {.d_model = 4}}) {}
};

// "the cup the jam it", with a number of candidates, of which one is chosen, or none.
Example choice(int chosen, std::size_t candidates = 2) {
  Example example{.tokens = {"the", "cup", "the", "jam", "it"}, .query = 4, .candidates = {{0, 2}, {2, 4}, {3, 4}}};
  example.candidates.resize(candidates);
  choose(example, chosen);
  return example;
}

std::vector<int> numbers_of(const Ids& ids) { return {ids.data(), ids.data() + ids.numel()}; }

}  // namespace

TEST_CASE("The right answer is a candidate's number; none of them is the number after the batch's last, or no logit") {
  const std::vector<Example> examples{choice(1), choice(-1), choice(2, 3)};
  const Batch batch = NumberedExamples(examples, known_words()).batch(0, 3);
  const Answering either(Answer::candidate), or_none(Answer::candidate_or_none);
  CHECK(numbers_of(right_answers(either.reader, batch)) == std::vector<int>{1, -1, 2});
  CHECK(numbers_of(right_answers(or_none.reader, batch)) == std::vector<int>{1, 3, 2});
  CHECK(right_answer(either.reader, known_words(), examples[0]) == 1);
  CHECK(right_answer(either.reader, known_words(), examples[1]) == -1);
  CHECK(right_answer(or_none.reader, known_words(), examples[1]) == 2);
  CHECK(answer_text(or_none.reader, known_words(), examples[1], 1) == "the jam");
  CHECK(answer_text(or_none.reader, known_words(), examples[1], 2) == "(none)");

  const Batch without = NumberedExamples({choice(1, 2), choice(0, 2)}, known_words()).batch(0, 2);
  Batch unmarked = without;
  unmarked.candidates = {};
  CHECK(message([&] { right_answers(either.reader, unmarked); }) ==
        "the model chooses among candidates; these examples have none");
}

TEST_CASE("The right answer is a word's number; a word that is unknown has no logit") {
  const Answering word(Answer::word);
  Example example{.tokens = {"the", "cup", "it"}, .query = 2, .answer = "cup"};
  const Batch batch = NumberedExamples({example}, known_words()).batch(0, 1);
  CHECK(numbers_of(right_answers(word.reader, batch)) == std::vector<int>{2});
  CHECK(right_answer(word.reader, known_words(), example) == 2);
  CHECK(answer_text(word.reader, known_words(), example, 2) == "cup");
  example.answer = "tea";
  CHECK(right_answer(word.reader, known_words(), example) == -1);
}
