#include "tests/message.h"
#include "tests/views/helpers.h"
#include "views/view.h"

#include <heed/nn/hook.h>

#include <fmt/ranges.h>

using namespace heed;

TEST_CASE("steps_view gives every matrix with its shape, and the model's own weights") {
  const auto tie = GENERATE(Tie::none, Tie::K_is_V, Tie::Q_is_K);
  const auto bias = GENERATE(false, true);
  const auto positions = GENERATE(Positions::learned, Positions::sinusoidal, Positions::none);
  const Model model = small_model(positions, tie, bias, 2);
  const Example example = question(model, "the dog was tired . was it ?");
  const std::string text = steps_view(model, example, choosing(2, 2));
  const std::string d_v = tie == Tie::K_is_V ? "3" : "5";
  const std::string b = bias ? " + b_" : "";
  const auto plus = [&](const char* name) { return b.empty() ? "" : b + name; };
  for (const std::string& line :
       {std::string("X  (8, 8)  the output of layer 1, normalised"), std::string("W_Q  (8, 3)  learned"),
        std::string("W_K  (8, 3)  learned"), "W_V  (8, " + d_v + ")  learned", "Q = X W_Q" + plus("Q") + "  (8, 3)",
        "K = X W_K" + plus("K") + "  (8, 3)", "V = X W_V" + plus("V") + "  (8, " + d_v + ")",
        std::string("scores = Q K^T  (8, 8)"), std::string("scaled = scores / sqrt(3)  (8, 8)"),
        std::string("weights = softmax(scaled)  (8, 8)  each row sums to 1"), "output = weights V  (8, " + d_v + ")",
        std::string("[heads 1 to 2] W_O + b_O  (8, 8)  the layer's own output, to ")}) {
    INFO(line);
    CHECK(text.find("\n" + line) != std::string::npos);
  }
  check_width(text, 80);

  // The printed row of "it" equals the weights of attend().
  const Tensor weights = attend(model, example).layers[1];
  std::string row = "  it   ";
  for (int key = 0; key < 8; ++key) row += fmt::format("{:7.3f}", weights.at({1, 6, key}));
  CHECK(text.substr(text.find("weights = softmax")).find(row + "\n") != std::string::npos);
  // Eleven columns fit with two decimals.
  const Example longer = question(model, fmt::format("{}", fmt::join(english_sentence().tokens, " ")));
  const Tensor first = attend(model, longer).layers[0];
  const std::string fitted = steps_view(model, longer, {});
  row = "  it     ";
  for (int key = 0; key < 11; ++key) row += fmt::format("{:6.2f}", first.at({0, 7, key}));
  CHECK(fitted.substr(fitted.find("weights = softmax")).find(row + "\n") != std::string::npos);
  check_width(fitted, 80);
  const std::string first_line =
      fmt::format("X  (8, 8)  the words{}, normalised", positions == Positions::none ? "" : " with their positions");
  CHECK(steps_view(model, example, {}).find(first_line) != std::string::npos);
}

TEST_CASE("steps_view shows the normalised and rotated queries and keys of a decoder") {
  const Model model = small_model(decoder_of(modern_config()));
  const Example example = question(model, "the dog was tired . was it ?");
  const std::string text = steps_view(model, example, choosing(1, 2));
  for (const char* line : {"X  (8, 8)  the words, normalised", "W_Q  (8, 4)  learned", "W_K  (8, 4)  learned",
                           "W_V  (8, 5)  learned", "Q = X W_Q  (8, 4)  what each token looks for",
                           "Q / sqrt(mean(Q^2))  (8, 4)  each row normalised, times its learned gain",
                           "Q, rotated  (8, 4)  by each word's position", "K, rotated  (8, 4)  by each word's position",
                           "weights = softmax(scaled)  (8, 8)  each row sums to 1; later tokens are hidden"}) {
    INFO(line);
    CHECK(text.find(std::string("\n") + line) != std::string::npos);
  }
  check_width(text, 80);
}

TEST_CASE("steps_view refuses numbers that do not follow from each other") {
  const Model model = small_model(Positions::learned, Tie::none, true, 2);
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
  starts_with("Q", "Q = X W_Q + b_Q");
  starts_with("K", "K = X W_K + b_K");
  starts_with("V", "V = X W_V");
  starts_with("scores", "scaled = scores * scale");
  starts_with("weights", "weights = softmax(scaled)");
  starts_with("heads", "output = weights V");
  starts_with("output", "[heads] W_O = the layer's own output");
  CHECK(message_with_doubled("nothing") == "no error");
}

TEST_CASE("steps_view names the first value that is not finite, and prints no nan") {
  Model model = small_model();
  const Tensor gain = model.parameters["encoder.0.attention_norm.gain"];
  Tensor(gain).copy_from(zeros(gain.shape()) + 3.4e38);
  const std::string told = message([&] { steps_view(model, question(model, "the dog was it"), {}); });
  CHECK(told.starts_with("the model computes values that are not finite, the first of them in "));
  CHECK(told.find("nan") == std::string::npos);
}

TEST_CASE("steps_view says which scores are infinite where the answer stays finite") {
  TransformerConfig config = small_config();
  config.block.attention.d_k = 1;
  config.block.attention.soft_cap = 10;
  Model model = small_model(answerer_of(config));
  for (const char* name : {"encoder.0.attention.W_Q.weight", "encoder.0.attention.W_K.weight"}) {
    const Tensor weight = model.parameters[name];
    Tensor(weight).copy_from(1e30 * weight);
  }
  const Example example = question(model, "the dog was it");
  CHECK(attend(model, example).probability > 0);
  const std::string text = steps_view(model, example, {});
  CHECK(
      text.find(
          "\nInfinite or NaN: 16 of 16 numbers of scores = Q K^T; 16 of 16 numbers of scaled\n= scores / sqrt(1).\n") !=
      std::string::npos);
  CHECK(text.find("nan") == std::string::npos);
  CHECK(steps_json(model, example, {})["not_finite"].get<std::string>().starts_with("Infinite or NaN: 16 of 16 "));
  CHECK(steps_view(small_model(), question(small_model(), "the dog was it"), {}).find("Infinite") == std::string::npos);
}
