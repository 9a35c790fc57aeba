#include "tests/catch.h"
#include "tests/message.h"

#include <heed/tokenizers/pretrained_tokenizer.h>

#include <nlohmann/json.hpp>

#include <chrono>

using namespace heed;

namespace {

const nlohmann::json small_bpe = nlohmann::json::parse(R"({
  "version": "1.0", "truncation": null, "padding": null,
  "added_tokens": [{"id": 3, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
                    "special": true}],
  "normalizer": null, "pre_tokenizer": null, "decoder": null,
  "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                     {"Sequence": {"id": "A", "type_id": 0}}], "pair": [],
                     "special_tokens": {"<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]}}},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})");

// Returns the error message for this file.
std::string saying(const nlohmann::json& file) {
  return message([&] { PretrainedTokenizer tokenizer(file.dump()); });
}

// Returns the error message for small_bpe with `value` at `pointer`.
std::string setting(const std::string& pointer, const nlohmann::json& value) {
  nlohmann::json file = small_bpe;
  file[nlohmann::json::json_pointer(pointer)] = value;
  return saying(file);
}

nlohmann::json parsed(const char* text) { return nlohmann::json::parse(text); }

}  // namespace

TEST_CASE("PretrainedTokenizer reads a small BPE file") {
  const PretrainedTokenizer tokenizer(small_bpe.dump());
  CHECK(tokenizer.size() == 4);
  CHECK(tokenizer.tokens(6) == std::vector<std::string>{"a", "b", "ab", "<s>", "<unused 4>", "<unused 5>"});
  CHECK(tokenizer.tokens(3) == std::vector<std::string>{"a", "b", "ab"});
  CHECK(tokenizer.size_without_added() == 3);
  std::string tokens;
  for (const EncodedToken& token : tokenizer.encode("abba<s>")) tokens += tokenizer.token(token.id) + " ";
  CHECK(tokens == "<s> ab b a <s> ");
}

TEST_CASE("PretrainedTokenizer rejects files that are not tokenizers") {
  CHECK(message([] { PretrainedTokenizer tokenizer(""); }).starts_with("not JSON: it is empty"));
  CHECK(message([] { PretrainedTokenizer tokenizer("[]"); }) == "the file: expected an object, got a list");
  CHECK(message([] { PretrainedTokenizer tokenizer("{}"); }) == "the file: 'model' is missing");
  const std::string whole = small_bpe.dump();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK(message([&] { PretrainedTokenizer tokenizer(whole.substr(0, size)); }) != "no error");
  }
  CHECK(message([] { PretrainedTokenizer tokenizer(std::string(100'000, '[')); }) == "nested deeper than 16 levels");
  CHECK(message([] { PretrainedTokenizer tokenizer(R"({"model": 1, "model": 2})"); }) == "key 'model' occurs twice");
}

TEST_CASE("PretrainedTokenizer rejects unknown parts and names them") {
  CHECK(setting("/extra", 1) == "the file: unknown key 'extra'");
  CHECK(setting("/model/type", "Sorcery") ==
        "model: unknown type 'Sorcery'; known: BPE, WordPiece, WordLevel, Unigram");
  CHECK(setting("/model/charm", 1) == "model: unknown key 'charm'");
  CHECK(setting("/model/dropout", 0.1) == "model: dropout 0.1 makes tokens random, which is not supported");
  CHECK(setting("/normalizer", parsed(R"({"type": "Upper"})")) == "normalizer: unknown type 'Upper'");
  CHECK(
      setting("/normalizer", parsed(R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Upper"}]})")) ==
      "normalizer.normalizers[1]: unknown type 'Upper'");
  CHECK(setting("/pre_tokenizer", parsed(R"({"type": "Words"})")) == "pre_tokenizer: unknown type 'Words'");
  CHECK(setting("/pre_tokenizer", parsed(R"({"type": "FixedLength", "length": 3})")) ==
        "pre_tokenizer: unknown type 'FixedLength'");
  CHECK(setting("/normalizer", parsed(R"({"type": "Upper", "locale": "tr"})")) == "normalizer: unknown type 'Upper'");
  CHECK(setting("/decoder", parsed(R"({"type": "CTC"})")) == "decoder: unknown type 'CTC'");
  CHECK(setting("/post_processor", parsed(R"({"type": "Any"})")) == "post_processor: unknown type 'Any'");
  CHECK(setting("/pre_tokenizer", parsed(R"({"type": "Punctuation", "behavior": "Swallowed"})")) ==
        "pre_tokenizer: unknown behavior 'Swallowed'");
  CHECK(setting("/normalizer", parsed(R"({"type": "BertNormalizer", "clean_text": 1})")) ==
        "normalizer: 'clean_text': expected true or false, got 1");
}

TEST_CASE("PretrainedTokenizer rejects ids that collide, are negative or are huge") {
  CHECK(setting("/model/vocab/b", 0) == "model: tokens 'a' and 'b' have the same id 0");
  CHECK(setting("/model/vocab/b", -1) == "model: token 'b' has the id -1, which is negative");
  CHECK(setting("/model/vocab/b", 2'000'000'000) ==
        "model: token 'b' has the id 2000000000, far above the number of tokens, 3");
  CHECK(setting("/model/vocab/b", 18'446'744'073'709'551'615U).starts_with("model: token 'b'"));
  CHECK(setting("/model/vocab/b", 1.5) == "model: token 'b': expected a whole number as id, got 1.5");
  CHECK(setting("/added_tokens/0/id", 0) ==
        "the file.added_tokens[0]: id 0 of token '<s>' is that of 'a' in the vocabulary");
  CHECK(setting("/added_tokens/0/id", 4'000'000'000) ==
        "the file.added_tokens[0]: id 4000000000 is far above the number of tokens");
  CHECK(setting("/added_tokens/0/id", -3) ==
        "the file.added_tokens[0]: 'id': expected a whole number from 0 on, got -3");
  CHECK(setting("/added_tokens/0/content", "b") ==
        "the file.added_tokens[0]: token 'b' has the id 3 here and 1 in the vocabulary");
  nlohmann::json twice = small_bpe;
  twice["added_tokens"].push_back(twice["added_tokens"][0]);
  twice["added_tokens"][1]["content"] = "</s>";
  CHECK(saying(twice) == "the file.added_tokens[1]: tokens '<s>' and '</s>' have the same id 3");
}

TEST_CASE("PretrainedTokenizer rejects merges of unknown tokens and merges without two sides") {
  CHECK(setting("/model/merges/0", "a c") == "model: merges[0]: token 'c' is not in the vocabulary");
  CHECK(setting("/model/merges/0", parsed(R"(["b", "a"])")) == "model: merges[0]: token 'ba' is not in the vocabulary");
  CHECK(setting("/model/merges/0", "ab") == "model: merges[0]: expected two tokens with a space between, got 'ab'");
  CHECK(setting("/model/merges/0", "a b c") ==
        "model: merges[0]: expected two tokens with a space between, got 'a b c'");
  CHECK(setting("/model/merges/0", 7) == "model: merges[0]: expected two tokens, got 7");
  CHECK(setting("/model/merges", 7) == "model: 'merges': expected a list, got 7");
  nlohmann::json cycle = small_bpe;  // a token that is a merge of itself
  cycle["model"]["vocab"][""] = 4;
  cycle["model"]["merges"] = parsed(R"([["", "ab"], ["ab", ""], ["a", "b"]])");
  CHECK(saying(cycle) == "no error");
  CHECK(PretrainedTokenizer(cycle.dump()).encode(std::string(1000, 'a') + "b", false).size() == 1000);
}

TEST_CASE("PretrainedTokenizer rejects an added token that the normalizer removes") {
  nlohmann::json file = small_bpe;
  file["normalizer"] = parsed(R"({"type": "Strip", "strip_left": true, "strip_right": true})");
  file["added_tokens"][0]["content"] = "\n";
  file["post_processor"] = nullptr;
  CHECK(saying(file) == "no error");
  file["added_tokens"][0]["normalized"] = true;
  CHECK(saying(file) ==
        "the file.added_tokens[0]: the normalizer leaves nothing of token '\u240a'; set 'normalized' to false");
}

TEST_CASE("PretrainedTokenizer rejects templates with unknown tokens or without the sequence") {
  const nlohmann::json two = {{"type", "Sequence"},
                              {"processors", {small_bpe["post_processor"], small_bpe["post_processor"]}}};
  CHECK(setting("/post_processor", two) ==
        "post_processor.processors[1]: expected one processor that adds tokens, got two");
  CHECK(setting("/post_processor/single/0/SpecialToken/id", "<z>") ==
        "post_processor.single[0]: token '<z>' is not among special_tokens");
  CHECK(setting("/post_processor/special_tokens/<s>/ids/0", 9) == "post_processor: id 9 belongs to no token");
  CHECK(setting("/post_processor/special_tokens/<s>/ids/0", "x") ==
        "post_processor.special_tokens['<s>']: expected an id, got \"x\"");
  CHECK(setting("/post_processor/single", nlohmann::json::array()) == "post_processor: 'single' has no sequence A");
  CHECK(setting("/post_processor/single/0", parsed(R"({"Sequence": {"id": "A"}})")) ==
        "post_processor.single[1]: expected one sequence, A; got a second one");
  CHECK(
      setting("/post_processor", parsed(R"({"type": "BertProcessing", "cls": ["[CLS]", 77], "sep": ["[SEP]", 3]})")) ==
      "post_processor: id 77 belongs to no token");
}

TEST_CASE("CharDelimiterSplit splits a text at its delimiter and removes it") {
  nlohmann::json file = small_bpe;
  file["pre_tokenizer"] = {{"type", "CharDelimiterSplit"}, {"delimiter", "\u00e9"}};
  file["model"] = {{"type", "WordLevel"}, {"unk_token", "<s>"}, {"vocab", {{"ab", 0}, {" b", 1}, {"<s>", 3}}}};
  file["post_processor"] = nullptr;
  std::vector<int> ids;
  for (const EncodedToken& token : PretrainedTokenizer(file.dump()).encode("\u00e9ab\u00e9\u00e9 b\u00e9x"))
    ids.push_back(token.id);
  CHECK(ids == std::vector<int>{0, 1, 3});
  file["pre_tokenizer"]["delimiter"] = "ab";
  CHECK(saying(file) == "pre_tokenizer: 'delimiter': expected one character, got 'ab'");
}

TEST_CASE("Word boundaries in patterns treat accents as parts of words") {
  const auto pieces = [](const std::string& pattern, const std::string& text) {
    nlohmann::json file = small_bpe;
    file["pre_tokenizer"] = {
        {"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
    file["model"] = {{"type", "WordLevel"}, {"unk_token", "<s>"}, {"vocab", {{"a", 0}, {"<s>", 3}}}};
    file["post_processor"] = nullptr;
    std::string found;
    for (const EncodedToken& token : PretrainedTokenizer(file.dump()).encode(text))
      found += text.substr(token.begin, token.end - token.begin) + "|";
    return found;
  };
  CHECK(pieces("\\b", "e\u0308a b-\u00e9_1") == "e\u0308a| |b|-|\u00e9_1|");
  CHECK(pieces("\\B", "ab c-") == "a|b c-|");
}

TEST_CASE("Invalid patterns, and patterns that take too many steps, throw an Error") {
  const auto with_pattern = [](const std::string& pattern) {
    nlohmann::json file = small_bpe;
    file["pre_tokenizer"] = {
        {"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
    return file;
  };
  CHECK(saying(with_pattern("(a")).starts_with("pre_tokenizer: pattern '(a': "));
  CHECK(saying(with_pattern("\\")) == "pre_tokenizer: pattern '\\' ends in a backslash");
  for (const char* pattern : {"[a-z&&[^b]]", "[a[^b]]", "[a-[b]]", "[a[b]-c]", "[a[b-]]", "[a[]b]]", "[[:digit:]]"}) {
    CHECK(saying(with_pattern(pattern)) == "pre_tokenizer: pattern '" + std::string(pattern) +
                                               "': a class within a class may only add members, as in [a[bc]]");
  }
  CHECK(saying(with_pattern("[a[bc")).starts_with("pre_tokenizer: pattern '[a[bc': "));
  CHECK(saying(with_pattern("\\d{1,3}+")) ==
        "pre_tokenizer: pattern '\\d{1,3}+': '+' behind an interval is not supported");
  CHECK(saying(with_pattern("a\\X")) == "pre_tokenizer: pattern 'a\\X': \\X is not supported");
  CHECK(saying(with_pattern("[\\W]")) == "pre_tokenizer: pattern '[\\W]': \\W in a class is not supported");
  CHECK(saying(with_pattern(std::string(20'000, 'a'))) == "pre_tokenizer: a pattern has 20000 bytes, more than 10000");
  CHECK(saying(with_pattern("((a{1000}){1000}){1000}")) != "no error");
  const PretrainedTokenizer slow(with_pattern("(a|aa)+$").dump());
  CHECK(message([&] { slow.encode(std::string(200, 'a') + "b"); }) ==
        "pattern '(a|aa)+$' takes too long on a text of 201 bytes");
}

TEST_CASE("A pattern of nested quantifiers throws within 20 seconds on a long text") {
  const auto split = [](const char* pattern) {
    return nlohmann::json{
        {"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
  };
  const std::string runs = [] {  // each attempt takes thousands of steps, fewer than the limit
    std::string text;
    while (text.size() < 100'000) text += std::string(26, 'a') + " ";
    return text;
  }();
  nlohmann::json piecewise = small_bpe;
  piecewise["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {split(" "), split("(?:a|aa)+[bc]")}}};
  nlohmann::json whole = small_bpe;
  whole["pre_tokenizer"] = split("(?:a|aa)+[bc]");
  // Each step of one attempt scans the rest of the text.
  nlohmann::json scanning = small_bpe;
  scanning["pre_tokenizer"] = split("(?:(?=(?:[^x]*+[yw]|.)*[zw])|.)*[zw]");
  for (const nlohmann::json& file : {piecewise, whole, scanning}) {
    const PretrainedTokenizer slow(file.dump());
    const auto start = std::chrono::steady_clock::now();
    const std::string said = message([&] { slow.encode(runs); });
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));  // allows for a busy machine
    CHECK(said.find(" takes too long on a text of ") != std::string::npos);
  }
  // Long runs of spaces and long texts are not refused.
  nlohmann::json ordinary = small_bpe;
  ordinary["pre_tokenizer"] = split(R"('s| ?\p{L}+|\s*[\r\n]+|\s+(?!\S)|\s+)");
  const PretrainedTokenizer fast(ordinary.dump());
  CHECK(message([&] { fast.encode(std::string(300'000, ' ') + "a" + std::string(100'000, ' ') + "\na"); }) ==
        "no error");
}

TEST_CASE("encode() throws when a normalizer expands a text beyond 16 MiB") {
  nlohmann::json file = small_bpe;
  const std::string large(1'000'000, 'b');
  const auto said = [&](const nlohmann::json& normalizer) {
    file["normalizer"] = normalizer;
    const PretrainedTokenizer tokenizer(file.dump());
    return message([&] { tokenizer.encode(std::string(20, 'a')); });
  };
  CHECK(said({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", large}}) ==
        "the tokenizer makes more than 16777216 bytes of the first 17 of a text");
  const nlohmann::json longer{{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(100, 'a')}};
  CHECK(said({{"type", "Sequence"}, {"normalizers", {longer, longer, longer, longer}}})
            .starts_with("the tokenizer makes more than 16777216 bytes of the first "));
}

TEST_CASE("PretrainedTokenizer rejects damaged tables of characters") {
  const auto with_table = [](const char* base64) {
    return setting("/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", base64}});
  };
  CHECK(with_table("") ==
        "normalizer: 'precompiled_charsmap': the table of characters has 0 bytes, too few for its length");
  CHECK(with_table("?") == "normalizer: 'precompiled_charsmap': not base64: byte 0x3f");
  CHECK(with_table("/////w==") ==
        "normalizer: 'precompiled_charsmap': the table of characters says that its trie has 4294967295 bytes, but 0 "
        "follow");
  CHECK(with_table("BAAAAP////8=") == "no error");  // points outside the table, so it replaces nothing

  // Returns a table that replaces "a"; `end` is its last part in base64.
  const auto of_a = [](const char* end) { return "jAEAAAAE" + std::string(509, 'A') + "GEJ" + end; };
  CHECK(with_table(of_a("AAAAAAAAAAAAAPAA").c_str())  // F0
            .starts_with("normalizer: 'precompiled_charsmap': replacements: not UTF-8 at byte 0: 0xf0"));
  const auto first_id = [&](const char* end) {
    nlohmann::json file = small_bpe;
    file["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", of_a(end)}};
    return PretrainedTokenizer(file.dump()).encode("a", false).at(0).id;
  };
  CHECK(first_id("AAAAAAAAAAAAAGIA") == 1);      // b
  CHECK(first_id("AAAAAAAAAQAAAMOpAA==") == 0);  // points to the second byte of a character, so it replaces nothing
}

TEST_CASE("Vocabularies with invalid scores or without a needed unknown token are rejected") {
  const auto unigram = [](const char* vocab, const nlohmann::json& unk) {
    nlohmann::json file = small_bpe;
    file["added_tokens"] = nlohmann::json::array();
    file["post_processor"] = nullptr;
    file["model"] = {{"type", "Unigram"}, {"vocab", nlohmann::json::parse(vocab)}, {"unk_id", unk}};
    return file;
  };
  CHECK(saying(unigram(R"([["a", "x"]])", 0)) == "model: vocab[0]: expected a token and its score");
  CHECK(saying(unigram(R"([["a", -1]])", 5)) == "model: unk_id 5 is not below the number of tokens, 1");
  const PretrainedTokenizer without(unigram(R"([["a", -1]])", nullptr).dump());
  CHECK(message([&] { without.encode("ab"); }) == "'b' is not in the vocabulary, which has no unknown token");
  const PretrainedTokenizer whole(unigram(R"([["a", -1], ["ab", -9]])", nullptr).dump());
  CHECK(whole.encode("ab").at(0).id == 1);  // b occurs only within a token
  CHECK(message([&] { whole.encode("abb"); }) == "'b' is not in the vocabulary, which has no unknown token");
  const PretrainedTokenizer twice(unigram(R"([["a", -1], ["b", -2], ["a", -3]])", nullptr).dump());
  CHECK(twice.encode("ab").at(0).id == 2);
  CHECK(twice.tokens() == std::vector<std::string>{"<unused 0>", "b", "a"});
  nlohmann::json words = small_bpe;
  words["model"] =
      parsed(R"({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": {"a": 0}})");
  const PretrainedTokenizer pieces(words.dump());
  CHECK(message([&] { pieces.encode("ab"); }) ==
        "'ab' is not in the vocabulary, and the unknown token '[UNK]' is missing there, too");
}
