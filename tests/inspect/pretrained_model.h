#pragma once
#include "tests/inspect/inspected_run.h"
#include "tokenizers/internal/json.h"

#include <string>

/// What the tests of `inspect` with pretrained models share.
namespace heed {

inline std::string pretrained(const std::string& name) { return "tests/golden/hugging_face/" + name; }
inline std::string golden_of(const std::string& name) { return pretrained(name) + "/golden.safetensors"; }

// A tokenizer.json whose tokens are the words from w0 on.
inline std::string tokenizer_of_words(int words = 61) {
  Json vocabulary = Json::object();
  for (int id = 0; id < words; ++id) vocabulary["w" + std::to_string(id)] = id;
  return Json({{"version", "1.0"},
               {"added_tokens", Json::array()},
               {"normalizer", nullptr},
               {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
               {"post_processor", nullptr},
               {"decoder", nullptr},
               {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w0"}}}})
      .dump();
}

}  // namespace heed
