#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/explain/class_texts.h>
#include <heed/explain/pairs.h>
#include <heed/explain/studies/evaluation.h>
#include <heed/files/file.h>

using namespace heed;

TEST_CASE("Texts with labels are read by name or number, and evaluated by class") {
  const Model model = small_model(classifier_of(small_config()));
  const Scratch scratch;
  write_file(scratch / "texts.jsonl", R"({"text": "the dog was tired", "label": "good"}

{"text": "it was too tired", "label": 0}
{"text": "the animal was tired", "label": "bad"}
)");
  const std::vector<Example> examples = read_class_texts(model, scratch / "texts.jsonl");
  REQUIRE(examples.size() == 3);
  CHECK((examples[0].answer == "good" && examples[1].answer == "bad" && examples[2].answer == "bad"));
  CHECK(examples[1].tokens == std::vector<std::string>{"it", "was", "too", "tired"});
  double right = 0;
  for (const Example& example : examples) {
    right += argmax(model.logits(batch_of(model, example)))[0] == right_answer(model, example);
  }
  const AnswerEvaluation found = evaluate_answers(model, examples);
  CHECK(found.sentences == 3);
  CHECK(found.accuracy.share == Approx(right / 3));
  REQUIRE(found.groups.size() == 2);
  CHECK((found.groups[0].name == "bad" && found.groups[0].sentences == 2));
}

TEST_CASE("Mistakes in texts with labels are listed by line") {
  const Model model = small_model(classifier_of(small_config()));
  const Scratch scratch;
  write_file(scratch / "texts.jsonl", R"({"text": "the dog", "label": "great"}
{"text": "the dog", "label": 3}
{"text": 3, "label": "bad"}
{"label": "bad"}
{"text": "the cat", "label": "bad"}
[]
)");
  CHECK(message([&] { read_class_texts(model, scratch / "texts.jsonl"); }, (scratch / "texts.jsonl").string()) ==
        "FILE:1: label: expected one of the classes bad, fair, good, or a number from 0 to 2, got \"great\"\n"
        "FILE:2: label: expected one of the classes bad, fair, good, or a number from 0 to 2, got 3\n"
        "FILE:3: text: expected a text, got 3\n"
        "FILE:4: missing key 'text'\n"
        "FILE:5: not among the 14 words that the model knows: 'cat'\n"
        "FILE:6: expected an object {\"text\": ..., \"label\": ...}, got []");
  write_file(scratch / "texts.jsonl", "\n");
  CHECK(message([&] { read_class_texts(model, scratch / "texts.jsonl"); }, (scratch / "texts.jsonl").string()) ==
        "FILE: expected texts with labels, one JSON object per line, got none");
  CHECK(message([&] { read_class_texts(small_model(), "texts.jsonl"); }) ==
        "texts.jsonl: texts with labels are for a model that tells the class of a text");
}

TEST_CASE("The answers of pairs are classes for a text classifier") {
  const Model model = small_model(classifier_of(small_config()));
  const Example clean = question(model, "the dog was tired");
  CHECK(answer_index(model, "the dog was tired", clean, "good") == 2);
  CHECK(message([&] { answer_index(model, "the dog was tired", clean, "god"); }) ==
        "expected one of the classes bad, fair, good, got 'god' (did you mean 'good'?)");
}
