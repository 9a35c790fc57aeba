#include "tests/catch.h"
#include "tests/message.h"
#include "tests/models/sample.h"
#include "tests/scratch.h"

#include <heed/autograd/ops.h>
#include <heed/explain/pairs.h>
#include <heed/files/file.h>

#include <cmath>

using namespace heed;

namespace {

// A model that answers with a word, or chooses a candidate, about "it".
Model answerer(bool chooses = false) {
  TransformerConfig shape = small_config();
  Model model;
  for (const char* word : {"The", "dog", "cat", "saw", "the", "bird", "and", "it", "was", "tired", "wide"})
    model.vocabulary.add(word);
  shape.vocabulary = model.vocabulary.size();
  model.build(Scope(model.parameters, 3), chooses ? chooser_of(shape) : answerer_of(shape));
  model.queries = {"it"};
  return model;
}

std::string mistakes(const Model& model, const std::string& text) {
  const Scratch scratch;
  const std::filesystem::path file = scratch.path / "pairs.jsonl";
  write_file(file, text);
  return message([&] { (void)read_pairs(model, file); }, file.string());
}

}  // namespace

TEST_CASE("read_pairs reads texts and answers, and reports all mistakes by line") {
  const Model model = answerer();
  const Scratch scratch;
  write_file(
      scratch.path / "pairs.jsonl",
      "{\"clean\": \"The dog saw the bird and it was tired\", \"corrupted\": \"The dog saw the bird and it was wide\", "
      "\"answer\": \"dog\", \"wrong\": [\"bird\", \"cat\"], \"group\": \"a\"}\n\n"
      "{\"corrupted\": \"The  dog saw the bird and it was wide\", \"clean\": \"The dog saw the bird and it was "
      "tired\", "
      "\"answer\": \"dog\", \"wrong\": [\"bird\", \"cat\"]}\n");  // repeats the first
  const std::vector<TextPair> pairs = read_pairs(model, scratch.path / "pairs.jsonl");
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].clean.query == 6);
  CHECK(pairs[0].corrupted.tokens.back() == "wide");
  CHECK(pairs[0].right == std::vector{1});
  CHECK(pairs[0].wrong == std::vector{5, 2});
  CHECK(pairs[0].group == "a");

  const std::string clean = "\"clean\": \"The dog saw it\", \"corrupted\": \"The cat saw it\"";
  CHECK(mistakes(model,
                 "{" + clean + ", \"answer\": \"dgo\", \"wrong\": []}\n" +
                     "{\"clean\": \"The dog saw it\", \"corrupted\": \"dog saw it\", \"answer\": \"dog\", \"wrong\": "
                     "\"dog\", \"grup\": \"a\"}\n[1]\n{" +
                     clean + ", \"answer\": 5}\n{\"clean\": \"The dog saw it\"}\n") ==
        "FILE:1: answer: 'dgo' is not among the model's words (did you mean 'dog'?)\n"
        "FILE:1: wrong: expected a word, or a list of words, got []\n"
        "FILE:2: unknown key 'grup' (did you mean 'group'?)\n"
        "FILE:3: expected an object {\"clean\": ...}, got [1]\n"
        "FILE:4: missing key 'wrong'\n"
        "FILE:4: answer: expected a word, or a list of words, got 5\n"
        "FILE:5: missing key 'corrupted'\n"
        "FILE:5: missing key 'answer'\n"
        "FILE:5: missing key 'wrong'");
  CHECK(
      mistakes(
          model,
          "{\"clean\": \"The dog saw it\", \"corrupted\": \"dog saw it\", \"answer\": \"dog\", \"wrong\": \"dog\"}") ==
      "FILE:1: expected two texts of as many tokens, got 4 and 3\nFILE:1: wrong: 'dog' is a right answer, too");
  CHECK(mistakes(model,
                 "{\"clean\": \"The dog saw it\", \"corrupted\": \"The  dog saw it\", \"answer\": \"\", \"wrong\": "
                 "\"cat\"}") ==
        "FILE:1: expected two texts that differ, got the same tokens twice: The dog saw it\n"
        "FILE:1: answer: expected a word, got an empty text");
  CHECK(mistakes(model, "\n") == "FILE: expected pairs of texts, one JSON object per line, got none");

  const Model chooser = answerer(true);
  CHECK(mistakes(chooser,
                 "{\"clean\": \"The [dog] saw [the bird] it\", \"corrupted\": \"The [cat] saw [the bird] it\", "
                 "\"answer\": \"the bird\", \"wrong\": \"bird\"}") ==
        "FILE:1: wrong: expected one of the candidates dog, the bird, got 'bird'");
  CHECK(mistakes(chooser,
                 "{\"clean\": \"The [dog] saw [the bird] it\", \"corrupted\": \"The [cat] saw the [bird] it\", "
                 "\"answer\": \"dog\", \"wrong\": \"the bird\"}") ==
        "FILE:1: expected the candidates of both texts at the same tokens, since their logits are compared");

  Model with_unknown = model;
  with_unknown.vocabulary.let_stand_for_unknown("cat");
  CHECK(
      mistakes(with_unknown,
               "{\"clean\": \"The zork saw it\", \"corrupted\": \"The blick saw it\", \"answer\": \"dog\", \"wrong\": "
               "\"bird\"}") ==
      "FILE:1: expected two texts that differ for the model, but it knows neither 'zork' nor 'blick'");

  Model unnamed = model;
  unnamed.queries.clear();
  CHECK(mistakes(unnamed, "{" + clean + ", \"answer\": \"dog\", \"wrong\": \"cat\"}") ==
        "FILE:1: missing key 'query': this model names no word that texts are asked at");
  CHECK(mistakes(unnamed, "{" + clean + ", \"answer\": \"dog\", \"wrong\": \"cat\", \"query\": \"it\"}") == "no error");
}

