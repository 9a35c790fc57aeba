#include "tests/catch.h"

#include <heed/data/unknown_words.h>

using namespace heed;

namespace {

Example asked(const std::vector<std::string>& tokens) {
  return {.tokens = tokens, .query = 1, .antecedent = 0, .answer = tokens[0]};
}

}  // namespace

TEST_CASE("learn_unknown makes rare training words and words only in held-out sentences unknown") {
  Task task;
  task.train = {asked({"cat", "it", "ran"}), asked({"cat", "it", "sat"}), asked({"dog", "it", "ran"})};
  task.held_out = {asked({"cat", "it", "flew"}), asked({"newt", "it", "ran"})};
  learn_unknown(task, 2);
  CHECK(task.vocabulary.words() == std::vector<std::string>{"<unk>", "cat", "it", "ran"});
  CHECK(task.vocabulary["sat"] == 0);
  CHECK(task.vocabulary["newt"] == 0);
  CHECK(task.vocabulary["ran"] == 3);

  for (Example& example : task.train) example.answer = "yes";  // not a word of any sentence
  learn_unknown(task, 3);
  CHECK(task.vocabulary.words() == std::vector<std::string>{"<unk>", "it", "yes"});
  learn_unknown(task, 2);

  const UnknownShare share = unknown_share(task.held_out, task.vocabulary);
  CHECK(share.types == 5);  // cat it flew newt ran
  CHECK(share.unknown_types == 2);
  CHECK(share.words == 6);
  CHECK(share.unknown_words == 2);

  // An unknown answer counts as wrong even if the model answers "<unk>".
  const Batch batch = NumberedExamples(task.held_out, task.vocabulary).batch(0, 2);
  CHECK(batch.answer[0] == 1);
  CHECK(batch.answer[1] == -1);
}
