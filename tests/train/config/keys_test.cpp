#include "train/config/keys.h"

#include "tests/catch.h"
#include "tests/train/config/sample.h"

using namespace heed;

TEST_CASE("A value of another type or outside its range is refused") {
  const auto heads = [](const std::string& value) { return config_error("model:\n  heads: " + value); };
  const auto expected = [](const std::string& got) {
    return "f:2:10: model.heads must be an integer from 1 to 64, got " + got;
  };
  for (const std::string value : {"four", "0", "65", "-1", "99999999999999999999", "0x4", "0o4", "04", "4.0", "4e0",
                                  "+4", "1_0", "true", ".inf", "4 4"}) {
    CHECK(heads(value) == expected("'" + value + "'"));
  }
  CHECK(heads("\"4\"") == expected("the text \"4\""));
  CHECK(heads("[4]") == expected("a sequence"));
  CHECK(heads("{4: 4}") == expected("a mapping"));
  CHECK(heads("") == "f:2:3: model.heads must be an integer from 1 to 64, got nothing");
  CHECK(heads("~") == "f:2:3: model.heads must be an integer from 1 to 64, got nothing");
  CHECK(heads(std::string(500, 'x')) == expected("'" + std::string(59, 'x') + "…'"));

  for (const std::string value :
       {".inf", "-.inf", ".nan", "inf", "nan", "0", "-1", "1e999", "1e-999", "0x1p3", "1_0", "fast"}) {
    CHECK(config_error("optim: {lr: " + value + "}") ==
          "f:1:13: optim.lr must be a number above 0, got '" + value + "'");
  }
  CHECK(config_error("optim: {beta1: 1}") == "f:1:16: optim.beta1 must be a number from 0 to below 1, got '1'");
  CHECK(config_error("optim: {clip: -1}") == "f:1:15: optim.clip must be a number from 0 upwards, got '-1'");
  for (const std::string value : {"3e-3", "1", "1.", ".5", "1E+2", "0.003"}) {
    CHECK(config_error("optim: {lr: " + value + "}") == "no error");
  }
  CHECK(config_error("model: {bias: yes}") == "f:1:15: model.bias must be true or false, got 'yes'");
  CHECK(config_error("model: {bias: \"true\"}") == "f:1:15: model.bias must be true or false, got the text \"true\"");
  CHECK(config_error("seed: 18446744073709551616") ==
        "f:1:7: seed must be an integer from 0 to 18446744073709551615, got '18446744073709551616'");
  CHECK(config_error("optim: {name: adm}") ==
        "f:1:15: optim.name must be one of sgd, adam, adamw, rmsprop, adagrad, lion, muon, got 'adm' (did you mean "
        "'adam'?)");
  CHECK(config_error("name: \"a\\nb\"") == "f:1:7: name must be one line of text, got the text \"a b\"");
}
