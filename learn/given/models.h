#pragma once
#include <heed/autograd/ops.h>
#include <heed/nn/block.h>
#include <heed/nn/positions.h>

#include <cstdint>
#include <string>
#include <vector>

namespace learn {

/// The layers of a small language model of characters. Step 10 puts them together:
///
///     embedding  -> positions -> blocks -> norm -> output
///     (B, T) ids -> (B, T, d) -> ...            -> (B, T, characters)
struct CharacterModel {
  heed::Parameters parameters;
  heed::Embedding embedding;
  heed::LearnedPositions positions;            ///< adds a vector for each position
  std::vector<heed::TransformerBlock> blocks;  ///< two, as in step 8
  heed::Norm norm;
  heed::Linear output;

  CharacterModel(int characters, int T, int d, int heads, std::uint64_t seed, heed::DType dtype = heed::DType::float32)
      : embedding(heed::Scope(parameters, seed, dtype) / "embedding", characters, d),
        positions(heed::Scope(parameters, seed, dtype) / "positions", T, d),
        norm(heed::Scope(parameters, seed, dtype) / "norm", d),
        output(heed::Scope(parameters, seed, dtype) / "output", d, characters) {
    const heed::BlockConfig config{.attention = {.d_model = d, .heads = heads}, .mlp = {.width = 4 * d}};
    for (int i = 0; i < 2; ++i) blocks.emplace_back(heed::Scope(parameters, seed, dtype) / "blocks" / i, config);
  }
};

/// Layers of attention alone, with rotary positions: the model of step 11. It returns the logits (B, T, signs) and the weights of each
/// layer (B, heads, T, T).
struct AttentionModel {
  heed::Parameters parameters;
  heed::Embedding embedding;
  std::vector<heed::TransformerBlock> blocks;
  heed::Norm norm;
  heed::Linear output;

  AttentionModel(int layers, int signs, int T, int d, int heads, std::uint64_t seed)
      : embedding(heed::Scope(parameters, seed) / "embedding", signs, d, 0.5),
        norm(heed::Scope(parameters, seed) / "norm", d),
        output(heed::Scope(parameters, seed) / "output", d, signs, {.bias = false}) {
    const heed::RotaryEmbedding rotary(T, heed::rotary_frequencies(d / heads));
    for (int i = 0; i < layers; ++i) {
      blocks.emplace_back(heed::Scope(parameters, seed) / "blocks" / i,
                          heed::BlockConfig{.attention = {.d_model = d, .heads = heads}},
                          heed::BlockOptions{.rotary = rotary});
    }
  }
  heed::Tensor operator()(const heed::Ids& tokens, std::vector<heed::Tensor>* weights = nullptr) const {
    heed::Tensor x = embedding(tokens);
    for (const heed::TransformerBlock& block : blocks) {
      const heed::AttentionResult y = block(x, heed::Mask::causal(), {.weights = weights != nullptr});
      if (weights) weights->push_back(y.weights);
      x = y.output;
    }
    return output(norm(x));
  }
};

/// Two layers of attention that answer at one token of each text, with a word: the model of step 12. The last layer has no residual: the
/// answer can only come from the tokens that the query attends to there.
struct AnswerModel {
  heed::Parameters parameters;
  heed::Embedding embedding;
  heed::LearnedPositions positions;
  heed::TransformerBlock first, last;
  heed::Norm norm;
  heed::Linear output;

  AnswerModel(int words, int T, int d, int heads, std::uint64_t seed)
      : embedding(heed::Scope(parameters, seed) / "embedding", words, d),
        positions(heed::Scope(parameters, seed) / "positions", T, d),
        first(heed::Scope(parameters, seed) / "first",
              {.attention = {.d_model = d, .heads = heads, .d_k = 16, .d_v = 16}}),
        last(heed::Scope(parameters, seed) / "last",
             {.attention = {.d_model = d, .heads = heads, .d_k = 16, .d_v = 16}}, {.residual = false}),
        norm(heed::Scope(parameters, seed) / "norm", d),
        output(heed::Scope(parameters, seed) / "output", d, words) {}
  /// Returns the logits (B, words) at token query[b] of each text. `visible` hides keys from the last layer.
  heed::Tensor operator()(const heed::Ids& tokens, const heed::Ids& query, const heed::Mask& texts,
                          const heed::Mask& visible = {}, heed::Tensor* weights = nullptr,
                          const heed::Dropout& drop = {}) const {
    const heed::Tensor x = first(positions(embedding(tokens)), texts, {.drop = drop}).output;
    const heed::AttentionResult y = last(x, texts & visible, {.weights = weights != nullptr, .drop = drop});
    if (weights) *weights = y.weights;
    return output(norm(select_rows(y.output, query)));
  }
};

}  // namespace learn
