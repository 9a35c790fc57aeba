#include "tests/message.h"
#include "tests/views/helpers.h"
#include "views/view.h"

using namespace heed;

TEST_CASE("query_view shows the strongest weights in aligned columns") {
  CHECK("\n" + query_view(english, {}) == R"(
step 400

The [animal] didn't cross the street because it was too tired
predicts animal with probability 0.998
layer 1 head 1  it -> tired  0.60 ████▊      because 0.25 ██  others 0.15
layer 1 head 2  it -> tired  0.20 █▋         animal  0.10 ▊◂  others 0.70
layer 2 head 1  it -> animal 0.93 ███████▌◂  street  0.03 ▎   others 0.04
layer 2 head 2  it -> animal 1.00 ████████◂  The     0.00     others 0.00

[brackets] and ◂ mark the antecedent: what the query refers to.
)");
}

TEST_CASE("query_view aligns wide characters") {
  CHECK("\n" + query_view(chinese, {}) == R"(
step 400

[苹果] 很 甜
predicts 苹果 with probability 0.750
layer 1 head 1  甜 -> 苹果 0.50 ████◂  甜 0.38 ███  others 0.12

[brackets] and ◂ mark the antecedent: what the query refers to.
)");
}

TEST_CASE("query_view sets the untrained figures below the trained ones") {
  Dump untrained = english;
  SentenceAttention& sentence = untrained.sentences[0];
  sentence.predicted = "street";
  sentence.probability = 0.25;
  const std::vector<double> flat{.1, .1, .1, .1, .1, .1, .1, .1, .1, .05, .05};
  sentence.layers = {weights_of(7, {flat, flat}), weights_of(7, {flat, flat})};
  View view = choosing(2, {});
  view.before = &untrained;
  CHECK("\n" + query_view(english, view) == R"(
step 400

The [animal] didn't cross the street because it was too tired
predicts animal with probability 0.998  (untrained: street, 0.250)
layer 2 head 1  it -> animal 0.93 ███████▌◂  street 0.03 ▎  others 0.04
     untrained               0.10 ▊                 0.10 ▊         0.80
layer 2 head 2  it -> animal 1.00 ████████◂  The    0.00    others 0.00
     untrained               0.10 ▊                 0.10 ▊         0.80

[brackets] and ◂ mark the antecedent: what the query refers to.
)");
  CHECK(message([&] { query_view(chinese, view); }) == "the snapshots of steps 400 and 400 hold different sentences");
}

TEST_CASE("query_view fits the terminal") {
  SentenceAttention sentence = english_sentence();
  for (std::string& token : sentence.tokens) token += "-and-more-of-it";
  check_width(query_view({0, {sentence}}, at_width(80)), 80);
  check_width(query_view(english, at_width(60)), 60);
  const std::string wide = query_view(english, at_width(130));
  CHECK(wide.find("animal 0.93 ███████▌◂  street  0.03 ▎   was    0.02 ▏") != std::string::npos);
  check_width(wide, 130);
}

TEST_CASE("views show the chosen layer and head, counted from 1") {
  const std::string text = query_view(english, choosing(2, 1));
  CHECK(text.find("layer 2 head 1") != std::string::npos);
  CHECK(text.find("layer 1") == std::string::npos);
  CHECK(text.find("head 2") == std::string::npos);
  CHECK(message([] { query_view(english, choosing(3, {})); }) == "--layer: expected a number from 1 to 2, got 3");
  CHECK(message([] { matrix_view(english, choosing(1, 0)); }) == "--head: expected a number from 1 to 2, got 0");
  CHECK(message([] { weights_view(small_model(), choosing({}, 3)); }) ==
        "--head: expected a number from 1 to 2, got 3");
}

