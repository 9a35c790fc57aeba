#include "formats/gguf/gguf_config.h"
#include "tests/catch.h"
#include "tests/formats/gguf_bytes.h"
#include "tests/message.h"

#include <heed/tokenizers/pretrained_tokenizer.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

using namespace heed;

namespace {

nlohmann::json golden_json(const std::string& name) {
  return nlohmann::json::parse(read_file("tests/golden/tokenizers/" + name + ".json"));
}

// Names of tokens by id, and their kinds: 3 for special ones.
struct Tokens {
  std::vector<std::string> names;
  std::vector<std::int32_t> kinds;
};
Tokens tokens_of(const nlohmann::json& file) {
  Tokens tokens;
  tokens.names = PretrainedTokenizer(file.dump()).tokens();
  tokens.kinds.assign(tokens.names.size(), 1);
  for (const auto& added : file["added_tokens"]) {
    tokens.kinds[added["id"].get<std::size_t>()] = added["special"].get<bool>() ? 3 : 4;
  }
  return tokens;
}

const std::string hard_text =
    "The animal didn't cross\n\n the street 123456: it's \u00e9\u0301 \u4e2d\u6587 <s> <|endoftext|> \U0001f600  x";

void check_same_ids(const PretrainedTokenizer& tokenizer, const std::string& name) {
  const PretrainedTokenizer expected(golden_json(name).dump());
  std::vector<int> ids, expected_ids;
  for (const EncodedToken& token : tokenizer.encode(hard_text)) ids.push_back(token.id);
  for (const EncodedToken& token : expected.encode(hard_text)) expected_ids.push_back(token.id);
  INFO(name);
  CHECK(ids == expected_ids);
  CHECK(tokenizer.decode(ids) == expected.decode(ids));
}

}  // namespace

TEST_CASE("Tokenizers in GGUF files give the ids of the original tokenizers") {
  for (const auto& [name, words] : std::vector<std::pair<std::string, std::string>>{
           {"gpt2", "gpt-2"}, {"llama3", "llama-bpe"}, {"qwen2", "qwen2"}, {"starcoder", "smollm"}}) {
    const nlohmann::json golden = golden_json(name);
    const Tokens tokens = tokens_of(golden);
    std::vector<std::string> merges;
    for (const auto& pair : golden["model"]["merges"])
      merges.push_back(pair[0].get<std::string>() + " " + pair[1].get<std::string>());
    GgufBytes file;
    file.text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", words)
        .texts("tokenizer.ggml.tokens", tokens.names);
    file.numbers("tokenizer.ggml.token_type", 5, tokens.kinds).texts("tokenizer.ggml.merges", merges);
    if (name == "llama3")
      file.u32("tokenizer.ggml.bos_token_id",
               static_cast<std::uint32_t>(std::ranges::find(tokens.names, "<|begin_of_text|>") - tokens.names.begin()));
    const Scratch scratch;
    check_same_ids(PretrainedTokenizer(tokenizer_of_gguf(GgufFile(file.in(scratch)))), name);
  }

  const nlohmann::json golden = golden_json("llama2");
  const Tokens tokens = tokens_of(golden);
  std::vector<float> scores(tokens.names.size(), 0);
  float score = 0;
  for (const auto& pair : golden["model"]["merges"]) {  // earlier merges have higher scores
    const std::string token = pair[0].get<std::string>() + pair[1].get<std::string>();
    const auto id = static_cast<std::size_t>(std::ranges::find(tokens.names, token) - tokens.names.begin());
    if (scores[id] == 0) scores[id] = --score;
  }
  GgufBytes file;
  file.text("tokenizer.ggml.model", "llama").texts("tokenizer.ggml.tokens", tokens.names);
  file.numbers("tokenizer.ggml.scores", 6, scores).numbers("tokenizer.ggml.token_type", 5, tokens.kinds);
  file.u32("tokenizer.ggml.bos_token_id", 1).u32("tokenizer.ggml.unknown_token_id", 0);
  const Scratch scratch;
  check_same_ids(PretrainedTokenizer(tokenizer_of_gguf(GgufFile(file.in(scratch)))), "llama2");
}

