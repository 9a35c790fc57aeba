#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/files/file.h>
#include <heed/formats/datasets/candidates.h>
#include <heed/formats/datasets/jsonl.h>
#include <heed/formats/datasets/tasks.h>

#include <algorithm>
#include <cstdlib>

using namespace heed;

namespace {

constexpr const char* spans =
    R"({"tokens": ["The", "old", "cup", "hid", "the", "jam", ":", "it", "was", "big"], "query": 7, )"
    R"("candidates": [[0, 3], [4, 6]], "antecedent": 0, "twin": 1})"
    "\n"
    R"({"tokens": ["The", "old", "cup", "hid", "the", "jam", ":", "it", "was", "tiny"], "query": 7, )"
    R"("candidates": [[0, 3], [4, 6]], "antecedent": 1, "twin": 0})"
    "\n";
constexpr const char* words =
    R"({"tokens": ["Bo", "n't", "saw", "Al", ",", "he"], "query": 5, "antecedent": 3, "other": 0})"
    "\n";
constexpr const char* clozes =
    R"({"qID": "Q-1", "sentence": "The cup is by the jam as the _ is big.", "option1": "cup", "option2": "jam", )"
    R"("answer": "1"})"
    "\n";

}  // namespace

TEST_CASE("Candidates in JSONL are read back as written, including the answer 'none of them'") {
  const Scratch scratch;
  write_file(scratch / "a.jsonl", spans);
  std::vector<Example> examples = read_jsonl(scratch / "a.jsonl");
  REQUIRE(examples.size() == 2);
  CHECK(examples[0].candidates == std::vector<Span>{{0, 3}, {4, 6}});
  CHECK(examples[0].antecedent == 2);
  CHECK(examples[0].distractor == 5);
  CHECK(examples[1].chosen == 1);
  choose(examples[0], -1);
  CHECK(examples[0].antecedent == -1);
  write_jsonl(scratch / "b.jsonl", examples);
  CHECK(read_jsonl(scratch / "b.jsonl") == examples);
}

TEST_CASE("Mistakes in candidates are listed by line") {
  const Scratch scratch;
  const auto said = [&](const std::string& candidates, const std::string& rest) {
    write_file(scratch / "a.jsonl",
               R"({"tokens": ["a", "b", "it"], "query": 2, "candidates": )" + candidates + ", " + rest + "}\n");
    return message([&] { read_jsonl(scratch / "a.jsonl"); }, (scratch / "a.jsonl").string());
  };
  CHECK(said("[[0, 1], [1, 2]]", R"("antecedent": 2)") ==
        "FILE:1: antecedent: expected the number of a candidate, from 0 to 1, or null, got 2");
  CHECK(said("[[0, 4], [1, 1]]", R"("antecedent": 0)") ==
        "FILE:1: candidates: expected [begin, end] with 0 <= begin < end <= 3, got [0,4]\n"
        "FILE:1: candidates: expected [begin, end] with 0 <= begin < end <= 3, got [1,1]");
  CHECK(said("[[2, 3]]", R"("antecedent": 0)") ==
        "FILE:1: candidates: expected other tokens than the query, 2, got [2,3]");
  CHECK(said("[[0, 1], [1, 3]]", R"("antecedent": 0)") ==
        "FILE:1: candidates: expected other tokens than the query, 2, got [1,3]");
  CHECK(said("[[0, 1], [0, 2], [0, 1]]", R"("antecedent": 0)") ==
        "FILE:1: candidates: expected each span once, got [0,1] twice");
  CHECK(said("[[0, 1], [0, 2]]", R"("antecedent": 0)") == "no error");  // one within the other
  CHECK(said("[]", R"("antecedent": 0)") == "FILE:1: candidates: expected a list of spans [begin, end], got []");
  CHECK(said("[[0, 1]]", R"("antecedent": 0, "answer": "a")") ==
        "FILE:1: answer: not allowed with candidates, which determine it");
  CHECK(said("[[0, 1]]", R"("other": 1)") ==
        "FILE:1: other: not allowed with candidates, which determine it\nFILE:1: missing key 'antecedent'");
}

