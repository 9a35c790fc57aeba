#pragma once
#include <heed/nn/encoder.h>

#include <string>

namespace heed {

// What is added to the tokens; or, rotary, what turns queries and keys (Su et al. 2021, arXiv:2104.09864).
enum class Positions { none, learned, sinusoidal, rotary };
template <>
inline constexpr EnumName<Positions> enum_names<Positions>[] = {{Positions::none, "none"},
                                                                {Positions::learned, "learned"},
                                                                {Positions::sinusoidal, "sinusoidal"},
                                                                {Positions::rotary, "rotary"}};

// What is predicted: the word that is meant at one token, which sees the whole text; or, by a language model, the token
// that comes next after each, which sees itself and those before.
enum class Predicts { answer, next };
template <>
inline constexpr EnumName<Predicts> enum_names<Predicts>[] = {{Predicts::answer, "answer"}, {Predicts::next, "next"}};

// What an answer is: a word of the vocabulary; one of the text's candidates, which are spans of it; or one of them or none.
enum class Answer { word, candidate, candidate_or_none };
template <>
inline constexpr EnumName<Answer> enum_names<Answer>[] = {
    {Answer::word, "word"}, {Answer::candidate, "candidate"}, {Answer::candidate_or_none, "candidate_or_none"}};

// What a vector is compared with to give the logits: the words' own vectors (Press & Wolf 2017, arXiv:1608.05859), or
// others.
enum class Logits { tied, untied };
template <>
inline constexpr EnumName<Logits> enum_names<Logits>[] = {{Logits::tied, "tied"}, {Logits::untied, "untied"}};

// Sizes of a Reader, and what it is made of.
struct ReaderConfig {
  int vocabulary = 0;  // words
  int max_length = 0;  // tokens in a text
  int sentences = 0;   // 0: no sentence embedding; n: texts of up to n sentences, counted back from the question
  int layers = 2;
  int mlp = 0;  // width of the MLP, 0: none
  BlockParts parts{};
  Positions positions = Positions::learned;
  Predicts predicts = Predicts::answer;
  Logits logits = Logits::tied;
  Answer answer = Answer::word;
  AttentionConfig attention;

  // As AttentionConfig's; all but the vocabulary, which a saved model holds as words. What has a default here is left out
  // of a saved model that has it.
  template <class Self, class Field>
  static void for_each_field(Self& self, Field&& field) {
    field("max_length", self.max_length, 1);
    field("sentences", self.sentences, 0);
    field("layers", self.layers, 1);
    field("mlp", self.mlp, 0);
    field("positions", self.positions);
    field("predicts", self.predicts, Predicts::answer);
    field("logits", self.logits, Logits::tied);
    field("norm", self.parts.norm, Norm::Kind::layer);
    field("activation", self.parts.activation, Activation::gelu);
    field("answer", self.answer, Answer::word);
    field("attention", self.attention);
  }
};

// What a Reader reads: B texts of at most T tokens, and the token of each at which a word is to be predicted.
struct ReaderInput {
  Ids tokens;                // (B, T), padded with any id
  std::vector<int> lengths;  // (B)
  Ids query;                 // (B)
  Ids sentences;             // (B, T) when config.sentences > 0
  Ids candidates{};          // (B, C, 2) when config.answer is a candidate: begin and end, -1 where there are fewer
};

// Reads a text and predicts, at its query token, a word: embedding + positions -> encoder -> logits over the vocabulary.
//   Predicts::answer  the last layer has no residual: the answer is made of what the query attended to there, and of
//                     nothing else. Logits have a bias.
//                     With Answer::candidate the logits are of the text's candidates: q W_C c / sqrt(d_model), q the query's
//                     output, c the mean over a candidate's tokens of what the last layer reads there, normed without
//                     gain or bias. With candidate_or_none there is one more, q W_C n / sqrt(d_model), n learned.
//   Predicts::next    a decoder, causal in every layer: GPT-2's architecture (Radford et al. 2019) or LLaMA's (Touvron et
//                     al. 2023, arXiv:2302.13971), as it is configured.
struct Reader {
  std::string name;
  ReaderConfig config;
  Embedding token_embedding;
  std::optional<LearnedPositions> learned_positions;
  std::optional<Embedding> sentence;
  Encoder encoder;
  Tensor unembedding;  // (vocabulary, d_model): that of token_embedding when they are tied
  Tensor output_bias;  // (vocabulary), or undefined
  // W_C (d_model, d_model) is `pointer`; n (d_model) is `none`, or undefined.
  struct Pointer {
    Linear pointer;
    Tensor none;
  };
  std::optional<Pointer> pointer;
  Reader(Scope scope, const ReaderConfig& config);

  // What it makes of a batch.
  struct Output {
    Tensor logits;                // (B, vocabulary); (B, C) of candidates, (B, C + 1) with none of them as the last
    std::vector<Tensor> weights;  // (B, heads, T, T) a layer, when asked for
  };
  // What the first layer reads, of tokens after `first` others: (B, T, d_model).
  Tensor embed(const ReaderInput& input, std::int64_t first = 0) const;
  Output operator()(const ReaderInput& input, Weights weights = Weights::no, const Dropout& drop = {}) const;
  // The same with the last layer computed at the query alone, and weights from there: (B, heads, T) a layer.
  Output at_query(const ReaderInput& input, Weights weights = Weights::no, const Dropout& drop = {}) const;
  // At every token, of Predicts::next: tokens (B, T) -> logits of the next one (B, T, vocabulary).
  Tensor next(const Ids& tokens, const Dropout& drop = {}) const;
  // The same for tokens (B, T) that follow those of `past`, with which they are then: logits of the last (B, vocabulary).
  // They are those of the whole text, read at once, but for their rounding. Error beyond max_length tokens; not recorded.
  Tensor go_on(const Ids& tokens, Past& past) const;
};

}  // namespace heed
