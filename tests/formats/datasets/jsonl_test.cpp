#include "tests/catch.h"
#include "tests/data/helpers.h"
#include "tests/scratch.h"

#include <heed/files/file.h>
#include <heed/formats/datasets/babi.h>
#include <heed/formats/datasets/jsonl.h>
#include <heed/formats/datasets/tasks.h>

#include <map>

using namespace heed;
using heed::test::TemporaryFile;
using heed::test::text;

namespace {

std::string jsonl_refusal(const std::string& content) {
  const TemporaryFile file("s.jsonl", content);
  return message([&] { read_jsonl(file.path()); }, file.path());
}

std::string line(int number) {
  return fmt::format(R"({{"tokens": ["dog", "road{}", "it", "tired"], "query": 2, "antecedent": 0}})", number) + "\n";
}

}  // namespace

TEST_CASE("read_jsonl reads annotated sentences as written") {
  const TemporaryFile file("s.jsonl",
                           "\xef\xbb\xbf"
                           R"({"tokens": ["小狗", "，", "它", "累"], "query": 2, "antecedent": 0})"
                           "\r\n"
                           "\n  \n"
                           R"({"query": 1, "antecedent": 0, "tokens": ["a", "it"], "answer": "yes", "relation": "r",)"
                           R"( "sentences": [1, 0]})");
  const std::vector<Example> examples = read_jsonl(file.path());
  REQUIRE(examples.size() == 2);
  CHECK(examples[0].tokens == std::vector<std::string>{"小狗", "，", "它", "累"});
  CHECK(examples[0].query == 2);
  CHECK(examples[0].antecedent == 0);
  CHECK(examples[0].answer == "小狗");
  CHECK(examples[1].answer == "yes");
  CHECK(examples[1].relation == "r");
  CHECK(examples[1].sentences == std::vector<int>{1, 0});
}

TEST_CASE("write_jsonl and read_jsonl preserve the held-out sentences of every task") {
  const TemporaryFile file("held_out.jsonl", "");
  const auto returns = [&](const std::vector<Example>& examples) {
    write_jsonl(file.path(), examples);
    return read_jsonl(file.path()) == examples;
  };
  for (const TaskKind kind : {TaskKind::coreference, TaskKind::bank, TaskKind::chinese}) {
    CAPTURE(name_of(kind));
    CHECK(returns(make_task({.kind = kind, .sentences = 90, .held_out = 36}, Random(0)).held_out));
  }
  const TemporaryFile story("qa1_story.txt",
                            "1 Mary moved to the hall.\n2 Where is Mary?\thall\t1\n"
                            "3 John has the ball.\n4 Is John in the hall?\tmaybe\t3\n");
  const std::vector<Example> asked = read_babi(story.path()).at(0);
  REQUIRE(asked.at(1).antecedent == -1);  // "maybe" is not a word of the story
  CHECK(returns(asked));

  Example odd;
  odd.tokens = {"</script>", "\"\n\x01\xe2\x80\xae", "it"};
  odd.query = 2;
  odd.answer = "<!--";
  CHECK(returns({odd}));
  write_jsonl(file.path(), {odd});
  CHECK(read_file(file.path()) == R"({"tokens":["</script>","\"\n\u0001)"
                                  "\xe2\x80\xae"
                                  R"(","it"],"query":2,"answer":"<!--"})"
                                  "\n");
  odd.tokens[1] = "\xff";
  const std::string before = read_file(file.path());
  CHECK(message([&] { write_jsonl(file.path(), {odd}); }, file.path()) ==
        "FILE: example 0, counted from 0, cannot be written as JSON: a string is not UTF-8");
  CHECK(read_file(file.path()) == before);
}