TEST_CASE("read_pairs takes ids of tokens in place of texts and answers") {
  const Model model = answerer();
  const Scratch scratch;
  write_file(
      scratch.path / "ids.jsonl",
      "{\"clean\": [0, 1, 3, 7, 8, 9], \"corrupted\": [0, 1, 3, 7, 8, 10], \"answer\": 1, \"wrong\": [2, \"bird\"]}\n"
      "{\"clean\": \"The dog saw it was tired\", \"corrupted\": [0, 1, 3, 7, 8, 10], \"answer\": \"dog\", \"wrong\": "
      "[\"cat\", \"bird\"]}\n");  // the same
  const std::vector<TextPair> pairs = read_pairs(model, scratch.path / "ids.jsonl");
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].clean.tokens == std::vector<std::string>{"The", "dog", "saw", "it", "was", "tired"});
  CHECK((pairs[0].clean.query == 3 && pairs[0].right == std::vector{1} && pairs[0].wrong == std::vector{2, 5}));
  CHECK(mistakes(model,
                 "{\"clean\": [0, 11], \"corrupted\": [0, -1], \"answer\": 1, \"wrong\": 2}\n"
                 "{\"clean\": [0, 7], \"corrupted\": [1, 7], \"answer\": 11, \"wrong\": 2}") ==
        "FILE:1: clean: expected ids from 0 to 10, got 11\nFILE:1: corrupted: expected ids from 0 to 10, got -1\n"
        "FILE:2: answer: expected a word, or a list of words, got 11");
  CHECK(mistakes(answerer(true), "{\"clean\": [0, 7], \"corrupted\": [1, 7], \"answer\": 1, \"wrong\": 2}")
            .starts_with("FILE:1: clean: the model chooses among candidates"));
}

TEST_CASE("read_pairs takes the answer of a model of texts with the space before it") {
  Model model;
  model.tokenizer = Tokenizer::of_text(Split::words);
  for (const char* token : {"a", " cat", "cat", " dog", "b", "!"}) model.vocabulary.add(token);
  TransformerConfig shape = small_config();
  shape.vocabulary = model.vocabulary.size();
  model.build(Scope(model.parameters, 3), decoder_of(shape));
  const Scratch scratch;
  write_file(scratch.path / "pairs.jsonl",
             "{\"clean\": \"a cat\", \"corrupted\": \"b cat\", \"answer\": [\"cat\", \"!\"], \"wrong\": \"dog\"}");
  const TextPair pair = read_pairs(model, scratch.path / "pairs.jsonl").at(0);
  CHECK(pair.right == std::vector{1, 5});
  CHECK(pair.wrong == std::vector{3});
  CHECK(mistakes(model,
                 "{\"clean\": \"a cat\", \"corrupted\": \"b cat\", \"answer\": \"cat dog\", \"wrong\": \"dog\"}") ==
        "FILE:1: answer: expected one token, but 'cat dog' is cat  dog");
  const std::string asked = "\"answer\": \"cat\", \"wrong\": \"dog\", \"query\": \"a\"}";
  CHECK(mistakes(model, "{\"clean\": \"a cat\", \"corrupted\": \"a dog\", " + asked) ==
        "FILE:1: expected texts that differ at 'a', where they are asked, or before: this model sees no later token");
  CHECK(mistakes(model,
                 "{\"clean\": \"a cat\", \"corrupted\": \"b cat\", \"answer\": \"cat\", \"wrong\": \"dog\", "
                 "\"query\": \" cat\"}") == "no error");
}

