#include "tests/catch.h"
#include "tests/formats/hugging_face/copied_model.h"
#include "tests/inspect/inspected_run.h"
#include "tests/inspect/pretrained_model.h"

#include <heed/files/file.h>

using namespace heed;

TEST_CASE("inspect pairs prints pairs that read_pairs takes, or says what it expects") {
  const InspectedRun run;
  CHECK(run.is_usage_error(
      {"pairs", "RUN"},
      "expected --task, one of ioi, greater_than, agreement, gender, induction (see inspect pairs --help)"));
  CHECK(run.is_usage_error({"pairs", "RUN", "--task", "oi"},
                           "expected one of ioi, greater_than, agreement, gender, induction as --task, got 'oi' (see "
                           "inspect pairs --help)"));
  CHECK(run.is_usage_error({"pairs", "RUN", "--task", "ioi", "--language", "fr"},
                           "expected one of en, zh as --language, got 'fr' (see inspect pairs --help)"));
  CHECK(run.is_usage_error({"pairs", "RUN", "--task", "ioi", "--count", "0"},
                           "--count: expected a number from 1 to 1000000, got 0 (see inspect pairs --help)"));
  CHECK(run.error({"pairs", "RUN", "--task", "ioi"})
            .starts_with("expected a model that predicts tokens, got one that answers questions about a sentence"));

  CopiedModel copy("gpt2");
  write_file(copy.path() / "tokenizer.json", tokenizer_of_words());
  CHECK(message([&] {
          (void)shown({"pairs", copy.path().string(), "--task", "gender"});
        }) == "gender: expected at least 2 places that the model knows as single tokens, got 0 of 11 (--language en)");
  Json words = parse_json(tokenizer_of_words());
  Json& vocabulary = words["model"]["vocab"];
  int id = 0;
  for (const char* word : {"the", "cat", "dog", "tree", "house", "garden", "and", "book", "ring", "letter", "ball",
                           "key", "phone", "ticket", "gift", "basket"}) {
    vocabulary.erase("w" + std::to_string(++id));
    vocabulary[word] = id;
  }
  write_file(copy.path() / "tokenizer.json", words.dump());
  const std::string lines =
      shown({"pairs", copy.path().string(), "--task", "induction", "--count", "9", "--seed", "3"});
  CHECK(std::ranges::count(lines, '\n') == 9);
  CHECK(parse_json(lines.substr(0, lines.find('\n'))).at("answer").is_string());
  write_file(copy.path() / "pairs.jsonl", lines);
  const std::string model = copy.path().string(), pairs = (copy.path() / "pairs.jsonl").string();
  const Json found = parse_json(shown({"causes", model, pairs, "--limit", "4", "--json"}));
  CHECK((found["pairs"] == 4 && found["restored"]["head"].size() == 4));
  CHECK(message([&] {
          (void)shown({"causes", model, pairs, "--layer", "1"});
        }) == "--layer cannot be used with a file of pairs (see inspect causes --help)");
}
