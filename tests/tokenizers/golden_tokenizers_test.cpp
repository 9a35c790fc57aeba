#include "tests/catch.h"
#include "tests/golden_lines.h"
#include "tests/message.h"

#include <heed/data/vocabulary.h>
#include <heed/files/digest.h>
#include <heed/files/file.h>
#include <heed/tokenizers/marked_text.h>
#include <heed/tokenizers/pretrained_tokenizer.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>

using namespace heed;

namespace {

const std::filesystem::path golden = "tests/golden/tokenizers";

PretrainedTokenizer golden_tokenizer(const std::string& name) {
  return PretrainedTokenizer(read_file(golden / (name + ".json")));
}

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<int> ids_of(const std::vector<EncodedToken>& tokens) {
  std::vector<int> ids;
  for (const EncodedToken& token : tokens) ids.push_back(token.id);
  return ids;
}

// Returns the tokens of a text as in the vocabulary, separated by spaces.
std::string named(const PretrainedTokenizer& tokenizer, std::string_view text) {
  std::string result;
  for (const EncodedToken& token : tokenizer.encode(text))
    result += (result.empty() ? "" : " ") + tokenizer.token(token.id);
  return result;
}

}  // namespace

TEST_CASE("Tokenizers of 19 models give the ids and the texts of the tokenizers package") {
  const std::vector<std::string> lines = golden_lines();
  REQUIRE(lines.size() == 250);
  REQUIRE(golden_names().size() == 19);
  for (const std::string& name : golden_names()) {
    const PretrainedTokenizer tokenizer = golden_tokenizer(name);
    std::istringstream digests(read_file(golden / (name + ".digests")));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::vector<int> ids = ids_of(tokenizer.encode(lines[i]));
      std::string digest;
      REQUIRE(digests >> digest);
      const std::string result = fmt::format("{}|", fmt::join(ids, " ")) + tokenizer.decode(ids);
      INFO(name << ", line " << i << " (from 0): '" << lines[i] << "' has the ids " << result);
      CHECK(hexadecimal(xxh64(result)) == digest);
    }
  }
}

TEST_CASE("Metaspace puts its sign before the same pieces as the tokenizers package") {
  using Json = nlohmann::json;
  // Makes each character a piece; returns "?" for each character, "s" for <s>, and "_" for each sign.
  const auto signs = [](const Json& normalizer, const std::string& text) {
    const Json characters = {
        {"type", "Split"}, {"pattern", {{"Regex", "."}}}, {"behavior", "Isolated"}, {"invert", false}};
    const Json metaspace = {
        {"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "first"}, {"split", false}};
    const Json added = {{"id", 2},         {"content", "<s>"}, {"special", true},    {"single_word", false},
                        {"lstrip", false}, {"rstrip", false},  {"normalized", false}};
    const Json file = {
        {"added_tokens", {added}},
        {"normalizer", normalizer},
        {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {characters, metaspace}}}},
        {"model",
         {{"type", "BPE"}, {"unk_token", "?"}, {"vocab", {{"?", 0}, {"\u2581", 1}}}, {"merges", Json::array()}}}};
    std::string result;
    for (const int id : ids_of(PretrainedTokenizer(file.dump()).encode(text))) result += "?_s"[id];
    return result;
  };
  const auto replacing = [](const char* kind, const char* pattern, const char* content) {
    return Json{{"type", "Replace"}, {"pattern", {{kind, pattern}}}, {"content", content}};
  };
  const auto form = [](const char* name) { return Json{{"type", name}}; };
  const Json table = Json::parse(read_file(golden / "t5.json")).at("normalizer");

  // The results of tokenizers 0.23.3. A character that replaces others has the offset of the last one.
  CHECK(signs(nullptr, "ab") == "_??");
  CHECK(signs(replacing("String", "''", "\""), "''a") == "??");
  CHECK(signs(replacing("String", "a", "xy"), "ab") == "_?_??");
  CHECK(signs(replacing("Regex", "^", "xy"), "ab") == "_?_?_??");
  CHECK(signs(replacing("Regex", "^", "xy"), "<s>ab") == "s????");
  const Json strip = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", false}};
  CHECK(signs({{"type", "Sequence"}, {"normalizers", {strip, replacing("Regex", "^", "xy")}}}, " ab") == "_?_???");

  // The first character of a decomposition takes a character of the text; the others share its offset.
  CHECK(signs(form("NFD"), "\u00e9b") == "_?_??");
  CHECK(signs(form("NFD"), "e\u0301b") == "_???");
  CHECK(signs(form("NFD"), "\u0301\u0323b") == "_???");
  CHECK(signs(form("NFD"), "a\u0301\u0f73b") == "_?????");
  CHECK(signs(form("NFC"), "e\u0301b") == "_??");
  CHECK(signs(form("NFC"), "\u0344b") == "_?_??");
  CHECK(signs(form("NFC"), "e\u0327\u0301\u0302b") == "_????");
  CHECK(signs(form("NFC"), "\u1100\u1161\u11a8b") == "_??");
  CHECK(signs(form("NFC"), "\U0001f469\u200d\U0001f467") == "_???");
  CHECK(signs(form("NFKC"), "\ufb01\u0301b") == "_???");
  CHECK(signs(form("NFKC"), "\u00bdb") == "_?_?_??");
  CHECK(signs(form("NFKD"), "\ufb01\u0301b") == "_?_???");
  CHECK(signs({{"type", "Sequence"}, {"normalizers", {form("NFKC"), replacing("String", "1", "xy")}}}, "\u00bdb") ==
        "_?_?_?_??");

  CHECK(signs(table, "\u0301ab") == "_??");  // the table removes the first character, so no sign comes before it
  CHECK(signs(table, "\u00bdb") == "_?_?_??");
  CHECK(signs(table, "\u00bd\u0301b") == "_????");
  CHECK(signs(table, "\u200d\u200dab") == "_??");
  CHECK(signs(table, "a\u0301b") == "_??");
}

