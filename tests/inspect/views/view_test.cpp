#include "inspect/views/view.h"

#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"

#include <heed/files/utf8.h>
#include <heed/nn/hook.h>

#include <fmt/ranges.h>

using namespace heed;

namespace {

const Dump english{400, {english_sentence()}};
const Dump chinese{400, {chinese_sentence()}};

View at_width(int width) { return {.terminal = {width, false}, .layer = {}, .head = {}, .before = nullptr}; }

View choosing(std::optional<int> layer, std::optional<int> head) {
  return {.terminal = {}, .layer = layer, .head = head, .before = nullptr};
}

void check_width(const std::string& text, int width) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    INFO(text.substr(begin, end - begin));
    CHECK(display_width(text.substr(begin, end - begin)) <= width);
    begin = end + 1;
  }
}

// A sentence of T words, each looking at itself.
Dump long_dump(int T, int query) {
  SentenceAttention sentence{
      .tokens = {}, .query = query, .antecedent = -1, .predicted = "w1", .probability = 1, .layers = {}};
  for (int i = 0; i < T; ++i) sentence.tokens.push_back("w" + std::to_string(i + 1));
  std::vector<double> row(static_cast<std::size_t>(T), 0.0);
  row[static_cast<std::size_t>(query)] = 1;
  sentence.layers = {weights_of(query, {row})};
  return {0, {sentence}};
}

}  // namespace

TEST_CASE("query_view shows the strongest weights in aligned columns") {
  CHECK("\n" + query_view(english, {}) == R"(
step 400

The [animal] didn't cross the street because it was too tired
predicts animal with probability 0.998
layer 1 head 1  it -> tired  0.60 ████▊      because 0.25 ██  others 0.15
layer 1 head 2  it -> tired  0.20 █▋         animal  0.10 ▊◂  others 0.70
layer 2 head 1  it -> animal 0.93 ███████▌◂  street  0.03 ▎   others 0.04
layer 2 head 2  it -> animal 1.00 ████████◂  The     0.00     others 0.00

[brackets] and ◂ mark the antecedent: the token that the query refers to.
)");
}

TEST_CASE("query_view aligns wide characters") {
  CHECK("\n" + query_view(chinese, {}) == R"(
step 400

[苹果] 很 甜
predicts 苹果 with probability 0.750
layer 1 head 1  甜 -> 苹果 0.50 ████◂  甜 0.38 ███  others 0.12

[brackets] and ◂ mark the antecedent: the token that the query refers to.
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

[brackets] and ◂ mark the antecedent: the token that the query refers to.
)");
  CHECK(message([&] { query_view(chinese, view); }) == "the dumps of steps 400 and 400 hold different sentences");
}

