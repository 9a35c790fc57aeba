#include "train/report.h"

#include "tests/catch.h"
#include "tests/scratch.h"
#include "train/training.h"

#include <heed/files/file.h>
#include <heed/tokenizers/graphemes.h>

#include <csignal>
#include <sstream>

using namespace heed;

namespace {

void check_width(const std::string& text, int width) {
  CAPTURE(text);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= width);
}

Experiment small_experiment(const std::vector<std::string>& overrides = {}) {
  return make_experiment(
      parse_config("data: {sentences: 50, held_out: 20}\nmodel: {d_model: 8}\n"
                   "train: {steps: 4, batch_size: 4}\ndump: {sentences: 1}\n",
                   "f", overrides));
}

}  // namespace

TEST_CASE("opening describes the model, the data and the run within the width of the terminal") {
  const Experiment e = small_experiment({"data.shuffle_antecedents=true"});
  for (const int width : {40, 60, 80}) check_width(opening(e, "runs/toy", {.width = width}), width);
  const std::string text = opening(e, "runs/toy", {});
  CHECK(text.starts_with("heed "));
  CHECK(text.find("\nmodel  2 layers, 2 heads each, d_model 8: ") != std::string::npos);
  CHECK(text.find("\ndata   coreference: 50 examples to learn from, 20 held out, ") != std::string::npos);
  CHECK(text.find("ANTECEDENTS SHUFFLED") != std::string::npos);
  CHECK(text.find("\nrun    runs/toy\n") != std::string::npos);
}

TEST_CASE("opening gives d_k and d_v if the number of heads does not divide d_model") {
  const std::string text = opening(small_experiment({"model.heads=3"}), "runs/toy", {.width = 200});
  CHECK(text.find("\nmodel  2 layers, 3 heads each, d_model 8 (not divided by 3 heads, so d_k 2 and d_v 2): ") !=
        std::string::npos);
}

TEST_CASE("opening names the questions of a user's sentences and the token that cannot be typed") {
  const Scratch scratch;
  std::string lines;
  for (const char* animal : {"cat", "dog", "cow"}) {
    for (const char* end : {"tired.", "ill"}) {
      lines += fmt::format(R"({{"tokens": ["The", "{}", "slept", "it", "was", "{}"], "query": 3, "antecedent": 1}})",
                           animal, end) +
               "\n";
    }
  }
  write_file(scratch / "mine.jsonl", lines);
  const Experiment e = small_experiment({"data.task=jsonl", "data.train=" + (scratch / "mine.jsonl").string(),
                                         "data.sentences=4000", "data.held_out=1000"});
  const std::string text = opening(e, "runs/toy", {.width = 200});
  CHECK(text.find("\nasked  'it' 6; answers: 'cat' 2, 'cow' 2, 'dog' 2; 0 minimal pairs\n") != std::string::npos);
  CHECK(text.find("\nnote   'tired.' cannot occur in typed input, which is cut into words and punctuation: "
                  "tired .\n") != std::string::npos);
  CHECK(dry_run(e).find("\n# asked  'it' 6; ") != std::string::npos);
  CHECK(opening(small_experiment(), "runs/toy", {}).find("asked") == std::string::npos);
}

TEST_CASE("opening counts held-out words that training does not have and held-out sentences that it left out") {
  const Scratch scratch;
  const auto line = [](const char* animal) {
    return fmt::format(R"({{"tokens": ["The", "{}", "slept", "it", "was", "ill"], "query": 3, "antecedent": 1}})",
                       animal) +
           "\n";
  };
  write_file(scratch / "mine.jsonl", line("cat") + line("dog"));
  write_file(scratch / "test.jsonl", line("cow") + line("Dog") + line("dog"));
  const std::vector<std::string> files{"data.task=jsonl", "data.train=" + (scratch / "mine.jsonl").string(),
                                       "data.test=" + (scratch / "test.jsonl").string(), "data.sentences=4000",
                                       "data.held_out=1000"};
  const std::string text = opening(small_experiment(files), "runs/toy", {.width = 300});
  CHECK(
      text.find(
          "\nwords  2 of the 7 different words in held-out sentences, and 2 of 2 answers, never occur in training, ") !=
      std::string::npos);
  CHECK(text.find("\nnote   1 of the 2 held-out sentences is in the training set, too\n") != std::string::npos);  // Dog
  CHECK(text.find("\nnote   1 held-out sentence left out: the training set has it, too\n") != std::string::npos);
}