TEST_CASE("NFC, NFKC and NFKD treat Hangul letters like the tokenizers package") {
  const auto form = [](const char* name, const std::string& text) {
    const nlohmann::json vocabulary = {
        {"?", 0},       {"\uac00", 1},       {"\uac03", 2},      {"\ud558\u1102", 3}, {"\u1172\u1172", 4},
        {"a\u1161", 5}, {"\u1100\u1161", 6}, {"\uac00\u11a7", 7}};
    const nlohmann::json file = {{"normalizer", {{"type", name}}},
                                 {"model", {{"type", "WordLevel"}, {"unk_token", "?"}, {"vocab", vocabulary}}}};
    const EncodedToken token = PretrainedTokenizer(file.dump()).encode(text).at(0);
    return fmt::format("{} {}-{}", token.id, token.begin, token.end);
  };
  // The results of tokenizers 0.23.3.
  CHECK(form("NFKC", "\u3131\u314f") == "1 0-6");
  CHECK(form("NFKC", "\uffa1\uffc2") == "1 0-6");
  CHECK(form("NFKC", "\uac00\u3133") == "2 0-6");
  CHECK(form("NFKC", "\u314e\u314f\u3134") == "3 0-9");
  CHECK(form("NFKC", "\u3160\u3160") == "4 0-6");
  CHECK(form("NFKC", "a\u314f") == "5 0-4");
  CHECK(form("NFKD", "\u3131\u314f") == "6 0-6");
  CHECK(form("NFC", "\uac00\u11a7") == "7 0-6");
}

TEST_CASE("Characters newer than the Unicode tables of the tokenizers package are unchanged") {
  using Json = nlohmann::json;
  // Returns whether `text` stays unchanged and in one piece.
  const auto keeps = [](const Json& normalizer, const Json& pre_tokenizer, const std::string& text) {
    const Json file = {{"normalizer", normalizer},
                       {"pre_tokenizer", pre_tokenizer},
                       {"model", {{"type", "WordLevel"}, {"unk_token", "?"}, {"vocab", {{"?", 0}, {text, 1}}}}}};
    return ids_of(PretrainedTokenizer(file.dump()).encode(text)) == std::vector{1};
  };
  const auto bert = [](bool cleans, bool strips) {
    return Json{{"type", "BertNormalizer"},
                {"clean_text", cleans},
                {"handle_chinese_chars", false},
                {"strip_accents", strips},
                {"lowercase", false}};
  };
  // They are new in Unicode 15; tokenizers 0.23.3 keeps them.
  CHECK(keeps(bert(false, true), nullptr, "a\u0ece"));
  CHECK(keeps(bert(true, false), nullptr, "a\U00013439"));
  CHECK(keeps({{"type", "StripAccents"}}, nullptr, "a\u0cf3"));
  CHECK(keeps({{"type", "NFKC"}}, nullptr, "a\U0001e030"));
  CHECK(keeps(nullptr, {{"type", "Punctuation"}}, "a\U00011b00"));
  // Older ones.
  CHECK_FALSE(keeps(bert(false, true), nullptr, "a\u0301"));
  CHECK_FALSE(keeps(bert(true, false), nullptr, "a\u200d"));
  CHECK_FALSE(keeps({{"type", "StripAccents"}}, nullptr, "a\u0903"));
  CHECK_FALSE(keeps({{"type", "NFKC"}}, nullptr, "a\u2075"));
  CHECK_FALSE(keeps(nullptr, {{"type", "Punctuation"}}, "a\u2014"));
}