TEST_CASE("read_jsonl lists every mistake in a file by line") {
  CHECK(jsonl_refusal("[1]\n"
                      "{\"tokens\": [\"a\", \"b\"], \"query\": 2, \"antecedent\": -1}\n"
                      "{\"tokens\": [\"a\", \"b\"], \"qeury\": 1, \"antecedent\": 0}\n"
                      "{\"tokens\": [\"a\"], \"query\": 0, \"antecedent\": 0}\n"
                      "{\"tokens\": [\"a\", \"\", 3], \"query\": 0, \"antecedent\": 1}\n"
                      "{\"tokens\": [\"a\", \"b\"], \"query\": 1.0, \"antecedent\": \"0\"}\n"
                      "{\"tokens\": [\"a\", \"b\"], \"query\": 1, \"antecedent\": 1}\n"
                      "{\"tokens\": [\"a\", \"b\"], \"query\": 1, \"antecedent\": 0, \"answer\": \"\", "
                      "\"relation\": []}\n"
                      "{\"tokens\": [\"a\", \"b\"], \"query\": 1, \"antecedent\": 0, \"sentences\": [0]}\n"
                      "{\"tokens\": [\"a\", \"b\"], \"query\": 1, \"antecedent\": 0, \"sentences\": [0, 2]}\n"
                      "{\"query\": 1}\n") ==
        "FILE:1: expected an object {\"tokens\": ...}, got [1]\n"
        "FILE:2: query: expected a number from 0 to 1, got 2\n"
        "FILE:2: antecedent: expected a number from 0 to 1, got -1\n"
        "FILE:3: unknown key 'qeury' (did you mean 'query'?)\n"
        "FILE:3: missing key 'query'\n"
        "FILE:4: tokens: expected a list of at least 2 words, got [\"a\"]\n"
        "FILE:5: tokens[1]: expected a word, got \"\"\n"
        "FILE:5: tokens[2]: expected a word, got 3\n"
        "FILE:6: query: expected a number from 0 to 1, got 1.0\n"
        "FILE:6: antecedent: expected a number from 0 to 1, got \"0\"\n"
        "FILE:7: antecedent: expected another token than the query, got 1 for both\n"
        "FILE:8: answer: expected a word, got \"\"\n"
        "FILE:8: relation: expected a word, got []\n"
        "FILE:9: sentences: expected a list of 2 numbers, one per token, got [0]\n"
        "FILE:10: sentences[1]: expected a number from 0 to 1, got 2\n"
        "FILE:11: missing key 'tokens'");
}

TEST_CASE("read_jsonl requires counterparts, distractors and cue words to match the sentences") {
  const std::string a = R"({"tokens": ["a", "b"], "query": 1, "antecedent": 0, )";
  CHECK(jsonl_refusal(a + "\"other\": 2}\n" + a + "\"decider\": \"c\"}\n" + a + "\"twin\": -1}\n") ==
        "FILE:1: other: expected a number from 0 to 1, got 2\n"
        "FILE:2: decider: expected one of the tokens, got \"c\"\n"
        "FILE:3: twin: expected a number from 0 to 2147483646, got -1");
  CHECK(jsonl_refusal(a + "\"other\": 0}\n") ==
        "FILE:1: other: expected another token than the antecedent, got 0 for both");
  CHECK(jsonl_refusal(a + "\"other\": 1}\n") == "FILE:1: other: expected another token than the query, got 1 for both");
  CHECK(jsonl_refusal("{\"tokens\": [\"a\", \"b\"], \"query\": 1}\n") == "FILE:1: missing key 'antecedent'");
  CHECK(jsonl_refusal(a + "\"twin\": 4}\n" + a + "\"twin\": 0}\n\n" + a + "\"twin\": 3}\n" +
                      R"({"tokens": ["a", "b", "c"], "query": 1, "antecedent": 0, "twin": 2})") ==
        "FILE:1: twin: expected a number from 0 to 3, got 4\n"
        "FILE:2: twin: expected a sentence whose twin is this one, 1, got 0\n"
        "FILE:4: twin: expected a sentence of 2 tokens with query 1, got 3 tokens and 1\n"
        "FILE:5: twin: expected a sentence of 3 tokens with query 1, got 2 tokens and 1");
}

