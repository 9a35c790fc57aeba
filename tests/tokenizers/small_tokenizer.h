#pragma once
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// Returns a WordPiece tokenizer of 61 tokens, some of them parts of words. If `has_special`, it has special tokens and
/// the template [CLS] ... [SEP].
inline std::string tokenizer_json(bool has_special) {
  using nlohmann::json;
  std::vector<std::string> tokens{"[PAD]", "[UNK]", "[CLS]",   "[SEP]", "[MASK]", "the",  "cat",   "dog",
                                  "saw",   "a",     "because", "it",    "was",    "big",  "small", "bi",
                                  "##rd",  "##s",   ".",       "hid",   "from",   "tree", "old",   "red"};
  while (tokens.size() < 61) tokens.push_back("w" + std::to_string(tokens.size()));
  json vocabulary = json::object(), added = json::array();
  for (std::size_t id = 0; id < tokens.size(); ++id) vocabulary[tokens[id]] = id;
  for (int id = 0; id < 5 && has_special; ++id) {
    added.push_back({{"id", id},
                     {"content", tokens[static_cast<std::size_t>(id)]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  const json bert = {{"type", "BertProcessing"}, {"sep", {"[SEP]", 3}}, {"cls", {"[CLS]", 2}}};
  return json({{"version", "1.0"},
               {"added_tokens", added},
               {"normalizer", nullptr},
               {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
               {"post_processor", has_special ? bert : json()},
               {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", false}}},
               {"model",
                {{"type", "WordPiece"},
                 {"vocab", vocabulary},
                 {"unk_token", "[UNK]"},
                 {"continuing_subword_prefix", "##"},
                 {"max_input_chars_per_word", 100}}}})
      .dump();
}

}  // namespace heed