TEST_CASE("read_all_candidates reads files of different formats and keeps given tokens") {
  const Scratch scratch;
  write_file(scratch / "a.jsonl", spans);
  write_file(scratch / "b.jsonl", words);
  write_file(scratch / "c.jsonl", clozes);
  const std::string files = fmt::format("{},{},{}", (scratch / "b.jsonl").string(), (scratch / "c.jsonl").string(),
                                        (scratch / "a.jsonl").string());
  const std::vector<Example> all = cut_all(read_all_candidates(files), Tokenizer(Split::words));
  REQUIRE(all.size() == 4);
  CHECK(all[0].tokens == std::vector<std::string>{"Bo", "n't", "saw", "Al", ",", "he"});
  CHECK(all[0].candidates == std::vector<Span>{{0, 1}, {3, 4}});
  CHECK(all[0].chosen == 1);
  CHECK(all[1].tokens[static_cast<std::size_t>(all[1].query)] == "_");
  CHECK(all[2].counterpart == 3);
  CHECK(all[3].counterpart == 2);
}

TEST_CASE("read_candidates detects the format by the first line, and '#' selects sets of schemas") {
  const Scratch scratch;
  const auto schema = [](const char* set, int chosen) {
    return fmt::format(
        "en\t{}\t?\tThe cup hid the jam as it was big.\t"
        R"(["The", "cup", "hid", "the", "jam", "as", "it", "was", "big", "."])"
        "\t"
        R"(["it", [6, 7], ["it"]])"
        "\t"
        R"([["The cup", [0, 2], ["The", "cup"], {}], ["the jam", [3, 5], ["the", "jam"], {}]])"
        "\n",
        set, chosen == 0, chosen == 1);
  };
  const std::string schemas = (scratch / "s.tsv").string();
  write_file(schemas, "\n" + schema("one", 0) + schema("one", 1) + schema("two", 1));
  write_file(scratch / "g.tsv",
             "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
             "t-1\tBo met Al as he left.\the\t13\tBo\t0\tTRUE\tAl\t7\tFALSE\thttp://x\n");
  write_file(scratch / "w.txt", "1 [The cup] hid the jam as [she] left.\n2 The cup hid [the jam] as [he] left.\n");
  write_file(scratch / "b.jsonl", words);

  CHECK(message([&] { read_candidates(schemas); }, schemas) ==
        "FILE: has 2 sets, which may repeat each other's sentences; choose one, as in FILE#en/one, or several: en/one, "
        "en/two");
  CHECK(read_candidates(schemas + "#en/two").size() == 1);
  CHECK(read_candidates((scratch / "g.tsv").string())[0].relation == "masculine");
  CHECK(read_candidates((scratch / "w.txt").string())[0].candidates.size() == 2);
  // A name after a comma is another set of the same file, unless it is a file or has its own '#'.
  CHECK(read_all_candidates(schemas + "#en/one,en/two").size() == 3);
  CHECK(read_all_candidates(schemas + "#en/two," + (scratch / "b.jsonl").string()).size() == 2);
  CHECK(read_all_candidates(schemas + "#en/two," + schemas + "#en/one").size() == 3);
  write_file(scratch / "s#1.jsonl", words);  // '#' is part of this file's name
  CHECK(read_candidates((scratch / "s#1.jsonl").string()).size() == 1);

  const std::string file = (scratch / "b.jsonl").string();
  CHECK(message([&] { read_candidates(file + "#en/one"); }, file) ==
        "FILE: '#en/one' selects sets of Winograd schemas, but the file's first line is not a schema");
  write_file(scratch / "g0.tsv", "ID\tText\tPronoun\n");
  CHECK(message([&] { read_candidates((scratch / "g0.tsv").string()); }, (scratch / "g0.tsv").string()) ==
        "FILE: no sentences");
  write_file(file, R"({"tokens": ["Bo", "saw", "it"], "query": 2, "antecedent": 0})");
  CHECK(message([&] { read_candidates(file); }, file) ==
        "FILE:1: expected a question with \"candidates\", or with \"antecedent\" and \"other\"");
  write_file(file, R"({"qID": "Q-1", "sentence": "The _ is old.", "option1": "The", "option2": "_", "answer": "1"})");
  CHECK(message([&] { cut_all(read_candidates(file), Tokenizer(Split::words)); }, file) ==
        "FILE:1: the query '_' is a candidate, too");
  CHECK(message([&] { read_candidates(file + "#" + std::string(300, 'x')); }, file) ==
        "FILE: '#" + std::string(300, 'x') +
            "' selects sets of Winograd schemas, but the file's first line is not a schema");
}