TEST_CASE("A token of training sentences has no white space, but one of held_out.jsonl may") {
  const std::string spaced =
      R"({"tokens": ["New York", "slept", "it", "a\u3000b"], "query": 2, "antecedent": 0, "other": 1})"
      "\n";
  const TemporaryFile file("s.jsonl", spaced + line(0));
  CHECK(read_jsonl(file.path())[0].tokens[0] == "New York");
  const std::string expected =
      "FILE:1: tokens[0]: expected a word without white space, got \"New York\"\n"
      "FILE:1: tokens[3]: expected a word without white space, got \"a\u3000b\"";
  for (const TaskKind kind : {TaskKind::jsonl, TaskKind::candidates}) {
    CHECK(message([&] { make_task({.kind = kind, .train = file.path()}, Random(1)); }, file.path()) == expected);
  }
}

TEST_CASE("read_jsonl rejects invalid JSON and names its line") {
  CHECK(jsonl_refusal("{\"tokens\": [\"a\"").rfind("FILE:1: not JSON at byte 16: ", 0) == 0);
  CHECK(jsonl_refusal("\n{} x").rfind("FILE:2: not JSON at byte 4: ", 0) == 0);
  CHECK(jsonl_refusal("{\"query\": 1e999}").rfind("FILE:1: a number in it is too large", 0) == 0);
  CHECK(jsonl_refusal("{\"query\": 1, \"query\": 1}") == "FILE:1: key 'query' occurs twice");
  const std::string deep = "FILE:1: nested deeper than 3 levels";
  CHECK(jsonl_refusal("{\"tokens\": [[[\"a\"]]]}") == deep);
  CHECK(jsonl_refusal("{\"tokens\": " + std::string(1000000, '[')) == deep);
  CHECK(jsonl_refusal("{\"tokens\": [\"a\", \"b\"], \"query\": 99999999999999999999, \"antecedent\": 0}") ==
        "FILE:1: query: expected a number from 0 to 1, got 1e+20");
  CHECK(jsonl_refusal("{\"tokens\": [\"a\", \"b\"], \"query\": 4294967296, \"antecedent\": 0}") ==
        "FILE:1: query: expected a number from 0 to 1, got 4294967296");
}

TEST_CASE(
    "read_jsonl rejects a text, a JSON array, objects over several lines, pairs of texts and CSV with one message") {
  CHECK(jsonl_refusal("\nThe dog barked.\nThen it slept.\n") ==
        "FILE: is a text without a JSON object; expected one object per line, with tokens and query: The dog "
        "barked.␊Then it slept.␊");
  const std::string object = "{\"tokens\": [\"a\", \"b\"], \"query\": 1, \"antecedent\": 0}";
  const std::string array =
      "FILE: this is one JSON array; expected one object per line, without brackets around them or commas between them "
      "(jq -c '.[]' converts it)";
  CHECK(jsonl_refusal("[\n" + object + ",\n" + object + "\n]\n") == array);
  CHECK(jsonl_refusal("[" + object + "]") == array);
  CHECK(jsonl_refusal("\n{ \n \"tokens\": [\"a\", \"b\"],\n\"query\": 1, \"antecedent\": 0\n}\n") ==
        "FILE: an object spans several lines; expected one object per line, without brackets around them or commas "
        "between them (jq -c . converts it)");
  CHECK(jsonl_refusal("sentence,query,antecedent\nThe dog barked at it,it,dog\n") ==
        "FILE: looks like CSV; expected one JSON object per line (examples/convert.py of heed converts CSV)");
  const std::string pair = R"({"clean": "a", "corrupted": "b", "answer": "a", "wrong": "b"})";
  CHECK(jsonl_refusal(pair + "\n" + pair + "\n") ==
        "FILE: has pairs of texts, which inspect circuit, causes and why --answer read; expected sentences, with "
        "tokens and "
        "query");
}

TEST_CASE("read_jsonl truncates a long list of mistakes") {
  std::string content;
  for (int i = 0; i < 25; ++i) content += "{}\n";  // the first missing key, tokens, hides the other ones
  const std::string text = jsonl_refusal(content);
  CHECK(text.find("FILE:20: missing key 'tokens'\n... and 5 more") != std::string::npos);
  CHECK(text.find("FILE:21") == std::string::npos);
}

