#pragma once
#include <heed/data/batch.h>
#include <heed/data/vocabulary.h>
#include <heed/models/head.h>
#include <heed/tokenizers/tokenize.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heed {

/// The input of one layer, which an earlier run computed.
struct LayerInput {
  int layer = 0;    ///< from 0
  Tensor residual;  ///< (B, T, d_model)
};

/// The tokens that a model computes in its last layer: all, or only the query of each text, if the result is the same.
enum class Compute { all, query };

/// How a model runs.
struct RunOptions {
  Compute compute = Compute::all;
  bool weights = false;  ///< whether to return the attention weights
  Dropout drop{};
  std::optional<LayerInput> from{};  ///< the first layer to compute, and its input
};

/// The result of a model for a batch of questions.
struct ModelOutput {
  Tensor logits;                  ///< (B, number of answers)
  std::vector<Tensor> weights{};  ///< per layer (B, heads, T, T), or (B, heads, T) for the query alone; on request
};

/// A model: a network, which is a transformer and a head, and all that it takes to read texts with it. `head()` says what the model
/// can do. save_model() and load_model() of formats/saved_model.h write and read it, question() and encode() of models/reading.h
/// turn texts into examples and batches, generate() of models/generate.h continues a text, and trace() of explain/trace.h shows
/// what one pass computed.
///
///     ModelConfig config = language_model(gpt2(2, 4, 64));
///     config.transformer.vocabulary = 256, config.transformer.max_length = 128;
///     const Model model(config);
///     const Tensor logits = model.logits({.tokens = tokens});               // (B, T) -> (B, T, 256)
///     const Tensor loss = model.loss({.tokens = tokens, .targets = next});  // ()
class Model {
 public:
  /// Has no network: build() makes one.
  Model() = default;
  /// Makes a network whose parameters are drawn from `seed`.
  explicit Model(const ModelConfig& config, std::uint64_t seed = 1) { build(Scope(parameters, seed), config); }
  /// Makes a network in `scope`, and shares the scope's parameters.
  Model(Scope scope, const ModelConfig& config) { build(scope, config); }
  /// Makes the network in `scope`, in place of the model's own, and shares the scope's parameters.
  void build(Scope scope, const ModelConfig& config);

  Parameters parameters{};
  Vocabulary vocabulary{};
  Tokenizer tokenizer{};
  std::vector<std::string> queries{};  ///< words asked about in training
  std::int64_t step = 0;
  std::string pretrained_config{};         ///< config.json of the pretrained model that it was; else empty
  std::vector<std::int32_t> end_tokens{};  ///< ids of the tokens with which a generated text ends; empty: none
  /// Texts of files beside a pretrained config.json that export_hugging_face() writes again, by name: tokenizer_config.json,
  /// special_tokens_map.json, chat_template.jinja and generation_config.json.
  std::map<std::string, std::string> kept_files{};

  /// Returns the scope within `root` that has the name of the network's: a model that is built there has the same names.
  Scope scope_in(Scope root) const;
  /// Returns whether the model has a network.
  bool is_built() const { return network_ != nullptr; }
  /// Return parts of the network. Throw `Error` without one.
  const ModelConfig& config() const { return head().config; }
  const Transformer& transformer() const { return network().transformer; }  ///< embeddings and blocks
  const OutputHead& head() const { return network().head; }                 ///< what the model predicts
  int layers() const { return transformer().config.layers; }                ///< the number of layers
  int heads() const { return transformer().config.heads(); }                ///< the number of query heads per layer

  /// Returns logits: those of the answers at each query, (B, answers), those of the classes of texts, (B, classes), or at every token
  /// of texts without queries, (B, T, vocabulary). Throws `Error` for a model that has none.
  Tensor logits(const Batch& batch, const Dropout& drop = {}) const;
  /// Returns the mean cross-entropy of the answers, or of the tokens, that have a label: (). Throws `Error` for questions when the
  /// model predicts tokens, and for texts without questions when it answers them.
  Tensor loss(const Batch& batch, const Dropout& drop = {}) const;
  /// Runs the model on questions, or on texts if it tells their class. A model without a head gives its weights, and logits (B, 0).
  /// Hooks see the states at the queries as at_query.
  ModelOutput run(const Batch& batch, const RunOptions& options = {}) const;
  /// Returns the index of the logit of each correct answer, (B), or each token to predict; -1 where no logit represents it.
  Ids labels(const Batch& batch) const;
  /// Returns the number of predictions of which loss() is the mean: answers and tokens that have a label.
  std::int64_t predictions(const Batch& batch) const;
  /// Appends tokens (B, T) to those of `cache` and returns the logits of the token after the last: (B, vocabulary). `padding` is as
  /// for Transformer::append(). The cache is as before when it throws. Throws `Error` for a model that predicts no next token.
  Tensor append(const Ids& tokens, Cache& cache, std::span<const int> padding = {}) const;

 private:
  struct Network {
    Transformer transformer;
    OutputHead head;
  };
  friend void adapt(Model& model, const std::vector<std::string>& layers, AdapterOptions options, std::uint64_t seed,
                    const std::string& base);
  friend void merge(Model& model);
  const Network& network() const;
  std::shared_ptr<const Network> network_{};
};

/// Adds adapters (LoRA, Hu et al. 2021, arXiv:2106.09685) to the layers with these names and freezes the rest of the model, except
/// a head for candidates. Parameters that you added to the store, such as a head of your own, stay as they are. The model's config().adapter then has them, so that save_model() and load_model() keep them. See adapt() of
/// nn/adapter.h. `base` names the model for export_adapter(). Throws `Error` when the model has adapters already.
///
///     Model model = load_model("SmolLM2-135M", {.mapped = true});
///     adapt(model, {"W_Q", "W_V"}, {.rank = 8});
///     Optimizer optimizer(model.parameters, options);   // trains the adapters alone
void adapt(Model& model, const std::vector<std::string>& layers, AdapterOptions options = {}, std::uint64_t seed = 1,
           const std::string& base = "");
/// Adds each adapter's product to its matrix and removes the adapters; nothing happens without adapters. The store stays, with all that
/// you added to it. Frozen parameters stay frozen, such as the matrices: parameters.unfreeze("") trains on all. Matrices of a type that
/// only holds weights become float32 in a new network. Throws `Error` while a WeightAverage::Shown is open.
void merge(Model& model);
/// Returns a model without adapters, whose matrices hold the sums, and leaves `model` as it is. It has the parameters of the network,
/// none of them frozen, and shares the memory of those without an adapter. A model without adapters is returned as it is.
Model merged(const Model& model);

/// Throws `Error` when the model has no head, and so cannot answer.
void check_has_head(const Model& model);

/// Returns the model in float64, for sums whose terms cancel. It shares the matrices of `model`, which products widen, and
/// copies vectors and positions.
Model in_float64(const Model& model);

/// Returns whether a model can compute with the values of the parameter `name` in a wider type than theirs without a copy: it
/// multiplies by them or looks up rows. False for float64, which is the widest, and for positions, which are added.
bool can_be_narrower(const std::string& name, const Tensor& values);

}  // namespace heed