TEST_CASE("query_view tells equal words apart by their place") {
  SentenceAttention sentence = chinese_sentence();
  sentence.tokens = {"甜", "很", "甜"};
  const std::string text = query_view({0, {sentence}}, {});
  CHECK(text.find("甜₃ -> 甜₁ 0.50") != std::string::npos);
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

TEST_CASE("the legend of the antecedent is printed where one is marked, and wrapped") {
  CHECK(query_view(english, at_width(40))
            .ends_with("\n\n[brackets] and ◂ mark the antecedent:\nthe token that the query refers to.\n"));
  SentenceAttention without = chinese_sentence();
  without.antecedent = -1;
  const std::string unmarked = query_view({0, {without}}, {});
  CHECK(unmarked.find("brackets") == std::string::npos);
  CHECK(query_view({0, {without, english_sentence(), english_sentence()}}, {}).find("[brackets]") ==
        query_view({0, {without, english_sentence(), english_sentence()}}, {}).rfind("[brackets]"));
}

TEST_CASE("views show the chosen layer and head, counted from 1") {
  const std::string text = query_view(english, choosing(2, 1));
  CHECK(text.find("layer 2 head 1") != std::string::npos);
  CHECK(text.find("layer 1") == std::string::npos);
  CHECK(text.find("head 2") == std::string::npos);
  CHECK(message([] { query_view(english, choosing(3, {})); }) ==
        "there is no layer 3: layers are numbered from 1 to 2");
  CHECK(message([] { matrix_view(english, choosing(1, 0)); }) == "there is no head 0: heads are numbered from 1 to 2");
  CHECK(message([] { weights_view(small_model(), choosing({}, 3)); }) ==
        "there is no head 3: heads are numbered from 1 to 2");
}

TEST_CASE("matrix_view shows figures and shades under words") {
  CHECK("\n" + matrix_view(english, choosing(2, 1)) == R"(
step 400: each row is a query, each column a key

layer 2 head 1, in hundredths
        The   anim… didn… cross the   stre… beca… it    was   too   tired
The     100██   0     0     0     0     0     0     0     0     0     0
animal    0   100██   0     0     0     0     0     0     0     0     0
didn't    0     0   100██   0     0     0     0     0     0     0     0
cross     0     0     0   100██   0     0     0     0     0     0     0
the       0     0     0     0   100██   0     0     0     0     0     0
street    0     0     0     0     0   100██   0     0     0     0     0
because   0     0     0     0     0     0   100██   0     0     0     0
it        0    93██   0     1     0     3     0     1     2     0     0
was       0     0     0     0     0     0     0     0   100██   0     0
too       0     0     0     0     0     0     0     0     0   100██   0
tired     0     0     0     0     0     0     0     0     0     0   100██
)");
  CHECK("\n" + matrix_view(chinese, {}) == R"(
step 400: each row is a query, each column a key

layer 1 head 1, in hundredths
     苹果     很       甜
苹果 100█████   0        0
很     0      100█████   0
甜    50▓▓▓▓▓  13░░░░░  38▒▒▒▒▒
)");
}

TEST_CASE("matrix_view heads narrow columns with numbers") {
  CHECK("\n" + matrix_view(long_dump(16, 3), at_width(60)) == R"(
step 0: each row is a query, each column a key

layer 1 head 1
       1           5              10             15
1 w1   ███
2 w2      ███
3 w3         ███
4 w4            ███
5 w5               ███
6 w6                  ███
7 w7                     ███
8 w8                        ███
9 w9                           ███
10 w10                            ███
11 w11                               ███
12 w12                                  ███
13 w13                                     ███
14 w14                                        ███
15 w15                                           ███
16 w16                                              ███
)");
}

TEST_CASE("matrix_view shows the block around the query when not all fits") {
  const std::string text = matrix_view(long_dump(60, 40), at_width(80));
  CHECK(text.find("layer 1 head 1: only tokens 23 to 58 of 60 fit in 80 columns\n") != std::string::npos);
  CHECK(text.find("41 w41") != std::string::npos);
  CHECK(text.find("22 w22") == std::string::npos);
  check_width(text.substr(text.find('\n')), 80);
  CHECK(matrix_view(long_dump(60, 0), at_width(80)).find("tokens 1 to 36 of 60") != std::string::npos);
}

TEST_CASE("matrix_view paints cells on a terminal with colours") {
  View view = choosing(2, 1);
  view.terminal.colour = true;
  CHECK(matrix_view(english, view).find("\x1b[48;5;226;38;5;16m  100 \x1b[0m") != std::string::npos);
}

TEST_CASE("json_view prints shortest float32 figures in the documented form") {
  SentenceAttention sentence = chinese_sentence();
  sentence.tokens = {"a", "\"\n"};
  sentence.query = 1;
  sentence.probability = 0.1;
  sentence.layers = {tensor({2, 2, 2}, {1, 0, 0.3, 0.7, 0.5, 0.5, 1.0 / 3, 2.0 / 3})};
  CHECK(
      json_view({7, {sentence}}) ==
      R"({"step":7,"sentences":[{"tokens":["a","\"\n"],"query":1,"antecedent":0,"predicted":"苹果","probability":0.1,)"
      R"("layers":[[[[1.0,0.0],[0.3,0.7]],[[0.5,0.5],[0.33333334,0.6666667]]]]}]})"
      "\n");
  CHECK(json_view({0, {}}) == "{\"step\":0,\"sentences\":[]}\n");
}

TEST_CASE("weights_view gives shapes, norms and signs") {
  SavedModel model = small_model();
  const auto set = [&](const std::string& name, const std::vector<double>& values) {
    Tensor parameter = model.parameters["encoder.0.attention." + name + ".weight"];
    parameter.copy_from(tensor(parameter.shape(), values));
  };
  std::vector<double> ones(8 * 6, 1.0), diagonal(8 * 6, 0.0);
  for (std::size_t i = 0; i < 6; ++i) diagonal[i * 6 + i] = i == 5 ? -3 : 1;
  set("W_Q", ones);
  set("W_K", diagonal);
  const std::string text = weights_view(model, choosing(1, {}));
  CHECK(text.find("  W_Q  (8, 6)            6.928     6.928  4.899 4.899\n") != std::string::npos);
  CHECK(text.find("  W_K  (8, 6)            3.742     3.000  1.732 3.317\n") != std::string::npos);
  CHECK(text.find("  W_V  (8, 10)") != std::string::npos);
  CHECK(text.find("  W_O  (10, 8)") != std::string::npos);
  CHECK(text.find("   █ █ █ █ █ █         ░") != std::string::npos);  // the first row of both
  CHECK(text.find("-█") != std::string::npos);
  CHECK(text.find("layer 2") == std::string::npos);
  check_width(text, 80);

  std::vector<double> opposite(8 * 6, 0.0);  // each row sums to 0
  for (std::size_t i = 0; i < 8; ++i) opposite[i * 6] = 1, opposite[i * 6 + 1] = -1;
  set("W_Q", opposite);
  CHECK(weights_view(model, choosing(1, {})).find("  W_Q  (8, 6)            4.000     4.000") != std::string::npos);

  const std::string second = weights_view(model, choosing(1, 2));
  CHECK(second.find("layer 1 head 2\n") != std::string::npos);
  CHECK(second.find("  W_K  (8, 3)            3.317     3.000\n") != std::string::npos);
  CHECK(second.find("  W_O  (5, 8)") != std::string::npos);
}