TEST_CASE("Errors of read_jsonl quote wrong values, truncated and without control characters") {
  CHECK(jsonl_refusal("{\"tokens\": \"\xe2\x80\xae\\u001b\xc2\x9b\"}\n") ==
        "FILE:1: tokens: expected a list of at least 2 words, got \"⟨U+202E⟩\\u001b⟨U+009B⟩\"");
  std::string apples;
  for (int i = 0; i < 1000; ++i) apples += "苹";
  CHECK(jsonl_refusal("{\"tokens\": \"" + apples + "\"}\n") ==
        "FILE:1: tokens: expected a list of at least 2 words, got \"" + apples.substr(0, 29 * 3) + "…");
  CHECK(jsonl_refusal("{\"a\xe2\x80\xae\": 1}\n") == "FILE:1: unknown key 'a⟨U+202E⟩'\nFILE:1: missing key 'tokens'");
}

TEST_CASE("read_jsonl rejects a file that is not text, or empty, with one message") {
  CHECK(jsonl_refusal("{\"tokens\": [\"\xff\"]}") == "FILE: not UTF-8 at byte 13: 0xff");
  CHECK(jsonl_refusal(R"({"tokens": ["a"]})"
                      "\r"
                      R"({"tokens": ["b"]})"
                      "\r") == "FILE: its lines end in CR alone; expected LF or CR LF (tr '\\r' '\\n' converts it)");
  CHECK(jsonl_refusal("\n\n") == "FILE: no examples; expected one JSON object per line");
  CHECK(message([] { read_jsonl("/nowhere/x.jsonl"); }) ==
        "cannot read /nowhere/x.jsonl: No such file or directory: the directory /nowhere does not exist");
  CHECK(message([] { read_jsonl("/"); }) == "/: expected a text file, got a directory");
}

TEST_CASE("jsonl_task holds out a tenth, keeping minimal pairs together, or uses the test file") {
  std::string content;
  for (int i = 0; i < 20; ++i) {
    content += line(i) +
               fmt::format(R"({{"tokens": ["dog", "road{}", "it", "wide"], "query": 2, "antecedent": 1}})", i) + "\n";
  }
  const TemporaryFile train("train.jsonl", content), test("test.jsonl", line(99));
  const Task cut = jsonl_task(train.path(), "", Random(1));
  CHECK(cut.train.size() == 36);
  REQUIRE(cut.held_out.size() == 4);
  CHECK(cut.held_out[0].counterpart == 1);
  CHECK(cut.held_out[3].counterpart == 2);
  CHECK(cut.vocabulary.size() == 24);  // dog, it, tired, wide and 20 roads
  CHECK(cut.max_length == 4);
  const Task given = jsonl_task(train.path(), test.path(), Random(1));
  CHECK(given.train.size() == 40);
  REQUIRE(given.held_out.size() == 1);
  CHECK(text(given.held_out[0]) == "dog road99 it tired");
  CHECK(given.vocabulary.contains("road99"));
  const Task of_two = jsonl_task(fmt::format("{},{}", train.path(), test.path()), "", Random(1));
  CHECK(of_two.train.size() + of_two.held_out.size() == 41);
  CHECK(of_two.vocabulary.contains("road99"));
  CHECK(message([&] { jsonl_task(test.path(), "", Random(1)); }, test.path()) ==
        "FILE: has only one sentence or minimal pair; expected more, to hold some out, or a file in data.test");
}

TEST_CASE("jsonl_task leaves out held-out sentences that the training set has") {
  const std::string pair =
      line(0) + R"({"tokens": ["dog", "road0", "it", "wide"], "query": 2, "antecedent": 1})" + "\n";
  const TemporaryFile train("train.jsonl", pair + line(1)), test("test.jsonl", line(0) + line(7) + line(1) + line(7)),
      repeated("repeated.jsonl", line(3) + line(3) + line(3));
  const Task task = jsonl_task(train.path(), test.path(), Random(1));
  CHECK(task.train.size() == 3);
  REQUIRE(task.held_out.size() == 2);
  CHECK(text(task.held_out[0]) == "dog road7 it tired");
  CHECK(task.known_left_out == 2);
  const std::string reason = "FILE: every held-out sentence is also in the training set; expected others to test on";
  CHECK(message([&] { jsonl_task(train.path(), train.path(), Random(1)); }, train.path()) == reason);
  CHECK(message([&] { jsonl_task(repeated.path(), "", Random(1)); }, repeated.path()) ==
        "FILE: has only one sentence or minimal pair; expected more, to hold some out, or a file in data.test");
}