TEST_CASE("pair_batches keeps lengths apart, and log_odds compares the answers of each pair") {
  const Model model = answerer();
  const auto pair = [&](const std::string& text, std::vector<int> right, std::vector<int> wrong) {
    return TextPair{question(model, text), question(model, text), std::move(right), std::move(wrong)};
  };
  const std::vector<TextPair> pairs{pair("The dog saw it", {0}, {1}), pair("The dog and it", {2}, {1, 0}),
                                    pair("The dog saw the bird and it", {1}, {2}), pair("The cat saw it", {1}, {0})};
  const std::vector<PairBatch> batches = pair_batches(model, pairs, 2);
  REQUIRE(batches.size() == 3);
  CHECK(batches[0].pairs == std::vector<std::size_t>{0, 1});
  CHECK(batches[1].pairs == std::vector<std::size_t>{3});
  CHECK(batches[2].clean.tokens.shape() == Shape{1, 7});
  CHECK(max(abs(model.logits(batches[1].clean) - model.logits(batch_of(model, pairs[3].clean)))).item() < 1e-6);

  const Tensor odds = log_odds(tensor({2, 3}, {3, 1, 0, 1, 2, 5}, DType::float64), batches[0]);
  CHECK(odds.at({0}) == Approx(2));
  CHECK(odds.at({1}) == Approx(5 - std::log(std::exp(2) + std::exp(1))));
}

TEST_CASE("keep_answers numbers the answers of a batch as the logits of these words alone") {
  const Model model = answerer();
  const auto pair = [&](const std::string& text, std::vector<int> right, std::vector<int> wrong) {
    return TextPair{question(model, text), question(model, text), std::move(right), std::move(wrong)};
  };
  const std::vector<TextPair> pairs{pair("The dog saw it", {7}, {2}), pair("The dog and it", {2}, {9, 7})};
  const PairBatch whole = pair_batches(model, pairs, 2).at(0);
  PairBatch kept = whole;
  const Ids words = keep_answers(model, kept);
  CHECK(std::vector(words.data(), words.data() + words.numel()) == std::vector{2, 7, 9});
  CHECK(kept.right == std::vector<std::vector<int>>{{1}, {0}});
  CHECK(kept.wrong == std::vector<std::vector<int>>{{0}, {2, 1}});
  const Tensor logits = model.logits(whole.clean);
  CHECK(max(abs(log_odds(logits, whole) - log_odds(index_select(logits, words, 1), kept))).item() < 1e-6);

  PairBatch chosen = whole;
  CHECK(keep_answers(answerer(true), chosen).numel() == 0);
  CHECK(chosen.wrong == whole.wrong);
}

TEST_CASE("minimal_pairs takes both directions of each pair of examples") {
  const Model model = answerer();
  std::vector<Example> examples(3);
  for (Example& example : examples) example = question(model, "The dog saw the bird and it was tired");
  examples[0].answer = "dog", examples[0].counterpart = 2;
  examples[1].answer = "dog";
  examples[2].answer = "bird", examples[2].counterpart = 0, examples[2].tokens.back() = "wide";
  const std::vector<TextPair> pairs = minimal_pairs(model, examples);
  REQUIRE(pairs.size() == 2);
  CHECK((pairs[0].right == std::vector{1} && pairs[0].wrong == std::vector{5}));
  CHECK((pairs[1].right == std::vector{5} && pairs[1].corrupted.tokens.back() == "tired"));
  CHECK((pairs[0].group == "pair 1" && pairs[1].group == "pair 1"));
  const std::vector<Example> once = examples;
  examples.insert(examples.end(), once.begin(), once.end());
  examples[3].counterpart = 5, examples[5].counterpart = 3;
  CHECK(minimal_pairs(model, examples).size() == 2);  // without repetitions
}

TEST_CASE("keep_evenly takes pairs from first to last, each with its other direction") {
  std::vector<TextPair> pairs(40);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i].clean.tokens = {fmt::format("word {}", i)};
    pairs[i].corrupted.tokens = {fmt::format("word {}", i < 20 ? i + 100 : i ^ 1)};  // the last 20 in both directions
  }
  std::vector<TextPair> kept = pairs;
  keep_evenly(kept, 8);
  std::vector<std::string> first;
  for (const TextPair& pair : kept) first.push_back(pair.clean.tokens[0]);
  CHECK(first ==
        std::vector<std::string>{"word 0", "word 5", "word 10", "word 15", "word 20", "word 21", "word 30", "word 31"});
  for (const std::size_t most : {0, 40, 41}) {
    kept = pairs;
    keep_evenly(kept, most);
    CHECK(kept.size() == 40);
  }
}
