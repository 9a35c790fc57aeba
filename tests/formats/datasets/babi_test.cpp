#include "tests/catch.h"
#include "tests/data/helpers.h"

#include <heed/formats/datasets/babi.h>

using namespace heed;
using heed::test::TemporaryFile;
using heed::test::text;

namespace {

const char* const two_stories =
    "1 Eve ran to the shed.\n"
    "2 Then she went to the barn.\n"
    "3 Where is Eve? \tbarn\t1 2\n"
    "4 Tom sat in the barn.\r\n"
    "5 Where is Eve? \tbarn\t1 2\r\n"
    "1 Tom left.\n"
    "2 Is Tom here? \tno\t1\n"
    "3 Tom left.\n"
    "4 What did Tom do?\tleft\t1 3\n";

std::string babi_refusal(const std::string& content) {
  const TemporaryFile file("qa1_x.txt", content);
  return message([&] { read_babi(file.path()); }, file.path());
}

}  // namespace

TEST_CASE("read_babi gives each question with the story before it") {
  const TemporaryFile file("qa11_some_train.txt", two_stories);
  const auto stories = read_babi(file.path());
  REQUIRE(stories.size() == 2);
  REQUIRE(stories[0].size() == 2);
  REQUIRE(stories[1].size() == 2);
  const Example& first = stories[0][0];
  CHECK(text(first) == "Eve ran to the shed . Then she went to the barn . Where is Eve ?");
  CHECK(first.tokens[static_cast<std::size_t>(first.query)] == "Eve");
  CHECK(first.answer == "barn");
  CHECK(first.antecedent == 11);
  CHECK(first.sentences == std::vector<int>{2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0});
  CHECK(first.relation == "qa11");
  const Example& second = stories[0][1];
  CHECK(text(second) == "Eve ran to the shed . Then she went to the barn . Tom sat in the barn . Where is Eve ?");
  CHECK(second.antecedent == 11);  // the barn that supports the answer, not the nearest
  CHECK(second.sentences.front() == 3);
  CHECK(text(stories[1][0]) == "Tom left . Is Tom here ?");
  CHECK(stories[1][0].antecedent == -1);  // "no" is not a token
  CHECK(stories[1][1].antecedent == 4);   // the last of two statements that support it
}

TEST_CASE("read_babi ignores spaces around a question, its answer and its IDs") {
  const TemporaryFile file("qa1_x.txt", "1 Ann is in bed.\n2  Where is Ann? \t  bed \t  1 \n");
  const auto stories = read_babi(file.path());
  REQUIRE(stories.size() == 1);
  REQUIRE(stories[0].size() == 1);
  CHECK(stories[0][0].answer == "bed");
  CHECK(stories[0][0].antecedent == 3);
}

TEST_CASE("babi_task reads several files") {
  const TemporaryFile a("qa1_a.txt", two_stories), b("qa2_b.txt", "1 Ann is in bed.\n2 Where is Ann?\tbed\t1\n");
  const Task both = babi_task(a.path() + ", " + b.path(), b.path(), Random(1));
  CHECK(both.train.size() == 5);
  CHECK(both.train[4].relation == "qa2");
  CHECK(both.held_out.size() == 1);
  CHECK(both.max_length == 23);
  CHECK(both.max_sentences == 4);
  CHECK(both.vocabulary.contains("no"));
  const Task cut = babi_task(a.path(), "", Random(1));  // holds out one of two stories completely
  CHECK(cut.train.size() + cut.held_out.size() == 4);
  CHECK(cut.held_out.size() == 2);
  for (const Example& e : cut.train) CHECK(text(e).substr(0, 3) != text(cut.held_out[0]).substr(0, 3));
}

TEST_CASE("read_babi lists the mistakes in a file by line") {
  CHECK(babi_refusal("1 Eve ran.\n"
                     "3 Where is Eve?\tshed\t1\n"
                     "4 \n"
                     "5 Where is Eve?\tshed\n"
                     "6 Where is Eve\tshed\t1\n"
                     "7 Where is Eve?\t\t1\n"
                     "8 Where is Eve?\tshed\t2\n"
                     "9 Where is Eve?\tshed\tx\n"
                     "10 Where is Eve?\tshed\t\n"
                     "Eve ran.\n"
                     "12 ?\tshed\t1\n") ==
        "FILE:2: expected the ID 2 and a text, or 1 for a new story, got '3 Where is Eve?␉shed␉1'\n"
        "FILE:3: expected a statement or question after the ID, got nothing\n"
        "FILE:4: expected a question, its answer and its supporting IDs, separated by tabs, got 2 fields\n"
        "FILE:5: expected a question that ends in '?', got 'Where is Eve'\n"
        "FILE:6: expected an answer after the question, got nothing\n"
        "FILE:7: expected the ID of a statement above in this story, got '2'\n"
        "FILE:8: expected the ID of a statement above in this story, got 'x'\n"
        "FILE:9: expected the ID of a statement above in this story, got ''\n"
        "FILE:10: expected the ID 11 and a text, or 1 for a new story, got 'Eve ran.'\n"
        "FILE:11: expected a question that ends in '?', got '?'");
  CHECK(babi_refusal("2 Eve ran.\n") == "FILE:1: expected the ID 1 and a text, or 1 for a new story, got '2 Eve ran.'");
  CHECK(babi_refusal("Eve ran.\n2 Where is Eve?\tshed\t1\n") ==
        "FILE:1: expected the ID 1 and a text, or 1 for a new story, got 'Eve ran.'\n"
        "FILE:2: expected the ID of a statement above in this story, got '1'");
  CHECK(babi_refusal("1 Eve ran.\n") == "FILE: no questions; expected \"ID question?<tab>answer<tab>IDs\"");
  CHECK(babi_refusal("") == "FILE: no questions; expected \"ID question?<tab>answer<tab>IDs\"");
  CHECK(babi_refusal("1 \xe5ve.\n") == "FILE: not UTF-8 at byte 2: 0xe5");
}

TEST_CASE("read_babi rejects long stories that their questions would multiply beyond memory") {
  std::string story;
  for (int id = 1; id <= 12'000; id += 2) {
    story += fmt::format("{} John went to the hall.\n{} Where is John?\thall\t{}\n", id, id + 1, id);
  }
  const std::string said = babi_refusal(story);
  CHECK(said.starts_with("FILE:"));
  CHECK(
      said.ends_with(": the questions up to here, each with its story, have more than 20000000 tokens; expected "
                     "shorter stories, each beginning with ID 1"));
}