TEST_CASE("tokenizer_of_gguf leaves out the tokens with which llama.cpp pads a vocabulary") {
  GgufBytes file;
  file.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2");
  file.texts("tokenizer.ggml.tokens", {"a", "[PAD1]", "b", "[PAD7]", "[PAD4]", "[PAD5]"})
      .texts("tokenizer.ggml.merges", {});
  file.numbers<std::int32_t>("tokenizer.ggml.token_type", 5, {1, 1, 1, 5, 5, 5});
  const Scratch scratch;
  const PretrainedTokenizer tokenizer(tokenizer_of_gguf(GgufFile(file.in(scratch))));
  const std::vector<std::string> names = tokenizer.tokens(6);
  CHECK(names == std::vector<std::string>{"a", "[PAD1]", "b", "[PAD7]", "<unused 4>", "<unused 5>"});
}

TEST_CASE("tokenizer_of_gguf rejects unknown and incomplete tokenizers") {
  const Scratch scratch;
  const auto saying = [&](const GgufBytes& file) {
    return message([&] { tokenizer_of_gguf(GgufFile(file.in(scratch))); }, scratch / "model.gguf");
  };
  CHECK(tokenizer_of_gguf(GgufFile(GgufBytes().in(scratch))).empty());
  CHECK(saying(GgufBytes().text("tokenizer.ggml.model", "rwkv")) ==
        "FILE: 'tokenizer.ggml.model' is 'rwkv'; heed reads gpt2 and llama");
  CHECK(saying(GgufBytes().text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", {"a"})) ==
        "FILE: 'tokenizer.ggml.pre' is missing, and models of the architecture '' cut words in different ways; convert "
        "the model with a newer llama.cpp");
  CHECK(saying(GgufBytes().text("tokenizer.ggml.model", "gpt2")) ==
        "FILE: 'tokenizer.ggml.tokens', a list, is missing");
  CHECK(saying(GgufBytes()
                   .text("general.architecture", "qwen2")
                   .text("tokenizer.ggml.model", "gpt2")
                   .texts("tokenizer.ggml.tokens", {"a"})) == "FILE: 'tokenizer.ggml.merges', a list, is missing");
  const auto gpt2 = [](const std::string& words) {
    return GgufBytes()
        .text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", words)
        .texts("tokenizer.ggml.tokens", {"a", "b"});
  };
  CHECK(saying(gpt2("dbrx")).starts_with("FILE: 'tokenizer.ggml.pre' is 'dbrx'; heed knows gpt-2, "));
  CHECK(saying(gpt2("gpt-2")) == "FILE: 'tokenizer.ggml.merges', a list, is missing");
  CHECK(saying(gpt2("gpt-2").u32("tokenizer.ggml.merges", 3)) ==
        "FILE: 'tokenizer.ggml.merges' must be a list of strings");
  CHECK(saying(gpt2("gpt-2").flag("tokenizer.ggml.add_bos_token", true).u32("tokenizer.ggml.bos_token_id", 7)) ==
        "FILE: 'tokenizer.ggml.bos_token_id' must be the id of a token");
  CHECK(saying(gpt2("gpt-2").numbers<std::int32_t>("tokenizer.ggml.token_type", 5, {1})) ==
        "FILE: 'tokenizer.ggml.token_type' has 1 value for 2 tokens");
  for (const char* words :
       {"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "tekken"}) {  // texts begin with a token
    CHECK(saying(gpt2(words)) == "FILE: 'tokenizer.ggml.bos_token_id' must be the id of a token");
  }
  CHECK(saying(GgufBytes()
                   .text("tokenizer.ggml.model", "llama")
                   .texts("tokenizer.ggml.tokens", {"a", "b"})
                   .numbers<float>("tokenizer.ggml.scores", 6, {0, std::numeric_limits<float>::quiet_NaN()})) ==
        "FILE: 'tokenizer.ggml.scores': that of token 1 is not finite");
}
