#include "tokenizers/internal/json.h"

#include "tests/catch.h"
#include "tests/message.h"

#include <fmt/format.h>

#include <filesystem>
#include <new>

using namespace heed;

namespace {

std::string refusal(const std::string& text, int deepest = 8) {
  return message([&] { parse_json(text, deepest); });
}

}  // namespace

TEST_CASE("JSON is read back as written, with keys in order") {
  const std::string text = R"({"z":[1,2.5,-3],"a":{"它":null,"b":true},"c":"\"\\\n"})";
  CHECK(format_json(parse_json(text)) == text);
}

TEST_CASE("parse_json rejects truncated or invalid JSON, and names the byte") {
  CHECK(refusal(" \n") == "not JSON: it is empty");
  CHECK(refusal("{\n\"x\":\n}").starts_with("not JSON at line 3, byte 8: "));
  CHECK(refusal("{\"x\":}").starts_with("not JSON at byte 6: "));
  CHECK(refusal("{\"x\": NaN, \"y\": 1}") == "not JSON at byte 7: invalid literal 'NaN'");
  CHECK(refusal("[1, nul]") == "not JSON at byte 8: invalid literal 'nul'");
  CHECK(refusal("x") == "not JSON at byte 1: invalid literal 'x'");
  CHECK(refusal("{} x").starts_with("not JSON at byte 4: "));
  CHECK(refusal("{} x").find("last read") == std::string::npos);
  CHECK(refusal("[\"\xff\"]").starts_with("not JSON at byte 3: "));
  CHECK(refusal("[1e999]") == "a number in it is too large");
}

TEST_CASE("parse_json rejects duplicate keys and more than 20,000 keys") {
  CHECK(refusal(R"([{"a":1},{"a":1}])") == "no error");
  CHECK(refusal(R"({"x":{"a":1,"a":2}})") == "key 'a' occurs twice");
  std::string many;
  for (int i = 0; i < 20'001; ++i) many += fmt::format("{}\"{}\":0", i == 0 ? "{" : ",", i);
  CHECK(refusal("{\"a\\u009b\":1,\"a\\u009b\":1}") == "key 'a⟨U+009B⟩' occurs twice");
  CHECK(refusal(many + "}") == "more than 20000 keys in one object");
}

TEST_CASE("parse_large_json gives the same errors as parse_json, but allows any number of keys") {
  const auto large = [](const std::string& text) { return message([&] { parse_large_json(text, 3); }); };
  CHECK(parse_large_json(R"({"z":[1,2.5,-3],"a":{"它":null,"b":true},"c":"\"\\\n"})").dump() ==
        R"({"a":{"b":true,"它":null},"c":"\"\\\n","z":[1,2.5,-3]})");
  for (const std::string text :
       {"", "{\"x\":}", "{} x", "[1", "[\"\xff\"]", "[1e999]", R"({"x":{"a":1,"a":2}})", "[[[[]]]]"}) {
    INFO(text);
    CHECK(large(text) == refusal(text, 3));
    CHECK(large(text) != "no error");
  }
  CHECK(large(R"([{"a":1},{"a":[]}])") == "no error");
  std::string many;
  for (int i = 0; i < 30'000; ++i) many += fmt::format("{}\"{}\":{}", i == 0 ? "{" : ",", i, i);
  CHECK(parse_large_json(many + "}").size() == 30'000);
  CHECK(parse_large_json(many + "}")["29999"] == 29999);
}

TEST_CASE("parse_json reads only to a given depth") {
  CHECK(refusal(R"({"x":[{}]})", 3) == "no error");
  CHECK(refusal(R"({"x":[[[]]]})", 3) == "nested deeper than 3 levels");
  CHECK(refusal(std::string(1'000'000, '[')) == "nested deeper than 8 levels");
}

TEST_CASE("format_json rejects strings that are not UTF-8") {
  CHECK(message([] { format_json("\xff"); }) == "cannot be written as JSON: a string is not UTF-8");
}

TEST_CASE("message_of removes the prefixes of library exceptions") {
  const auto said = [](const auto& read) {
    try {
      read(parse_json(R"({"a":3})"));
    } catch (const std::exception& error) {
      return message_of(error);
    }
    return std::string("no exception");
  };
  const std::string said_of_b = said([](const Json& json) { json.at("b"); });
  CHECK((said_of_b.find("'b'") != std::string::npos && said_of_b.find("exception") == std::string::npos));
  CHECK(said([](const Json& json) { return json.at("a").get<std::string>(); }).find_first_of("[]") ==
        std::string::npos);
  CHECK(said([](const Json&) { return std::filesystem::is_empty("none"); }) ==
        "cannot read none: No such file or directory");
  CHECK(said([](const Json&) { fail("[1] is wrong"); }) == "[1] is wrong");
  CHECK_THROWS_AS(said([](const Json&) { throw std::bad_alloc(); }), std::bad_alloc);
}
