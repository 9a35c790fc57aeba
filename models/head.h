#pragma once
#include <heed/models/transformer.h>
#include <heed/nn/adapter.h>

#include <optional>
#include <string>
#include <vector>

namespace heed {

/// How states become logits over the vocabulary.
struct LogitsConfig {
  /// Share the weights of the token embeddings (Press & Wolf 2017, arXiv:1608.05859), or use a separate matrix
  bool tied = true;
  bool bias = false;
  double scale = 1;     ///< factor of the products of states and words, before the bias
  double soft_cap = 0;  ///< logits become cap tanh(logit / cap); 0: unchanged

  /// Returns the default with a bias.
  static LogitsConfig with_bias() { return {.bias = true}; }

  /// Calls field(name, value, ...) for each field, as TransformerConfig does.
  template <class Self, class Field>
  static void for_each_field(Self& self, Field&& field) {
    field("tied", self.tied);
    field("bias", self.bias);
    field("scale", self.scale, 0.0);
    field("soft_cap", self.soft_cap, 0.0);
  }
};

/// The prediction of a head: a word or a candidate that answers a question, the next or a hidden token, the class of a text, or
/// nothing.
enum class HeadKind { word, candidate, next_token, masked_token, text_class, none };
template <>
inline constexpr EnumName<HeadKind> enum_names<HeadKind>[] = {
    {HeadKind::word, "word_answerer"},         {HeadKind::candidate, "candidate_chooser"},
    {HeadKind::next_token, "language_model"},  {HeadKind::masked_token, "masked_language_model"},
    {HeadKind::text_class, "text_classifier"}, {HeadKind::none, "bare_transformer"}};

/// The adapters (LoRA) of a model: see adapt() of nn/adapter.h.
struct AdapterConfig {
  std::vector<std::string> layers{};  ///< names of the layers that have one; empty: no adapters
  AdapterOptions options{};
  std::string base{};  ///< path or name of the model without them, for export_adapter(); "": unknown

  /// Calls field(name, value, ...) for each field, as TransformerConfig does.
  template <class Self, class Field>
  static void for_each_field(Self& self, Field&& field) {
    field("layers", self.layers);
    field("rank", self.options.rank, 1);
    field("alpha", self.options.alpha, 0.0);
    field("base", self.base);
  }
};

/// Everything that a model computes: a transformer, and a head on its states. The functions below fill it.
///
///     ModelConfig config = language_model(gpt2(2, 4, 64));
///     config.transformer.vocabulary = 256, config.transformer.max_length = 128;
///     const Model model(config);
struct ModelConfig {
  HeadKind head = HeadKind::none;
  TransformerConfig transformer{};
  LogitsConfig logits{};  ///< of a head that predicts words or tokens

  // For hidden tokens and for classes:
  bool transform = true;  ///< apply a linear layer, an activation and a norm before the logits, as in BERT
  Activation activation = Activation::gelu;  ///< of that layer
  bool transform_bias = true;                ///< of that layer

  // For classes of texts:
  std::vector<std::string> classes{};  ///< their names
  bool class_bias = true;              ///< of the layer that gives their logits
  bool transform_norm = false;         ///< whether the layer before it ends with a norm, as in ModernBERT

  // For candidates:
  bool or_none = false;  ///< whether "none of them" is an answer
  /// Whether segments number the sentences of a text, back from the question; otherwise they are token types, all 0
  bool numbered_sentences = true;

  /// The model is built with these. All parameters but theirs, and those of a head for candidates, are frozen.
  AdapterConfig adapter{};

  /// Returns the defaults of a head: logits have a bias, except those of the next token.
  static ModelConfig of(HeadKind head);

