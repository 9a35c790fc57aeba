#include "views/shown_heads.h"

#include "tests/views/helpers.h"

#include <heed/explain/score_parts.h>

using namespace heed;

namespace {

// "3.1 3.2": layers and heads from 1.
std::string names(const ShownHeads& shown) {
  std::string text;
  for (const HeadIndex at : shown.heads)
    text += fmt::format("{}{}.{}", text.empty() ? "" : " ", at.layer + 1, at.head + 1);
  return text;
}

}  // namespace

TEST_CASE("shown_heads returns all heads in order if they fit, else the most important ones") {
  const auto last_first = [](HeadIndex at) { return 10 * at.layer + at.head; };
  CHECK(names(shown_heads({2, 2}, {}, 4, last_first)) == "1.1 1.2 2.1 2.2");
  CHECK(names(shown_heads({2, 1}, {}, 2, last_first)) == "2.1 1.2");
  CHECK(shown_heads({2, 1}, {}, 2, last_first).of == 3);
  CHECK(names(shown_heads({2, 2}, {}, 2, [](HeadIndex) { return 1; })) == "1.1 1.2");  // in their order
}

TEST_CASE("shown_heads returns all heads of a chosen layer, and a chosen head of each layer") {
  const auto none = [](HeadIndex) { return 0; };
  CHECK(names(shown_heads({3, 3}, choosing(2, {}), 1, none)) == "2.1 2.2 2.3");
  CHECK(names(shown_heads({3, 3}, choosing({}, 3), 1, none)) == "1.3 2.3");
}

TEST_CASE("weight_on_antecedent sums the weights on an antecedent of several tokens") {
  SentenceAttention sentence = english_sentence();  // the query's weights on "The animal": 0.03, 0.1; 0.93, 1
  sentence.candidates = {{0, 2}, {4, 6}};
  CHECK(weight_on_antecedent(sentence, 0, 0) == Approx(0.03));
  CHECK(weight_on_antecedent(sentence, 1, 0) == Approx(0.93));
  sentence.candidates = {{1, 4}, {4, 6}};
  CHECK(weight_on_antecedent(sentence, 1, 0) == Approx(0.94));
  // Summed over these tokens, a head with many small weights points most.
  sentence.candidates = {{1, 11}};
  CHECK(names(shown_heads(sentence, {}, 1)) == "1.2");
}

TEST_CASE("shown_heads ranks heads by weight on the antecedent, or by telling weight without one") {
  SentenceAttention sentence = english_sentence();
  CHECK(names(shown_heads(sentence, {}, 1)) == "2.2");
  CHECK(names(shown_heads(sentence, {}, 2)) == "2.2 2.1");
  CHECK(names(shown_heads(sentence, {}, 3)) == "2.2 2.1 1.2");
  CHECK(importance_text({sentence}) == "those with the most weight on the antecedent");
  sentence.antecedent = -1;
  CHECK(names(shown_heads(sentence, {}, 3)) == "2.2 2.1 1.1");
  CHECK(importance_text({sentence}) ==
        "those with the largest weight on a token that is not the first, special or a neighbour they always attend to");
}

TEST_CASE("telling_weight ignores the first token, separators, the query and usual neighbours") {
  SentenceAttention sentence;
  sentence.tokens = {"the", "cat", "[SEP]", "it", "sat", "down"};
  sentence.query = 3;
  const auto weights = [&](const std::vector<float>& row) {
    std::vector<float> all(36);
    std::ranges::copy(row, all.begin() + 18);
    sentence.layers = {tensor({1, 6, 6}, std::span<const float>(all))};
    return telling_weight(sentence, {0, 0});
  };
  CHECK(weights({0.5F, 0.125F, 0, 0.375F, 0, 0}) == 0.125);
  CHECK(weights({0, 0, 0.25F, 0.25F, 0.5F, 0}) == 0.5);  // a neighbour that the other tokens do not attend to
  CHECK(weights({0, 0, 0.25F, 0, 0, 0.75F}) == 0.75);
}

TEST_CASE("A head with a large weight on one content word comes before those that attend to the token before each") {
  SentenceAttention sentence;
  sentence.tokens = {"The", "capital", "of", "France", "is"};
  sentence.query = 4;
  // Head 1 attends to the first token, head 2 to the previous one, head 3 to France alone and to itself elsewhere.
  const std::vector<double> first{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0};
  const std::vector<double> previous{1, 0, 0, 0, 0,  .9, .1, 0, 0, 0, 0,   .9, .1,
                                     0, 0, 0, 0, .9, .1, 0,  0, 0, 0, .95, .05};
  const std::vector<double> France{1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, .9, .1};
  std::vector<double> all(first);
  all.insert(all.end(), previous.begin(), previous.end());
  all.insert(all.end(), France.begin(), France.end());
  sentence.layers = {tensor({3, 5, 5}, all)};
  CHECK(names(shown_heads(sentence, {}, 1)) == "1.3");
  CHECK(telling_weight(sentence, {0, 0}) == 0);
  CHECK(telling_weight(sentence, {0, 1}) == Approx(0.05));
  CHECK(telling_weight(sentence, {0, 2}) == Approx(0.9));
}

TEST_CASE("left_out_text says how many heads are shown and which option shows more") {
  const ShownHeads some = shown_heads({3, 3}, {}, 2, [](HeadIndex at) { return at.layer; });
  CHECK(left_out_text(some, "those that are red", {}) ==
        "Shown: 2 of 6 heads, those that are red. --layer 2 shows all of layer 2.\n");
  CHECK(left_out_text(shown_heads({1}, {}, 2, [](HeadIndex) { return 0; }), "", {}) == "");
}

TEST_CASE("lines_for_heads gives each sentence an equal part of the screen, at least four lines") {
  CHECK(lines_for_heads({80, false, 24}, 1) == 15);
  CHECK(lines_for_heads({80, false, 24}, 4) == 4);
  CHECK(lines_for_heads({80, false, 100}, 4) == 20);
  CHECK(lines_for_heads({80, false, 24}, 0) == 15);
  CHECK(heads_that_fit({80, false, 24}, 1, 2) == 7);
  CHECK(heads_that_fit({80, false, 24}, 2, 2) == 4);
}

TEST_CASE("two sentences of a large model fit a screen of 24 rows, with the prompt below") {
  const std::string text = query_view(large_dump(), {});
  REQUIRE(large_dump().sentences.size() == 2);
  CHECK(text.find("\nShown: 6 of 48 heads") != std::string::npos);
  CHECK(std::ranges::count(text, '\n') < 24);
}
