#include "tests/catch.h"
#include "tests/scratch.h"

#include <heed/files/file.h>
#include <heed/formats/datasets/jsonl.h>
#include <heed/tokenizers/tokenize.h>

#include <cstdlib>

using namespace heed;

namespace {

// The output of examples/convert.py for a CSV file.
struct Converted {
  bool done;
  std::string out, err;
};

Converted convert(const Scratch& place, const std::string& csv, const std::string& options = "") {
  write_file(place / "in.csv", csv);
  const std::string in = (place / "in.csv").string(), out = (place / "out.jsonl").string(),
                    err = (place / "err.txt").string();
  const bool done =
      std::system(fmt::format("python3 -B examples/convert.py {} {} >{} 2>{}", options, in, out, err).c_str()) == 0;
  return {done, read_file(out), read_file(err)};
}

bool has_python() { return std::system("command -v python3 >/dev/null") == 0; }

const std::vector<std::string> sentences = {
    "“The” judge's-own e\u0301tude na\u00efve 100% $5 3.14 a_b don’t rock'n'roll -dash 'quoted' a—b … ½ x² ₂",
    "中文字 日本語 ไทย C++ #tag @me A.B. e-mail I'm ''twas 老师感谢了医生，因为他太累了。 가각\u1100\u1161\u11a8",
    "हिन्दी में लिखा। עִבְרִית "
    "😀👨‍👩‍👧 ✈️ 🇩🇪🇫🇷🇩 👍🏽 "
    "❤️‍🔥 1️⃣ a\tb a\u00a0b a\u3000b a\u200bb co\u00adop",
    "ﬁne Ⅷ ª º ① e\u0301 ñ \u0301x a\u2028b a\u0085b a\u000bb !\u0301 \u0e33 x\u200d👧 ",
};

}  // namespace

TEST_CASE("examples/convert.py cuts sentences as typed sentences are cut") {
  if (!has_python()) return;
  const std::vector<std::string> points = {
      "x",      "1",      "_",      "'",      "-",      "’",      "(",      " ",          "\t",     "\u00a0",
      "\u3000", "\u0301", "\u200d", "\u200b", "\u00ad", "\ufe0f", "क",      "\u094d",     "\u093f", "中",
      "\u1100", "\u1161", "\u11a8", "가",     "각",     "😀",      "👩",      "\U0001f3fd", "🇩",      "✈",
      "$",      "²",      "\u2028", "\u0085", "\u0e33", "↔",      "\u20e3", "。",         "\u05b4", "\u200c"};
  std::vector<std::string> texts = sentences;
  for (const std::string& a : points) {
    for (const std::string& b : points) texts.push_back("x" + a + b + "y " + a + b + " z");
  }
  for (const bool by_character : {false, true}) {
    CAPTURE(by_character);
    std::string csv = "sentence,query,antecedent\n";
    std::vector<std::string> whole;
    for (const std::string& text : texts) {
      whole.push_back(text + " qq aa");
      csv += fmt::format("\"{}\",qq,aa\n", whole.back());
    }
    const Scratch place;
    const Converted converted = convert(place, csv, by_character ? "--characters" : "");
    CHECK(converted.err.empty());
    REQUIRE(converted.done);
    const std::vector<Example> read = read_jsonl(place / "out.jsonl");
    REQUIRE(read.size() == whole.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (by_character && i == 2) continue;  // versions of Unicode differ in how they join Devanagari consonants
      CAPTURE(whole[i]);
      CHECK(read[i].tokens == tokenize(whole[i], by_character ? Split::characters : Split::words));
      CHECK(read[i].tokens[static_cast<std::size_t>(read[i].query)] == "qq");
    }
  }
}

TEST_CASE("examples/convert.py writes spans, cue words and kinds of questions, and refuses other columns") {
  if (!has_python()) return;
  const Scratch place;
  const auto written = [&](const std::string& csv, const std::string& options = "") {
    const Converted converted = convert(place, csv, options);
    CAPTURE(converted.err);
    CHECK(converted.done);
    return converted.out;
  };
  const auto refused = [&](const std::string& csv) {
    const Converted converted = convert(place, csv);
    CHECK(!converted.done);
    CHECK(converted.out.empty());
    return converted.err;
  };
  const std::string columns = "sentence,query,antecedent,other,decider,relation\n";
  CHECK(written(columns + "The 'dog' saw a cat: it was fast,it,'dog',cat,fast,speed\n") ==
        R"({"tokens": ["The", "'", "dog", "'", "saw", "a", "cat", ":", "it", "was", "fast"], "query": 8, )"
        R"("decider": "fast", "relation": "speed", "antecedent": 2, "other": 6})"
        "\n");
  CHECK(written(columns + "The old dog saw a cat: it was fast,it,cat,old dog,,\nA dog saw it as a cat,it,1,cat,,\n") ==
        R"({"tokens": ["The", "old", "dog", "saw", "a", "cat", ":", "it", "was", "fast"], "query": 7, )"
        R"("candidates": [[1, 3], [5, 6]], "antecedent": 1})"
        "\n"
        R"({"tokens": ["A", "dog", "saw", "it", "as", "a", "cat"], "query": 3, )"
        R"("candidates": [[1, 2], [6, 7]], "antecedent": 0})"
        "\n");
  CHECK(written("sentence,query,antecedent,other\n老师谢了医生因为他们累。,他们,老师,医生\n", "--characters") ==
        R"({"tokens": ["老", "师", "谢", "了", "医", "生", "因", "为", "他", "们", "累", "。"], "query": 9, )"
        R"("candidates": [[0, 2], [4, 6]], "antecedent": 0})"
        "\n");
  CHECK(refused("sentence,query,antecedent,twin,label\nA dog saw it,it,dog,1,x\n") ==
        "convert.py: line 1: unknown columns: twin, label; expected sentence, query, antecedent, and perhaps other, "
        "decider, relation\n");
  CHECK(refused(columns + "A dog saw it,it,a dog,,,\nA dog, which saw it,it,dog,,,\n老师累因为他累,他,老师,,,\n"
                          "A dog saw it,it,dog,,red,\n") ==
        "convert.py: 4 of 4 sentences cannot be converted:\n"
        "  line 2: antecedent 'a dog' is not one of the tokens: A dog saw it\n"
        "  line 3: has more cells than line 1; put cells that hold commas in double quotes: \n"
        "  line 4: query '他' is not one of the tokens: 老师累因为他累; --characters cuts text without spaces\n"
        "  line 5: decider 'red' is not one of the tokens: A dog saw it\n");
  CHECK(refused("sentence,query,antecedent\nThe old dog saw it,it,old dog\n") ==
        "convert.py: 1 of 1 sentences cannot be converted:\n"
        "  line 2: 'other' is missing; where a candidate has several tokens, each line needs both\n");
}
