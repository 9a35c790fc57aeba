#include "tests/inspect/inspected_run.h"
#include "tokenizers/internal/json.h"

#include <heed/explain/studies/restored.h>
#include <heed/formats/datasets/jsonl.h>

using namespace heed;

namespace {

// Returns `count` minimal pairs that differ in their last word, asked at `query`, and of `tokens` words.
std::vector<Example> pairs_of_kind(int count, int tokens) {
  const std::vector<std::string> words{"didn't", "cross", "because", "was", "too", "The"};
  std::vector<Example> result;
  for (int i = 0; i < count; ++i) {
    for (const char* last : {"tired", "animal"}) {
      Example e = dog_example();
      e.tokens[3] = words[static_cast<std::size_t>(i % 6)], e.tokens[4] = words[static_cast<std::size_t>(i / 6 % 6)];
      e.tokens.resize(static_cast<std::size_t>(tokens), "the");
      e.tokens.back() = last;
      e.distractor = 1;
      if (result.size() % 2 == 1) std::swap(e.antecedent, e.distractor), e.answer = "street";
      result.push_back(e);
    }
  }
  return result;
}

void write_held_out(const std::filesystem::path& run, std::vector<Example> examples) {
  for (std::size_t i = 0; i < examples.size(); ++i) examples[i].counterpart = static_cast<int>(i ^ 1);
  write_jsonl(held_out_path(run), examples);
}

std::vector<Example> joined(std::vector<Example> a, const std::vector<Example>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("inspect causes --tokens measures the minimal pairs of a run, and each kind by itself") {
  const InspectedRun run;
  write_held_out(run.path, joined(pairs_of_kind(10, 6), pairs_of_kind(14, 7)));
  const Json json = parse_json(run.inspect({"causes", "RUN", "--tokens", "--json"}));
  CHECK((json["pairs"] == 48 && json["observations"] == 24 && json["by_position"] == false));
  REQUIRE(json["kinds"].size() == 2);
  const Json& kind = json["kinds"][0];  // the most numerous
  CHECK((kind["pairs"] == 28 && kind["query"] == 2 && kind["by_position"] == true));
  CHECK(kind["tokens"] == Json({"dog", "street", "it", "", "", "the", ""}));
  CHECK(kind["example"] == Json({"dog", "street", "it", "didn't", "didn't", "the", "tired"}));
  // The figures are those of restored().
  const Model model = small_model();
  const std::vector<std::vector<TextPair>> kinds = kinds_of(minimal_pairs(model, read_jsonl(held_out_path(run.path))));
  REQUIRE((kinds.size() == 2 && kinds[0].size() == 28 && kinds[1].size() == 20));
  const Restored found = restored(model, kinds[0]);
  CHECK(kind["restored"]["mlp"][2][1]["mean"].get<double>() == found.tables[2].cells[2][1].restored.share);
  CHECK(parse_json(run.inspect({"causes", "RUN", "--tokens", "--json", "--limit", "20"}))["pairs"] == 20);

  const std::string text = run.inspect({"causes", "RUN", "--tokens"});
  CHECK(text.find("The pairs are of 2 kinds") != std::string::npos);
  CHECK(text.find("28  dog street it didn't didn't the tired\n") != std::string::npos);
  const std::vector<std::string> of_kind{"causes",  "RUN", "--tokens", "--sentence", "dog street it was was was",
                                         "--query", "it"};
  CHECK(run.inspect(of_kind).find(" on 20 clean texts") != std::string::npos);
  CHECK(run.inspect(of_kind).find("kinds") == std::string::npos);
}

TEST_CASE("inspect causes --tokens leaves out kinds of few pairs, and says what a run does not have") {
  const InspectedRun run;
  write_held_out(run.path, joined(pairs_of_kind(9, 6), pairs_of_kind(10, 7)));
  const Json json = parse_json(run.inspect({"causes", "RUN", "--tokens", "--json"}));
  CHECK((json["pairs"] == 38 && json["kinds"].size() == 1 && json["kinds"][0]["pairs"] == 20));
  CHECK(run.error({"causes", "RUN", "--tokens", "--sentence", "dog street it was"}) ==
        "RUN: has fewer than 10 minimal pairs of held-out sentences of 4 tokens that ask about token 3, as this one "
        "does");
  CHECK(run.error({"causes", "RUN", "--tokens", "--limit", "18"}) ==
        "--tokens: expected at least 10 minimal pairs, in two directions each, got 9");
  CHECK(run.is_usage_error({"causes", "RUN", "--tokens", "--by", "answer"},
                           "--by cannot be used with --tokens (see inspect causes --help)"));
  CHECK(run.is_usage_error({"causes", "RUN", "--tokens", "--query", "it"},
                           "--query needs --sentence (see inspect causes --help)"));
  write_jsonl(held_out_path(run.path), {dog_example()});
  CHECK(run.error({"causes", "RUN", "--tokens"}) ==
        "RUN: its held-out sentences have no minimal pairs, which differ in one word and in the answer; give it pairs: "
        "inspect causes RUN FILE.jsonl");
}