TEST_CASE("steps_view gives every matrix with its shape, and the model's own weights") {
  const auto tie = GENERATE(Tie::none, Tie::K_is_V, Tie::Q_is_K);
  const auto bias = GENERATE(Bias::no, Bias::yes);
  const auto positions = GENERATE(Positions::learned, Positions::sinusoidal, Positions::none);
  const SavedModel model = small_model(positions, tie, bias, 2);
  const Example example = question(model, "the dog was tired . was it ?");
  const std::string text = steps_view(model, example, choosing(2, 2));
  const std::string d_v = tie == Tie::K_is_V ? "3" : "5";
  const std::string b = bias == Bias::yes ? " + b_" : "";
  const auto plus = [&](const char* name) { return b.empty() ? "" : b + name; };
  for (const std::string& line :
       {std::string("X  (8, 8)  what layer 1 made of the words, normalised"), std::string("W_Q  (8, 3)  learned"),
        std::string("W_K  (8, 3)  learned"), "W_V  (8, " + d_v + ")  learned", "Q = X W_Q" + plus("Q") + "  (8, 3)",
        "K = X W_K" + plus("K") + "  (8, 3)", "V = X W_V" + plus("V") + "  (8, " + d_v + ")",
        std::string("scores = Q K^T  (8, 8)"), std::string("scaled = scores / sqrt(3)  (8, 8)"),
        std::string("weights = softmax(scaled)  (8, 8)  each row sums to 1"), "output = weights V  (8, " + d_v + ")",
        std::string("[heads 1 to 2] W_O + b_O  (8, 8)  the layer's own output, to ")}) {
    INFO(line);
    CHECK(text.find("\n" + line) != std::string::npos);
  }
  check_width(text, 80);

  // The row of "it" in the printed weights is what attend() gives.
  const Tensor weights = attend(*model.reader, model.vocabulary, example).layers[1];
  std::string row = "  it   ";
  for (int key = 0; key < 8; ++key) row += fmt::format("{:7.3f}", weights.at({1, 6, key}));
  CHECK(text.substr(text.find("weights = softmax")).find(row + "\n") != std::string::npos);
  // Eleven columns fit with two decimals.
  const Example longer = question(model, fmt::format("{}", fmt::join(english_sentence().tokens, " ")));
  const Tensor first = attend(*model.reader, model.vocabulary, longer).layers[0];
  const std::string fitted = steps_view(model, longer, {});
  row = "  it     ";
  for (int key = 0; key < 11; ++key) row += fmt::format("{:6.2f}", first.at({0, 7, key}));
  CHECK(fitted.substr(fitted.find("weights = softmax")).find(row + "\n") != std::string::npos);
  check_width(fitted, 80);
  CHECK(steps_view(model, example, {}).find("X  (8, 8)  the words with their positions, normalised") !=
        std::string::npos);
}

TEST_CASE("steps_view shows no numbers that do not follow from each other") {
  const SavedModel model = small_model(Positions::learned, AttentionConfig::none, Bias::yes, 2);
  const Example example = question(model, "the dog was tired . was it ?");
  const auto message_with_doubled = [&](const std::string& what) {
    const Hook hook([&](const std::string& name, Tensor& value) {
      if (name == "encoder.1.attention." + what) value = 2 * value;
    });
    return message([&] { steps_view(model, example, choosing(2, 1)); });
  };
  const auto starts_with = [&](const std::string& what, const std::string& start) {
    const std::string text = message_with_doubled(what);
    INFO(text);
    CHECK(text.starts_with("the steps do not add up: '" + start + "' is off by "));
  };
  starts_with("Q", "Q = X W_Q");
  starts_with("K", "K = X W_K");
  starts_with("V", "V = X W_V");
  starts_with("scores", "scaled = scores / sqrt(d_k)");
  starts_with("weights", "weights = softmax(scaled)");
  starts_with("heads", "output = weights V");
  starts_with("output", "[heads] W_O = the layer's own output");
  CHECK(message_with_doubled("nothing") == "no error");
}
