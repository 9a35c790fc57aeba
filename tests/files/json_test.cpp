#include "files/json.h"

#include "tests/catch.h"
#include "tests/message.h"

#include <fmt/format.h>

using namespace heed;

namespace {

std::string refusal(const std::string& text, int deepest = 8) {
  return message([&] { parse_json(text, deepest); });
}

}  // namespace

TEST_CASE("JSON comes back as it was, names in their order") {
  const std::string text = R"({"z":[1,2.5,-3],"a":{"它":null,"b":true},"c":"\"\\\n"})";
  CHECK(format_json(parse_json(text)) == text);
}

TEST_CASE("JSON that is cut or wrong is refused at its byte") {
  CHECK(refusal("").starts_with("not JSON at byte 1: syntax error"));
  CHECK(refusal("{\"x\":}").starts_with("not JSON at byte 6: syntax error"));
  CHECK(refusal("{} x").starts_with("not JSON at byte 4: syntax error"));
  CHECK(refusal("[\"\xff\"]").starts_with("not JSON at byte 3: syntax error"));
  CHECK(refusal("[1e999]").starts_with("not JSON: number overflow"));
}

TEST_CASE("JSON that another reader could understand otherwise is refused") {
  CHECK(refusal(R"([{"a":1},{"a":1}])") == "no error");
  CHECK(refusal(R"({"x":{"a":1,"a":2}})") == "key 'a' occurs twice");
  std::string many;
  for (int i = 0; i < 20'001; ++i) many += fmt::format("{}\"{}\":0", i == 0 ? "{" : ",", i);
  CHECK(refusal(many + "}") == "more than 20000 keys in one object");
}

TEST_CASE("JSON is read to a given depth and no deeper, however deep it is") {
  CHECK(refusal(R"({"x":[{}]})", 3) == "no error");
  CHECK(refusal(R"({"x":[[[]]]})", 3) == "nested deeper than 3 levels");
  CHECK(refusal(std::string(1'000'000, '[')) == "nested deeper than 8 levels");
}

TEST_CASE("what is not UTF-8 is not written as JSON") {
  CHECK(message([] { format_json("\xff"); }).starts_with("cannot be written as JSON: "));
}