TEST_CASE("Without a test file a tenth is held out, with adjacent counterparts") {
  const Scratch scratch;
  std::string many;
  for (int i = 0; i < 20; ++i) {
    for (const int chosen : {0, 1}) {
      many += fmt::format(R"({{"tokens": ["The", "cup{}", "hid", "the", "jam", ":", "it", "was", "{}"], "query": 6, )"
                          R"("candidates": [[0, 2], [3, 5]], "antecedent": {}, "twin": {}}})"
                          "\n",
                          i, chosen == 0 ? "big" : "tiny", chosen, 2 * i + 1 - chosen);
    }
  }
  write_file(scratch / "a.jsonl", many + words);
  const TokenizedTask task =
      make_task({.kind = TaskKind::candidates, .train = (scratch / "a.jsonl").string()}, Random(1));
  CHECK(task.train.size() + task.held_out.size() == 41);
  CHECK(task.held_out.size() >= 3);
  CHECK(task.held_out.size() <= 6);
  for (const std::vector<Example>* set : {&task.train, &task.held_out}) {
    int alone = 0;
    for (std::size_t i = 0; i < set->size(); ++i) {
      const Example& example = (*set)[i];
      if (example.counterpart < 0) {
        CHECK(example.tokens[0] == "Bo");
        ++alone;
        continue;
      }
      CHECK((*set)[static_cast<std::size_t>(example.counterpart)].counterpart == static_cast<int>(i));
      CHECK((*set)[static_cast<std::size_t>(example.counterpart)].tokens[1] == example.tokens[1]);
      CHECK(std::abs(example.counterpart - static_cast<int>(i)) == 1);
    }
    CHECK(alone <= 1);
  }
}

TEST_CASE("A held-out sentence that is also in the training set is removed and counted") {
  const Scratch scratch;
  write_file(scratch / "a.jsonl", spans);
  write_file(scratch / "b.jsonl", std::string(spans) + words);
  const auto task = [&](const char* train, const char* test) {
    return make_task({.kind = TaskKind::candidates,
                      .train = (scratch / train).string(),
                      .test = (scratch / test).string(),
                      .unknown = Unknown::token},
                     Random(1));
  };
  const Task leaky = task("a.jsonl", "b.jsonl");
  CHECK(leaky.known_left_out == 2);
  REQUIRE(leaky.held_out.size() == 1);
  CHECK(leaky.held_out[0].tokens[0] == "Bo");
  CHECK(leaky.vocabulary.words()[0] == "<unk>");
  CHECK(leaky.vocabulary["Bo"] == 0);
  CHECK(message([&] { task("b.jsonl", "a.jsonl"); }) ==
        "data.test: every sentence is also in the training set; expected others to test on");
}