TEST_CASE("query_view shows the most important heads of a large model, and says so") {
  const std::string text = query_view(large_dump(), {});
  CHECK(std::count(text.begin(), text.end(), '\n') <= 30);
  const std::size_t best = text.find("\nlayer 6 head 8  it -> it 0.53 ████▎  animal 0.47 ███▊◂  others 0.00\n");
  REQUIRE(best != std::string::npos);
  CHECK(text.find("\nlayer 6 head 7  ") > best);
  CHECK(text.find("\nlayer 6 head 3  ") != std::string::npos);
  CHECK(text.find("layer 5 head") == std::string::npos);
  CHECK(
      text.ends_with("\nShown: 6 of 48 heads, those with the most weight on the antecedent. --layer "
                     "6\nshows all of layer 6.\n"));
  const std::string fifth = query_view(large_dump(), choosing(5, {}));
  CHECK(fifth.find("\nlayer 5 head 1  ") < fifth.find("\nlayer 5 head 8  "));
  CHECK(fifth.find("Shown") == std::string::npos);
  View tall;
  tall.terminal.height = 2 * (48 + 3) + 6;
  CHECK(query_view(large_dump(), tall).find("\nlayer 1 head 1  ") != std::string::npos);
  Dump untrained = large_dump();
  View beside;
  beside.before = &untrained;
  CHECK(query_view(large_dump(), beside).find("Shown: 4 of 48 heads") != std::string::npos);
}

TEST_CASE("query_view fits 40 columns with shorter bars and without the column of others") {
  const std::string text = query_view(english, at_width(40));
  check_width(text, 40);
  CHECK(text.find("\nlayer 2 head 1  it -> animal 0.93 ███▊◂\n") != std::string::npos);
  Dump untrained = english;
  View view = at_width(40);
  view.before = &untrained;
  check_width(query_view(english, view), 40);
}

TEST_CASE("query_view, matrix_view and compare_view replace control characters with signs") {
  SentenceAttention hostile = english_sentence();
  hostile.predicted = hostile.tokens[1] = "a\x1b[31mb\xc2\x9b\xe2\x80\xae";
  for (const std::string& text :
       {query_view({0, {hostile}}, {}), matrix_view({0, {hostile, hostile}}, {}),
        compare_view({.run = "\x1b[1m", .name = "\x1b[1m", .dump = {0, {hostile}}, .metrics = {}},
                     {.run = "b", .name = "b", .dump = {0, {hostile}}, .metrics = {}}, {})}) {
    INFO(text);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find("\xc2\x9b") == std::string::npos);
    CHECK(text.find("\xe2\x80\xae") == std::string::npos);
    CHECK(text.find("␛") != std::string::npos);
  }
}

TEST_CASE("query_view marks an answer right or wrong where the correct one is known") {
  SentenceAttention sentence = english_sentence();
  const auto line = [&](int width) {
    const std::string text = query_view({0, {sentence}}, at_width(width));
    check_width(text, width);
    const std::size_t begin = text.find("predicts");
    return text.substr(begin, text.find("\nlayer", begin) - begin);
  };
  CHECK(line(80) == "predicts animal with probability 0.998");
  sentence.answer = "animal";
  CHECK(line(80) == "predicts animal with probability 0.998  ✓ right");
  sentence.answer = "street";
  CHECK(line(80) == "predicts animal with probability 0.998  ✗ wrong: the answer is street");
  CHECK(line(40) == "predicts animal with probability 0.998\n✗ wrong: the answer is street");
  sentence.predicted = "an-animal-of-which-nobody-has-heard-so-far";
  CHECK(line(40) == "predicts an-anim… with probability 0.998\n✗ wrong: the answer is street");
}

TEST_CASE("query_view shows the most probable tokens of a language model") {
  SentenceAttention sentence = chinese_sentence();
  sentence.tokens = {"T", "o", " "};
  sentence.predicted = " ";
  sentence.answer = "\n";
  sentence.likeliest = {{" ", 0.5}, {"\n", 0.25}, {"b", 0.125}};
  CHECK(query_view({0, {sentence}}, {})
            .find("predicts ␣ with probability 0.750  ✗ wrong: the text has ↵\n"
                  "most likely:  ␣ 0.500  ↵ 0.250  b 0.125\nlayer 1") != std::string::npos);
}

TEST_CASE("Views omit the step of a model without steps") {
  View view = at_width(80);
  view.has_steps = false;
  CHECK(query_view(english, view).starts_with("The [animal] didn't"));
  CHECK(matrix_view(english, view).starts_with("each row is a query"));
  CHECK(weights_view(small_model(), view).starts_with("learned matrices;"));
}
