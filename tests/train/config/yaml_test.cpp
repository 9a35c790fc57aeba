#include "train/config/yaml.h"

#include "tests/catch.h"
#include "tests/scratch.h"
#include "tests/train/config/sample.h"

#include <heed/files/file.h>

using namespace heed;

TEST_CASE("The YAML reader refuses anchors, tags, several documents, deep nesting and broken syntax") {
  CHECK(config_error("seed: &a 3\nmodel: {heads: *a}") ==
        "f:1:7: anchors ('&') are not accepted\nf:2:16: aliases ('*') are not accepted");
  CHECK(config_error("model: &m {heads: 3, heads: 4}") ==
        "f:1:8: anchors ('&') are not accepted\nf:1:22: duplicate key 'heads': first given on line 1");
  CHECK(config_error("seed: !!int 3") == "f:1:7: tags ('!') are not accepted");
  CHECK(config_error("? [a]\n: 3") == "f:1:3: a key must be a word");
  CHECK(config_error("seed: 1\n---\nseed: 2") == "f:2:1: expected one document, got another");
  CHECK(config_error("a: [[[[[[[1]]]]]]]") == "f:1:1: unknown key 'a'");
  CHECK(config_error("a: [[[[[[[[1]]]]]]]]") == "f:1:11: nested deeper than 8");
  CHECK(config_error("a: " + std::string(50'000, '[')).ends_with(": nested deeper than 8"));
  CHECK(config_error("- 1") == "f:1:1: expected keys such as 'seed: 1', got a sequence");
  CHECK(config_error("seed") == "f:1:1: expected keys such as 'seed: 1', got 'seed'");
  CHECK(config_error("# nothing") == "f: expected keys such as 'seed: 1', got an empty file");
  CHECK(config_error("seed: 1\nmodel: {heads: 3").starts_with("f:2:17: "));
  CHECK(config_error("seed: 1: 2\nsed: 3").starts_with("f:1:8: "));
  CHECK(config_error("seed: 1\nname: \"toy\nseed: 2\n") == "f:2:7: the quote that opens here is not closed");
  CHECK(config_error("name: 'it''s\n") == "f:1:7: the quote that opens here is not closed");
  CHECK(config_error("name: \"a\\\"\n") == "f:1:7: the quote that opens here is not closed");
  CHECK(config_error("name: 'it''s'\nsed: \"a\\\"b\"") == "f:2:1: unknown key 'sed' (did you mean 'seed'?)");
  CHECK(config_error("seed: 1\x04\nsed: 3") == "f:1:8: control character 0x04 in the text");
  CHECK(config_error("seed: \xff") == "f: not UTF-8 at byte 6: 0xff");
  CHECK(config_error("", {"name=\xff"}) == "--set: not UTF-8 at byte 5: 0xff");
  CHECK(config_error(std::string(70'000, '#')) == "f: 70000 bytes, expected at most 65536: is it a configuration?");

  const Scratch scratch;
  const std::string path = (scratch / "none.yaml").string();
  CHECK(message([&] { read_config(path); }) == "cannot read " + path + ": No such file or directory");
  write_file(path, "seed: x");
  CHECK(message([&] { read_config(path); }) ==
        path + ":1:7: seed must be an integer from 0 to 18446744073709551615, got 'x'");
}