TEST_CASE("A sentence whose candidates have the same tokens is removed and counted") {
  const Scratch scratch;
  const auto cloze = [](const char* sentence, const char* one, const char* two) {
    return fmt::format(R"({{"qID": "A-{}", "sentence": "{}", "option1": "{}", "option2": "{}", "answer": "1"}})"
                       "\n",
                       one, sentence, one, two);
  };
  write_file(scratch / "w.jsonl", cloze("All non-fiction is dull, so _ was sold.", "fiction", "non-fiction") +
                                      cloze("A cup and a jug: the _ fell.", "cup", "jug"));
  write_file(scratch / "t.jsonl", cloze("A pan and a pot: the _ fell.", "pan", "pot"));
  const TokenizedTask task = make_task(
      {.kind = TaskKind::candidates, .train = (scratch / "w.jsonl").string(), .test = (scratch / "t.jsonl").string()},
      Random(1));
  CHECK(task.alike_left_out == 1);
  REQUIRE(task.train.size() == 1);
  CHECK(task.train[0].counterpart == -1);
}

TEST_CASE("The candidates task learns subwords from the training sentences and converts the spans") {
  const Scratch scratch;
  std::string many;
  for (int i = 0; i < 40; ++i) many += spans;
  for (std::size_t at; (at = many.find(", \"twin\": 1")) != many.npos;) many.erase(at, 11);
  for (std::size_t at; (at = many.find(", \"twin\": 0")) != many.npos;) many.erase(at, 11);
  write_file(scratch / "a.jsonl", many);
  write_file(scratch / "b.jsonl", words);
  const TokenizedTask task = make_task({.kind = TaskKind::candidates,
                                        .train = (scratch / "a.jsonl").string(),
                                        .test = (scratch / "b.jsonl").string(),
                                        .split = Split::subwords,
                                        .vocabulary = 300},
                                       Random(1));
  const Example& example = task.train[0];
  CHECK(task.tokenizer.join(example.tokens) == "The old cup hid the jam : it was big");
  std::string span;
  for (int i = example.candidates[1].begin; i < example.candidates[1].end; ++i) {
    span += example.tokens[static_cast<std::size_t>(i)];
  }
  CHECK(span == " the jam");
  CHECK_FALSE(task.vocabulary.unknown());
  const TokenizedTask with_known = make_task({.kind = TaskKind::candidates,
                                              .train = (scratch / "b.jsonl").string(),
                                              .test = (scratch / "a.jsonl").string(),
                                              .split = Split::subwords,
                                              .tokenizer = task.tokenizer},
                                             Random(1));
  CHECK(with_known.vocabulary.words() == task.vocabulary.words());
}

TEST_CASE("name_candidates turns antecedent and distractor into two candidates in text order") {
  std::vector<Example> examples{
      {.tokens = {"a", "b", "it"}, .query = 2, .antecedent = 1, .distractor = 0, .answer = "b"}};
  name_candidates(examples);
  CHECK(examples[0].candidates == std::vector<Span>{{0, 1}, {1, 2}});
  CHECK(examples[0].chosen == 1);
  examples.push_back({.tokens = {"a", "it"}, .query = 1, .antecedent = 0, .answer = "a"});
  CHECK(message([&] { name_candidates(examples); }) ==
        "sentence 2 of 2: expected a question with \"candidates\", or with \"antecedent\" and \"other\"");
}

TEST_CASE("shuffle_antecedents draws each candidate, or none, with equal probability") {
  const Example one{.tokens = {"a", "b", "it"}, .query = 2, .candidates = {{0, 1}, {1, 2}}, .chosen = 0};
  std::vector<Example> examples(1000, one);
  shuffle_antecedents(examples, Random(3));
  const auto second = std::ranges::count(examples, 1, &Example::chosen);
  CHECK((second > 440 && second < 560));
  examples.assign(900, one);
  choose(examples[0], -1);
  shuffle_antecedents(examples, Random(3));
  const auto none = std::ranges::count(examples, -1, &Example::chosen);
  CHECK((none > 240 && none < 360));
}
