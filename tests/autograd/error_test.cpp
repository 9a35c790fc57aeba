#include "tests/catch.h"
#include "tests/message.h"

#include <string>
#include <vector>

using namespace heed;

TEST_CASE("fail() throws an Error with the formatted text") {
  CHECK(message([] { fail("shape {} needs {} values", "(2)", 2); }) == "shape (2) needs 2 values");
}

TEST_CASE("did_you_mean suggests the most similar name, or nothing when all are too different") {
  const std::vector<std::string> names{"lr", "warmup", "weight_decay", "heads"};
  CHECK(did_you_mean("warmpu", names) == " (did you mean 'warmup'?)");  // a swap
  CHECK(did_you_mean("weightdecay", names) == " (did you mean 'weight_decay'?)");
  CHECK(did_you_mean("head", names) == " (did you mean 'heads'?)");
  CHECK(did_you_mean("W_Q", std::vector<std::string>{"W_K", "encoder.0.W_Q"}) == " (did you mean 'encoder.0.W_Q'?)");
  CHECK(did_you_mean("zzzzzz", names).empty());
  CHECK(did_you_mean("x", {}).empty());
}

TEST_CASE("counted() adds the plural's s except after 1") {
  CHECK(counted(0, "token") == "0 tokens");
  CHECK(counted(1, "token") == "1 token");
  CHECK(counted(20000, "minimal pair") == "20000 minimal pairs");
}

TEST_CASE("listed() truncates a long list and states the number of omitted items") {
  CHECK(listed(std::vector<std::string>{}).empty());
  CHECK(listed(std::vector{1, 2, 3}) == "1, 2, 3");
  CHECK(listed(std::vector{1, 2, 3}, "\n", 3) == "1\n2\n3");
  CHECK(listed(std::vector{1, 2, 3, 4, 5}, ", ", 3) == "1, 2, 3, ... and 2 more");
  CHECK(listed(std::vector<int>(4123 + 20)).ends_with(", 0, ... and 4123 more"));
}

TEST_CASE("did_you_mean skips words of several megabytes, whose comparison would take gigabytes") {
  const std::string word(10'000'000, 'x');
  CHECK(did_you_mean(word, std::vector{word + "x"}).empty());
  CHECK(did_you_mean("lrr", std::vector<std::string>{word, "lr"}) == " (did you mean 'lr'?)");
}

TEST_CASE("did_you_mean matches a short word only to very similar words") {
  const std::vector<std::string> words{"he", "is", "in", "it", "dog", "the", "gut", "鳥", "狗"};
  CHECK(did_you_mean("It", words) == " (did you mean 'it'?)");
  CHECK(did_you_mean("A", words).empty());
  CHECK(did_you_mean("an", words).empty());
  CHECK(did_you_mean("ti", words) == " (did you mean 'it'?)");
  CHECK(did_you_mean("dgo", words) == " (did you mean 'dog'?)");
  CHECK(did_you_mean("teh", words) == " (did you mean 'the'?)");
  CHECK(did_you_mean("cat", words).empty());
  CHECK(did_you_mean("鸟", words).empty());  // another character that shares two of its three bytes
  CHECK(did_you_mean("IT WAS", std::vector<std::string>{"it wax", "it was"}) == " (did you mean 'it was'?)");
}