TEST_CASE("opening names a character that the file cuts into tokens and typed input does not") {
  const Scratch scratch;
  const auto notes = [&](const std::string& tokens, const char* split) {
    std::string lines;
    for (const char* animal : {"cat", "dog", "cow"}) {
      lines +=
          fmt::format(R"({{"tokens": ["{}", "slept", "it", {}], "query": 2, "antecedent": 0}})", animal, tokens) + "\n";
    }
    write_file(scratch / "mine.jsonl", lines);
    const std::string text =
        opening(small_experiment({"data.task=jsonl", "data.train=" + (scratch / "mine.jsonl").string(),
                                  "data.sentences=4000", "data.held_out=1000", std::string("data.tokens=") + split}),
                "runs/toy", {.width = 400});
    const std::size_t at = text.find("several tokens");
    if (at == text.npos) return std::string();
    const std::size_t begin = text.rfind("\n", at) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  CHECK(notes(R"("👩", "\u200d", "👧")", "words") ==
        "note   '👩‍👧' is several tokens in the file, but one token in typed input");
  CHECK(notes(R"("🇩", "🇪", "a", "✈", "\ufe0f", "!")", "words") ==
        "note   '🇩🇪' and 1 more are several tokens in the file, but one token in typed input");
  for (const char* whole :
       {R"("👩‍👧", "🇩🇪", "🇫🇷", "✈️")", R"("श्रीमान्", "कृपया", "।")", R"("老", "师")"}) {
    CHECK(notes(whole, "words").empty());
  }
  CHECK(notes(R"("n", "\u0303")", "characters") ==
        "note   'ñ' is several tokens in the file, but one token in typed input");
}

TEST_CASE("opening says how many sentences are different where some occur more than once") {
  const Scratch scratch;
  std::string lines;
  for (const char* animal : {"cat", "dog", "cow", "pig", "cat", "cat"}) {
    lines += fmt::format(R"({{"tokens": ["The", "{}", "slept", "it", "was", "ill"], "query": 3, "antecedent": 1}})",
                         animal) +
             "\n";
  }
  write_file(scratch / "mine.jsonl", lines);
  const std::string text =
      opening(small_experiment({"data.task=jsonl", "data.train=" + (scratch / "mine.jsonl").string(),
                                "data.sentences=4000", "data.held_out=1000"}),
              "runs/toy", {.width = 200});
  CHECK(text.find("\nnote   4 of 6 sentences different: repetitions are all in the training set or all held out\n") !=
        std::string::npos);
}

TEST_CASE("opening names the lines of sentences that have two answers") {
  const Scratch scratch;
  std::string lines;
  for (int i = 0; i < 12; ++i) {
    lines += fmt::format(R"({{"tokens": ["cat{}", "saw", "dog", "it", "ran"], "query": 3, "antecedent": {}}})", i % 8,
                         i < 8 ? 0 : 2) +
             "\n";
  }
  const std::string file = (scratch / "mine.jsonl").string();
  write_file(file, lines);
  const std::vector<std::string> settings{"data.task=jsonl", "data.train=" + file, "data.sentences=4000",
                                          "data.held_out=1000"};
  CHECK(opening(small_experiment(settings), "runs/toy", {.width = 1000})
            .find(fmt::format("\nnote   4 sentences have two answers: {0}:1 and 9, {0}:2 and 10, {0}:3 and 11, and 1 "
                              "more\n",
                              file)) != std::string::npos);
  write_file(file, lines.substr(0, lines.rfind("{\"tokens\": [\"cat1\"")));
  CHECK(opening(small_experiment(settings), "runs/toy", {.width = 1000})
            .find(fmt::format("\nnote   1 sentence has two answers: {}:1 and 9\n", file)) != std::string::npos);
}

TEST_CASE("opening says that a held-out text is a part of the training text") {
  const Scratch scratch;
  const std::string train = (scratch / "train.txt").string(), test = (scratch / "test.txt").string();
  write_file(train, "the cat sat on the mat. the dog sat on the rug.");
  write_file(test, "the dog sat on the rug.");
  const std::vector<std::string> settings{"data.task=text", "data.train=" + train, "data.test=" + test,
                                          "data.context=8", "data.tokens=characters"};
  const std::string text = opening(small_experiment(settings), "runs/toy", {.width = 300});
  CHECK(text.find("\nnote   " + test + ": the held-out text is a part of the training text, ") != std::string::npos);
}

TEST_CASE("resumption names the step from which a run continues, and the changed settings") {
  const Config config = parse_config("train: {steps: 300}", "f");
  CHECK(resumption(120, config, {}, {}) == "from   step 120 of 300\n");
  CHECK(resumption(300, config, {}, {}) ==
        "from   step 300 of 300: nothing is left to train; --set train.steps=N extends it\n");
  CHECK(resumption(200, config, {"train.steps 300 (was 200)"}, {}) ==
        "from   step 200 of 300: train.steps 300 (was 200); the new schedule holds from\n       there\n");
}

TEST_CASE("closing fits 80 columns, separates two columns of figures, and needs no first snapshot") {
  Experiment e = small_experiment();
  const Scratch scratch;
  const RunDirectory run = RunDirectory::create(e.config.name, to_yaml(e.config), scratch / "r");
  const volatile std::sig_atomic_t stop = 0;
  train(e, run, {[](std::int64_t, double) {}, [](std::int64_t, double, const Evaluation&) {}}, stop);
  const std::string text = closing(e, run, {});
  check_width(text.substr(0, text.find("\nLook closer")), 80);
  CHECK(text.find("\nstep 4\n") != std::string::npos);
  CHECK(text.find("(untrained: ") != std::string::npos);
  CHECK(text.find("  on 20 held-out examples                           trained            untrained\n") !=
        std::string::npos);
  const std::size_t row = text.find("  weight on the antecedent, best head  ");
  REQUIRE(row != std::string::npos);
  CHECK(text.substr(row, 81).find(" head ") != std::string::npos);
  CHECK(text.find(" 0.", row + 45) < row + 81);  // a space before the second figure

  CHECK(text.find("the most frequent answer") == std::string::npos);
  for (std::vector<Example>* set : {&e.task.train, &e.task.held_out}) {
    for (std::size_t i = 0; i < set->size(); ++i) (*set)[i].answer = i % 4 ? "no" : "yes";
  }
  CHECK(closing(e, run, {}).find("\n  \"no\", the most frequent answer in training, is right for 75.0 % of them.\n") !=
        std::string::npos);

  std::filesystem::remove(dump_path(run.path(), 0));
  CHECK(closing(e, run, {}).find("(untrained: ") == std::string::npos);
}

TEST_CASE("dry_run prints the configuration and the sizes of the model, its memory and its files") {
  const std::string text = dry_run(small_experiment());
  CHECK(text.starts_with("# model  1,318 parameters: 2 layers of 2 heads, d_model 8\n# memory "));
  CHECK(text.find("\n\nname: \"toy\"\n") != std::string::npos);
  CHECK(text.find("\n# steps  4 of 4 examples: ") != std::string::npos);
  CHECK(to_yaml(parse_config(text, "f")) == to_yaml(small_experiment().config));
  CHECK(text.find("\n# disk   weights 5.1 KiB, checkpoint 15 KiB\n") != std::string::npos);
  CHECK(dry_run(small_experiment({"dump.weights=true", "dump.every=3"}))
            .find("\n# disk   weights 5.1 KiB, checkpoint 15 KiB, weights of 3 snapshots 15 KiB\n") !=
        std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
}

namespace {

// Trains with the configuration, and returns closing() at this width.
std::string trained_closing(const std::string& yaml, int width) {
  Experiment e = make_experiment(parse_config(yaml, "f"));
  const Scratch scratch;
  const RunDirectory run = RunDirectory::create(e.config.name, to_yaml(e.config), scratch / "r");
  const volatile std::sig_atomic_t stop = 0;
  train(e, run, {[](std::int64_t, double) {}, [](std::int64_t, double, const Evaluation&) {}}, stop);
  const std::string text = closing(e, run, {.width = width});
  check_width(text.substr(0, text.find("\nLook closer")), width);
  return text;
}

}  // namespace

TEST_CASE("closing shows a reproducible sample of a language model and fits the terminal") {
  const Scratch scratch;
  std::string words;
  for (int i = 0; i < 200; ++i) words += "to be or not to be\n";
  write_file(scratch / "text.txt", words);
  const std::string yaml = "data: {task: text, train: " + (scratch / "text.txt").string() +
                           ", tokens: characters, context: 16}\nmodel: {d_model: 8, layers: 1}\n"
                           "train: {steps: 2, batch_size: 2}\ndump: {sentences: 1}\n";
  for (const int width : {40, 60, 80, 120}) {
    const std::string text = trained_closing(yaml, width);
    CHECK(text.find("Sampled at temperature 0.8 after the") != std::string::npos);
    const std::size_t begin = text.find(":\n", text.find("Sampled")) + 2, end = text.find("\nLook closer");
    CHECK(std::count(text.begin() + static_cast<std::ptrdiff_t>(begin), text.begin() + static_cast<std::ptrdiff_t>(end),
                     '\n') <= 5);
    CHECK(text.find("Continue a text: ") != std::string::npos);
  }
  const auto sample = [&] {
    const std::string text = trained_closing(yaml, 80);
    return text.substr(0, text.find("\nLook closer"));
  };
  CHECK(sample() == sample());
}

TEST_CASE("closing of the induction task has the largest scores, and names no head an induction head") {
  const std::string yaml =
      "data: {task: induction, sentences: 40, held_out: 8, context: 24}\nmodel: {d_model: 8}\n"
      "train: {steps: 2, batch_size: 2}\ndump: {sentences: 2}\n";
  const std::string text = trained_closing(yaml, 80);
  CHECK(text.find("\n  largest previous-token score          0.") != std::string::npos);
  CHECK(text.find("\n  largest induction score               0.") != std::string::npos);
  CHECK(text.find("Sampled") == std::string::npos);
  CHECK(text.find("Which heads are induction heads: ") != std::string::npos);
  CHECK(trained_closing(yaml, 40).find("\n  largest previous-token score: trained") != std::string::npos);
}