  /// Calls field(name, value, ...) for each field that the head uses, as TransformerConfig does. A saved model holds these.
  template <class Self, class Field>
  static void for_each_field(Self& self, Field&& field) {
    field("transformer", self.transformer);
    const bool is_masked = self.head == HeadKind::masked_token, has_classes = self.head == HeadKind::text_class;
    if (is_masked || self.head == HeadKind::word || self.head == HeadKind::next_token) field("logits", self.logits);
    if (is_masked || has_classes) {
      field("transform", self.transform);
      field("activation", self.activation);
      field("transform_bias", self.transform_bias);
    }
    if (has_classes) {
      field("classes", self.classes);
      field("class_bias", self.class_bias);
      field("transform_norm", self.transform_norm);
    }
    if (self.head == HeadKind::candidate) {
      field("or_none", self.or_none);
      field("numbered_sentences", self.numbered_sentences);
    }
    field("adapter", self.adapter);
  }
};

/// Returns the configuration of a decoder that predicts the next token at each token: GPT-2, LLaMA and related models.
ModelConfig language_model(const TransformerConfig& transformer, const LogitsConfig& logits = {});
/// Returns that of an encoder that sees the whole text and predicts hidden tokens (Devlin et al. 2018, arXiv:1810.04805).
ModelConfig masked_language_model(const TransformerConfig& transformer,
                                  const LogitsConfig& logits = LogitsConfig::with_bias());
/// Returns that of a model that answers a question about a text with a word of the vocabulary. With `last_residual` no, which
/// `train` sets unless the configuration says otherwise, the answer depends only on the tokens that the query attends to in the
/// last layer.
ModelConfig word_answerer(const TransformerConfig& transformer, const LogitsConfig& logits = LogitsConfig::with_bias());
/// Returns that of a model that answers with one of the text's candidates, which are spans of tokens.
ModelConfig candidate_chooser(const TransformerConfig& transformer, bool or_none = false,
                              bool numbered_sentences = true);
/// Returns that of a model that tells which class a text is of. It reads the class of an encoder at the first token, behind a linear
/// layer and tanh, as BERT does, and that of a causal transformer at the last, as GPT-2 does.
ModelConfig text_classifier(const TransformerConfig& transformer, std::vector<std::string> classes);
/// Returns that of a transformer without a head, as sentence encoders are saved: it has states and attention, and answers
/// nothing.
ModelConfig bare_transformer(const TransformerConfig& transformer);

/// Maps states (..., d_model) to logits (..., vocabulary).
struct Unembedding {
  std::string name;
  LogitsConfig config;
  Parameter weight;                  ///< (vocabulary, width); tied: the token embeddings
  Parameter bias;                    ///< (vocabulary), or undefined
  std::optional<Linear> projection;  ///< where it is tied to embeddings of another width: (width, their width)
  /// Makes its parameters SCOPE.output_projection, SCOPE.unembedding and SCOPE.output_bias for states of `width`
  /// features.
  Unembedding(Scope scope, const Transformer& transformer, const LogitsConfig& config, int width, double deviation);
  /// Returns the logits of states (..., width): (..., vocabulary), or those of `words` (n) alone, in their order: (..., n).
  Tensor operator()(const Tensor& states, const Ids& words = {}) const;
  /// Returns what is multiplied with the words: the states, projected and scaled.
  Tensor compared(const Tensor& states) const;
  /// Returns the map from a state to the logit of one word, without the cap.
  Linearised linearised(std::int64_t word) const;
};

/// A forward pass at which logits are linearised.
struct AnswerPoint {
  Tensor state;       ///< (d_model): at the query, after the final norm
  Tensor last_input;  ///< (1, T, d_model): input of the last layer
  Ids candidates;     ///< (1, C, 2), or empty
};

/// The layers between the states of a transformer and logits. Code asks what a head can do, not which kind it is.
///
/// The logit of a candidate is q W_C c / sqrt(d_model): q is the state at the query; c is the mean of the last layer's input
/// over the candidate's tokens, normalised without gain and bias. "None of them" has the logit q W_C n / sqrt(d_model), with n
/// learned.
struct OutputHead {
  /// The layers between the states and the logits of hidden tokens, or of classes.
  struct Transform {
    Linear dense;              ///< (d_model, embedded)
    std::optional<Norm> norm;  ///< unless the transformer's kind is NormKind::none; for classes on request
  };
  std::string name;
  ModelConfig config;
  std::optional<Transform> transform;
  std::optional<Unembedding> unembedding;  ///< of words or tokens
  std::optional<Linear> classifier;        ///< (d_model, classes)
  std::optional<Linear> pointer;           ///< W_C (d_model, d_model)
  Parameter none;                          ///< n (d_model), or undefined

  /// Makes its parameters in `scope`, behind those of `transformer`. Throws `Error` when the transformer does not fit: a head for
  /// the next token needs a causal one, a head for hidden tokens one that is not. One for classes needs two of different names.
  OutputHead(Scope scope, const Transformer& transformer, const ModelConfig& config);

  /// Returns whether there are logits at all.
  bool exists() const { return config.head != HeadKind::none; }
  /// Returns whether each token of a text has logits over the vocabulary.
  bool has_token_logits() const { return generates() || fills_masks(); }
  /// Returns whether the logits are those of the next token, so that a text can be continued.
  bool generates() const { return config.head == HeadKind::next_token; }
  /// Returns whether the logits are those of hidden tokens.
  bool fills_masks() const { return config.head == HeadKind::masked_token; }
  /// Returns whether the answers are candidates of the text, which a batch must have.
  bool chooses_candidates() const { return config.head == HeadKind::candidate; }
  /// Returns whether the answers are classes of the whole text.
  bool classifies() const { return config.head == HeadKind::text_class; }
  /// Returns whether the answers are about one word of the text, which a question names.
  bool answers_about_a_word() const { return exists() && !has_token_logits() && !classifies(); }
  /// Returns whether the answers are words or tokens whose logits are linear in the final state.
  bool is_linear() const { return unembedding && !fills_masks(); }

  /// Returns what the model does, for messages: "answers questions about sentences".
  const char* purpose() const;
  /// Returns the tokens at which a head for classes reads texts of these lengths: (B).
  Ids places(std::span<const int> lengths) const;
  /// Maps states (..., d_model) to logits over the vocabulary (..., vocabulary), or to those of `words` (n) alone: (..., n).
  Tensor token_logits(const Tensor& states, const Ids& words = {}) const;
  /// Returns the logits of the answers at each query, (B, answers), from the states at the queries, `candidates` (B, C, 2) and the
  /// last layer's input. "None of them" is the last; without a head there are 0. With `words`, a head that has an
  /// unembedding gives the logits of these words alone.
  Tensor answer_logits(const Hidden& at_query, const Ids& candidates, const Ids& words = {}) const;
  /// Returns the map from the state at the query to logit `index`, before its cap, linearised at `point`.
  Linearised linearised(const AnswerPoint& point, int index) const;

 private:
  Tensor transformed(const Tensor& states) const;  // by `transform`, if there is one
};

}  // namespace heed
