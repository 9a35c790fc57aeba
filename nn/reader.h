#pragma once
#include <heed/nn/encoder.h>

#include <string>

namespace heed {

// What is added to the tokens.
enum class Positions { none, learned, sinusoidal };
template <>
inline constexpr EnumName<Positions> enum_names<Positions>[] = {
    {Positions::none, "none"}, {Positions::learned, "learned"}, {Positions::sinusoidal, "sinusoidal"}};

// Sizes of a Reader, and what it is made of.
struct ReaderConfig {
  int vocabulary = 0;  // words
  int max_length = 0;  // tokens in a text
  int sentences = 0;   // 0: no sentence embedding; n: texts of up to n sentences, counted back from the question
  int layers = 2;
  int mlp = 0;  // width of the MLP, 0: none
  Positions positions = Positions::learned;
  AttentionConfig attention;

  // As AttentionConfig's; all but the vocabulary, which a saved model holds as words.
  template <class Self, class Field>
  static void for_each_field(Self& self, Field&& field) {
    field("max_length", self.max_length, 1);
    field("sentences", self.sentences, 0);
    field("layers", self.layers, 1);
    field("mlp", self.mlp, 0);
    field("positions", self.positions);
    field("attention", self.attention);
  }
};

// What a Reader reads: B texts of at most T tokens, and the token of each at which a word is to be predicted.
struct ReaderInput {
  Ids tokens;                // (B, T), padded with any id
  std::vector<int> lengths;  // (B)
  Ids query;                 // (B)
  Ids sentences;             // (B, T) when config.sentences > 0
};

// Reads a text and predicts, at its query token, a word: embedding + positions -> encoder -> logits over the
// vocabulary with the embedding's transpose (Press & Wolf 2017, arXiv:1608.05859). The last layer has no residual: the
// answer is made of what the query attended to there, and of nothing else.
struct Reader {
  std::string name;
  ReaderConfig config;
  Embedding token_embedding;
  std::optional<LearnedPositions> learned_positions;
  std::optional<Embedding> sentence;
  Encoder encoder;
  Tensor output_bias;  // (vocabulary)
  Reader(Scope scope, const ReaderConfig& config);

  // What it makes of a batch.
  struct Output {
    Tensor logits;                // (B, vocabulary)
    std::vector<Tensor> weights;  // (B, heads, T, T) a layer, when asked for
  };
  Tensor embed(const ReaderInput& input) const;  // what the first layer reads: (B, T, d_model)
  Output operator()(const ReaderInput& input, Weights weights = Weights::no, const Dropout& drop = {}) const;
  // The same with the last layer computed at the query alone, and weights from there: (B, heads, T) a layer.
  Output at_query(const ReaderInput& input, Weights weights = Weights::no, const Dropout& drop = {}) const;
};

}  // namespace heed
