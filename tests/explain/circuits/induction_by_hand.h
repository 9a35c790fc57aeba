#pragma once
#include <heed/autograd/ops.h>
#include <heed/explain/pairs.h>

#include <numeric>
#include <string>
#include <vector>

namespace heed {

// A language model of two layers without norms and MLPs, with weights set by hand to an induction circuit (Olsson et al. 2022,
// arXiv:2209.11895). The stream has four parts: the token, the position, the token before, and the prediction. Head 1 of layer 1
// attends to the position before and copies its token; head 1 of layer 2 attends to the token whose predecessor is the last token,
// and predicts it. The other heads have small random weights.
class InductionByHand {
 public:
  static constexpr int words = 10;

  // Reads up to `positions` tokens, at most `words`.
  explicit InductionByHand(int positions = 6) {
    TransformerConfig shape = gpt2(2, 2, 3 * words + positions);
    shape.vocabulary = words, shape.max_length = positions, shape.final_norm = false;
    shape.block.attention.d_k = shape.block.attention.d_v = words;
    shape.block.attention.bias = shape.block.attention.output_bias = false;
    shape.block.attention.scale = 1;
    shape.block.attention_norm = false, shape.block.mlp.width = 0;
    for (int word = 0; word < words; ++word) model.vocabulary.add(std::string(1, static_cast<char>('a' + word)));
    model.build(Scope(model.parameters, 5, DType::float64), language_model(shape, {.tied = false}));
    for (const auto& [name, parameter] : model.parameters) {
      Random random = Random(3).stream(name);
      parameter.copy_from(random_normal(parameter.shape(), random, 0, 0.03, DType::float64));
    }
    const int token = 0, position = words, before = words + positions, prediction = 2 * words + positions;
    set("words.weight", 0, token, words, 1);
    set("positions.weight", 0, position, positions, 1);
    set("unembedding", 0, prediction, words, 1);
    const std::string first = "encoder.0.attention.", second = "encoder.1.attention.";
    set(first + "W_Q.weight", position + 1, 0, positions - 1, 8);  // the query of position p is that of key p - 1
    set(first + "W_K.weight", position, 0, positions, 1);
    set(first + "W_V.weight", token, 0, words, 1);
    set(first + "W_O.weight", 0, before, words, 1);
    set(second + "W_Q.weight", token, 0, words, 4);
    set(second + "W_K.weight", before, 0, words, 1);
    set(second + "W_V.weight", token, 0, words, 1);
    set(second + "W_O.weight", 0, prediction, words, 4);
  }

  // Makes head 1 of layer 1 attend to the position `distance` before, in place of the one before.
  void look_back(int distance, int positions) {
    const int position = words;
    set("encoder.0.attention.W_Q.weight", position + 1, 0, positions - 1, -8);
    set("encoder.0.attention.W_Q.weight", position + distance, 0, positions - distance, 8);
  }

  // Copies what head 1 of layer 2 does to its head 2, at half the strength.
  void add_second_head() {
    for (const char* name : {"W_Q", "W_K", "W_V"}) {
      Tensor weight = model.parameters["encoder.1.attention." + std::string(name) + ".weight"];
      const Tensor first = slice(weight, 1, 0, words);
      weight.copy_from(concat({first, first}, 1));
    }
    Tensor output = model.parameters["encoder.1.attention.W_O.weight"];
    const Tensor first = slice(output, 0, 0, words);
    output.copy_from(concat({first, first * 0.5}, 0));
  }

  // Returns pairs "x y z w x": the token behind the first x is the answer. The corrupted text exchanges x and z before the end, so
  // that only the tokens before y and w differ.
  std::vector<TextPair> pairs(std::size_t count) const {
    std::vector<TextPair> result;
    Random random(9);
    while (result.size() < count) {
      std::vector<int> order(words);
      std::iota(order.begin(), order.end(), 0);
      random.shuffle(order);
      const auto example = [&](std::vector<int> places) {
        Example made;
        made.query = 4;
        for (const int place : places)
          made.tokens.push_back(model.vocabulary.word(order[static_cast<std::size_t>(place)]));
        made.answer = made.tokens[1];
        return made;
      };
      result.push_back({example({0, 1, 2, 3, 0}), example({2, 1, 0, 3, 0}), {order[1]}, {order[3]}});
    }
    return result;
  }

  Model model{};

 private:
  // Adds `value` to `count` elements from (row, column) along the diagonal.
  void set(const std::string& name, int row, int column, int count, double value) {
    Tensor parameter = model.parameters[name];
    for (int i = 0; i < count; ++i) {
      parameter.mutable_data<double>()[(row + i) * parameter.size(1) + column + i] += value;
    }
  }
};

}  // namespace heed