TEST_CASE("The class of letters in patterns contains the same marks as in the tokenizers package") {
  const nlohmann::json file = nlohmann::json::parse(R"({
    "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[[:alpha:]]"}, "behavior": "Removed", "invert": false},
    "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"1": 0, "?": 1}}})");
  const PretrainedTokenizer tokenizer(file.dump());
  for (const char* letter : {"a", "\u0363", "\u036f", "\u0c04", "\u0f83", "\u1dd3", "\u1de6", "\U00011081"}) {
    INFO(letter);
    CHECK(named(tokenizer, fmt::format("1{}1", letter)) == "1 1");
  }
  CHECK(named(tokenizer, "1\u03621") == "?");
}

TEST_CASE("A Replace pattern that matches the empty string leaves an empty text empty") {
  const nlohmann::json file = nlohmann::json::parse(R"({
    "normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Strip", "strip_left": true, "strip_right": true},
      {"type": "Replace", "pattern": {"Regex": "^"}, "content": "x"}]},
    "model": {"type": "BPE", "vocab": {"x": 0, "a": 1}, "merges": []}})");
  const PretrainedTokenizer tokenizer(file.dump());
  CHECK(named(tokenizer, " ") == "");
  CHECK(named(tokenizer, "a") == "x a");
}

TEST_CASE("Unigram scores that nearly tie are decided as in the tokenizers package") {
  const auto ids = [](double a, double bc, double ab, double c) {
    const auto vocabulary = nlohmann::json::array({{"<unk>", 0.0}, {"a", a}, {"bc", bc}, {"ab", ab}, {"c", c}});
    const nlohmann::json file = {{"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocabulary}}}};
    return ids_of(PretrainedTokenizer(file.dump()).encode("abc"));
  };
  // The results of tokenizers 0.23.3. With the nearest doubles, a + bc would be larger or equal in the first three.
  CHECK(ids(-3.472796329604123, -3.1581943989316206, -5.265666966648271, -1.3653237618874723) == std::vector{3, 4});
  CHECK(ids(-2.5831005951759725, -7.2917269110739635, -0.4056912907682382, -9.469136215481697) == std::vector{3, 4});
  CHECK(ids(-0.7191110707864713, -1.6070053010184613, -3.3594711806428474, 1.033354808837915) == std::vector{3, 4});
  CHECK(ids(-1, -2, -2, -1) == std::vector{1, 2});
  CHECK(ids(-1e-7, -2.5e20, -2.5e20, -1e-300) == std::vector{1, 2});
}

TEST_CASE("Tokens cover successive bytes of the text") {
  const std::set<std::string> without_gaps{"gpt2", "neox", "starcoder", "deepseek", "llama2", "gemma", "llama3"};
  for (const std::string& name : golden_names()) {
    const PretrainedTokenizer tokenizer = golden_tokenizer(name);
    for (const std::string& line : golden_lines()) {
      INFO(name << ": '" << line << "'");
      std::size_t end = 0;
      int word = 0;
      for (const EncodedToken& token : tokenizer.encode(line)) {
        CHECK((token.begin <= token.end && token.end <= line.size()));
        CHECK((token.word == word || token.word == word + 1 || (token.word == 0 && word == 0)));
        if (without_gaps.contains(name)) CHECK((token.begin <= end && token.end >= end));
        word = token.word;
        end = token.end;
      }
      if (without_gaps.contains(name)) CHECK(end == line.size());
    }
  }
}

TEST_CASE("A token has its bytes in the text, its word and its written form") {
  const PretrainedTokenizer bert = golden_tokenizer("bert_uncased");
  const std::string text = "The animal didn't cross the street.";
  CHECK(named(bert, text) == "[CLS] the animal d ##id ##n ' t c ##ro ##ss the st ##re ##et . [SEP]");
  std::vector<std::string> places;
  for (const EncodedToken& token : bert.encode(text)) {
    places.push_back(fmt::format("{}:{}", text.substr(token.begin, token.end - token.begin), token.word));
  }
  CHECK(fmt::format("{}", fmt::join(places, " ")) ==
        ":0 The:1 animal:2 d:3 id:3 n:3 ':3 t:3 c:4 ro:4 ss:4 the:5 st:6 re:6 et:6 .:7 :8");
  CHECK(bert.written(*bert.id("##ss")) == "ss");
  CHECK(bert.written(*bert.id("the")) == " the");
  CHECK(bert.written(*bert.id("[CLS]")) == " [CLS]");
  CHECK(bert.decode(ids_of(bert.encode(text))) == "the animal didn ' t cross the street.");
  CHECK(bert.decode(ids_of(bert.encode("a", true)), true) == "[CLS] a [SEP]");
  CHECK(ids_of(bert.encode("a", false)) == std::vector{*bert.id("a")});

  const PretrainedTokenizer gpt2 = golden_tokenizer("gpt2");
  CHECK(gpt2.written(*gpt2.id("\u0120the")) == " the");
  CHECK(gpt2.written(*gpt2.id("\u00e2")) == "\xe2");
  const PretrainedTokenizer llama2 = golden_tokenizer("llama2");
  CHECK(llama2.written(*llama2.id("\u2581the")) == " the");
  CHECK(llama2.written(*llama2.id("<0xE2>")) == "\xe2");
  CHECK(named(llama2, "\u9f98") == "<s> \u2581 <0xE9> <0xBE> <0x98>");
}

TEST_CASE("decode() treats invalid UTF-8 and byte tokens like the tokenizers package") {
  nlohmann::json file = nlohmann::json::parse(read_file(golden / "llama2.json"));
  const auto add = [&](const std::string& content, int id) {
    file["added_tokens"].push_back({{"id", id},
                                    {"content", content},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", false}});
  };
  const int size = golden_tokenizer("llama2").size();
  add("<0x25>", *golden_tokenizer("llama2").id("<0x25>"));
  add("\u2581\u2581", size), add("<0x+5>", size + 2);  // size + 1 is an id without a token
  const PretrainedTokenizer tokenizer(file.dump());
  const auto decoded = [&](const std::vector<std::string>& tokens) {
    std::vector<int> ids;
    for (const std::string& token : tokens) ids.push_back(tokenizer.id(token).value());
    return tokenizer.decode(ids);
  };
  // The results of tokenizers 0.23.3.
  const std::string wrong = "\uFFFD";
  CHECK(decoded({"<0xE4>", "<0x41>"}) == wrong + wrong);
  CHECK(decoded({"<0x41>", "<0xE4>", "a", "<0x41>"}) == wrong + wrong + "aA");
  CHECK(decoded({"<0xE4>", "<0xBD>", "<0xA0>"}) == "\u4F60");
  CHECK(decoded({"<0xE4>", "<0x25>", "<0xA0>"}) == wrong + wrong + wrong);
  CHECK(decoded({"a", "<0x25>", "\u2581\u2581", "<0x+5>", "b"}) ==
        "a%  \x05"
        "b");

  const int a = *tokenizer.id("a");
  CHECK(tokenizer.decode({a, size + 1, a}) == "aa");
  CHECK(tokenizer.written(*tokenizer.id("<0x25>")) == "%");
  CHECK(tokenizer.written(size) == "  ");
  CHECK(tokenizer.written(size + 1) == "");
  CHECK(tokenizer.written(*tokenizer.id("</s>")) == "</s>");
  CHECK(Tokenizer::of_text(tokenizer).written(tokenizer.tokens(size + 9).back()) == "");
}

TEST_CASE("special() returns the special tokens that the file names") {
  const auto is = [](const std::string& name, const std::optional<int>& id, const std::string& token) {
    const PretrainedTokenizer tokenizer = golden_tokenizer(name);
    return id == tokenizer.id(token) && id.has_value();
  };
  const PretrainedTokenizer::Special bert = golden_tokenizer("bert_cased").special();
  CHECK(is("bert_cased", bert.cls, "[CLS]"));
  CHECK(is("bert_cased", bert.sep, "[SEP]"));
  CHECK(is("bert_cased", bert.mask, "[MASK]"));
  CHECK(is("bert_cased", bert.pad, "[PAD]"));
  CHECK(is("bert_cased", bert.unk, "[UNK]"));
  const PretrainedTokenizer::Special llama = golden_tokenizer("llama2").special();
  CHECK(is("llama2", llama.bos, "<s>"));
  CHECK(is("llama2", llama.eos, "</s>"));
  CHECK(!llama.mask);
  const PretrainedTokenizer::Special gpt2 = golden_tokenizer("gpt2").special();
  CHECK(is("gpt2", gpt2.eos, "<|endoftext|>"));
  CHECK(!gpt2.unk);
  const PretrainedTokenizer tokenizer = golden_tokenizer("gpt2");
  CHECK(tokenizer.is_special(*tokenizer.id("<|endoftext|>")));
  CHECK(!tokenizer.is_special(0));
}

TEST_CASE("PretrainedTokenizer rejects text that is not UTF-8 and ids without a token") {
  const PretrainedTokenizer tokenizer = golden_tokenizer("gpt2");
  CHECK(message([&] { tokenizer.encode("ab\xc3"); }) == "text: not UTF-8 at byte 2: 0xc3");
  CHECK(message([&] { tokenizer.token(-1); }) ==
        fmt::format("id -1 belongs to no token; the tokenizer has {}", tokenizer.size()));
  CHECK(message([&] { tokenizer.decode({1 << 30}); }) ==
        fmt::format("id 1073741824 belongs to no token; the tokenizer has {}", tokenizer.size()));
}

TEST_CASE("encode() takes time proportional to the length of the text") {
  std::string spaces(100'000, ' '), word(100'000, 'a'), letters;
  for (int i = 0; i < 100'000; ++i) letters += static_cast<char>('a' + (i % 1000 * i + i / 7) % 26);
  std::string marks = "a";
  for (int i = 0; i < 25'000; ++i) marks += i % 2 ? "\u0301" : "\u0323";
  for (const std::string& name : golden_names()) {
    const PretrainedTokenizer tokenizer = golden_tokenizer(name);
    for (const std::string& text : {spaces, word, letters, marks}) {
      const auto start = std::chrono::steady_clock::now();
      const std::vector<EncodedToken> tokens = tokenizer.encode(text);
      CHECK((text == spaces || !tokens.empty()));
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      INFO(name << ": " << text.size() << " bytes from '" << text.substr(0, 8) << "' took " << seconds << " s");
      CHECK(seconds < 20);  // takes 0.2 s; quadratic time would take minutes
    }
  }
}

TEST_CASE("A Vocabulary of a pretrained tokenizer has the tokenizer's ids") {
  for (const std::string& name : golden_names()) {
    const PretrainedTokenizer pretrained = golden_tokenizer(name);
    const Tokenizer tokenizer = Tokenizer::of_text(pretrained);
    const Vocabulary vocabulary(pretrained.tokens(pretrained.size() + 3));
    CHECK(vocabulary.size() == pretrained.size() + 3);
    for (const std::string& line : golden_lines()) {
      std::vector<int> ids;
      for (const std::string& token : tokenizer(line)) ids.push_back(vocabulary[token]);
      INFO(name << ": '" << line << "'");
      CHECK(ids == ids_of(pretrained.encode(line)));
      CHECK(tokenizer.join(tokenizer(line)) == pretrained.decode(ids));
    }
  }
}

TEST_CASE("cut() finds marked words although a pretrained tokenizer changes the text") {
  const Tokenizer tokenizer = Tokenizer::of_text(golden_tokenizer("bert_uncased"));
  MarkedText marked = without_brackets("[The Animal] didn't cross [the STREET] because it was tired.");
  marked.query = find_word(marked.text, "it");
  const Example example = cut(marked, tokenizer);
  const auto words = [&](const Span& span) {
    return fmt::format("{}", fmt::join(example.tokens.begin() + span.begin, example.tokens.begin() + span.end, " "));
  };
  CHECK(words(example.candidates.at(0)) == "the animal");
  CHECK(words(example.candidates.at(1)) == "the st ##re ##et");
  CHECK(example.tokens.at(static_cast<std::size_t>(example.query)) == "it");
}