TEST_CASE("Repetitions of a sentence are held out together, and each sentence once over all folds") {
  std::string content;
  for (int i = 0; i < 120; ++i) {  // 20 pairs, three times
    const int wide = i % 2;
    content += fmt::format(R"({{"tokens": ["dog", "road{}", "it", "{}"], "query": 2, "antecedent": {}, "other": {}}})",
                           i / 2 % 20, wide ? "wide" : "tired", wide, 1 - wide) +
               "\n";
  }
  const TemporaryFile read("read.jsonl", content);
  for (const TaskKind kind : {TaskKind::jsonl, TaskKind::candidates}) {
    CAPTURE(static_cast<int>(kind));
    std::map<std::string, int> held_out;
    for (int fold = 1; fold <= 5; ++fold) {
      const Task task = make_task({.kind = kind, .train = read.path(), .fold = {fold, 5}}, Random(1));
      CHECK(task.known_left_out == 0);
      CHECK(task.train.size() == 96);
      REQUIRE(task.held_out.size() == 24);
      for (const Example& e : task.held_out) {
        ++held_out[text(e)];
        CHECK(task.held_out.at(static_cast<std::size_t>(e.counterpart)).tokens[3] != e.tokens[3]);
      }
    }
    CHECK(held_out.size() == 40);
    for (const auto& [sentence, times] : held_out) CHECK(times == 3);
  }
}

TEST_CASE("read_jsonl accepts a sentence of a single word that asks for the next word") {
  const Scratch scratch;
  write_file(scratch / "a.jsonl", R"({"tokens": ["a"], "query": 0, "answer": "b"})"
                                  "\n");
  const std::vector<Example> examples = read_jsonl(scratch / "a.jsonl");
  REQUIRE(examples.size() == 1);
  CHECK(examples[0].tokens == std::vector<std::string>{"a"});
  CHECK(examples[0].answer == "b");
  CHECK(jsonl_refusal(R"({"tokens": [], "query": 0, "answer": "b"})"
                      "\n") == "FILE:1: tokens: expected a list of at least 1 word, got []");
}

TEST_CASE("read_jsonl stores file and line of a sentence, which do not affect equality") {
  const std::string line = R"({"tokens": ["a", "b"], "query": 1, "antecedent": 0})";
  const TemporaryFile file("a.jsonl", line + "\n\n" + line + "\n");
  const std::vector<Example> examples = read_jsonl(file.path());
  REQUIRE(examples.size() == 2);
  CHECK(examples[0].source.text == file.path() + ":1");
  CHECK(examples[1].source.text == file.path() + ":3");
  CHECK(examples[0] == examples[1]);
}

TEST_CASE("read_jsonl takes time and memory proportional to the bytes of a hostile line") {
  CHECK(jsonl_refusal("{\"" + std::string(10'000'000, 'k') + "\": 1}") ==
        "FILE:1: unknown key '" + std::string(59, 'k') + "…'\nFILE:1: missing key 'tokens'");
  std::string tokens = "\"it\"", spans;
  for (int i = 1; i <= 3000; ++i) {
    tokens += ",\"t\"";
    spans += fmt::format("{}[{},{}]", i > 1 ? "," : "", i, i + 1);
  }
  CHECK(jsonl_refusal(fmt::format(R"({{"tokens": [{}], "query": 0, "candidates": [{}], "antecedent": 0}})", tokens,
                                  spans)) == "FILE:1: candidates: expected at most 100, got 3000");
  std::string garbage;
  for (int i = 0; i < 200'000; ++i) garbage += "{x\n";
  CHECK(jsonl_refusal(garbage).ends_with("\n... and at least 980 more; the rest was not read"));
}
