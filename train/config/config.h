#pragma once
#include <heed/autograd/autocast.h>
#include <heed/formats/datasets/tasks.h>
#include <heed/formats/saved_model.h>
#include <heed/optim/optimizer.h>
#include <heed/optim/schedule.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace heed {

/// The kind of answer: a word of the vocabulary, a candidate of the text, or a candidate or "none of them".
enum class Answer { word, candidate, candidate_or_none };
template <>
inline constexpr EnumName<Answer> enum_names<Answer>[] = {
    {Answer::word, "word"}, {Answer::candidate, "candidate"}, {Answer::candidate_or_none, "candidate_or_none"}};

/// Whether the output matrix of the logits is the token embeddings (tied) or a matrix of its own (untied).
enum class Logits { tied, untied };
template <>
inline constexpr EnumName<Logits> enum_names<Logits>[] = {{Logits::tied, "tied"}, {Logits::untied, "untied"}};

/// A watched sentence. `query` and `antecedent` are words of `text`; each occurs once in it.
struct WatchedSentence {
  std::string text, query, antecedent;
  bool operator==(const WatchedSentence&) const = default;
};

/// The configuration of a run. keys() in train/config/keys.cpp lists each key once, with its range and meaning.
struct Config {
  std::string name = "toy";  // run directory: runs/NAME
  std::uint64_t seed = 1;

  TaskOptions data;
  std::uint64_t data_seed = 0;  // of the sentences that are made and held out; 0: seed
  // the task sets its vocabulary and lengths
  TransformerConfig model{.block = {.attention = {.d_model = 64, .heads = 2}}, .last_residual = false};
  Answer answer = Answer::word;
  Logits logits = Logits::tied;
  double logit_cap = 0;                                 // logits become cap tanh(logit / cap); 0: no cap
  double dropout = 0;                                   // of the values that each layer adds, in training
  double embedding_dropout = 0, attention_dropout = 0;  // of the first layer's input; of attention weights
  bool zero_outputs = false;                            // W_O and the MLP's last matrix start at 0
  std::string from;   // run or model that gives the first weights; empty: random weights
  std::string adapt;  // names of layers that get adapters, divided by commas; empty: all weights are trained
  AdapterOptions adapter{};

  struct Optim {
    OptimizerOptions optimizer;  // as the keys write it: one momentum, beta1 and beta2 for all methods that have them
    /// Returns the settings where an Optimizer reads them.
    OptimizerOptions options() const;
    // steps: length of the run, train.steps
    Schedule schedule{.kind = Schedule::Kind::cosine, .lr = 3e-3, .warmup = 50, .steps = 400};
    double clip = 1;  // largest global norm; 0: no clipping
  } optim;

  struct Train {
    int batch_size = 64;
    int accumulate = 1;                        // micro-batches per batch, computed one after the other
    Precision precision = Precision::float32;  // of the products of a step
    bool shard_optimizer = false;              // each of several processes keeps a part of the moments
    int average = 0;                           // last steps whose weights are averaged for the model; 0: no average
    int patience = 0;  // stop after this many evaluations without a smaller held-out loss; 0: never
    int evaluate_every = 100, checkpoint_every = 100;
  } train;

  struct Dump {
    int every = 100;       // steps between attention dumps
    int sentences = 4;     // held-out sentences to dump when no probes are given
    bool weights = false;  // keep the model of each dumped step
  } dump;

  std::vector<WatchedSentence> watched;

  /// Description of the pretrained model that the run continues, without its weights; null for models of heed's own. No key
  /// sets it: read_config() finds it where model.from says, a resumed run in its own model.
  std::shared_ptr<const Model> pretrained = nullptr;
};

/// Reads `path` (strict YAML, UTF-8), then the `--set` overrides ("model.heads=4"); later overrides win. fit_defaults()
/// adapts the keys that are not given. read_config() takes the shape of the model from a pretrained model.from; keys that
/// contradict it are mistakes. read_config_text() reads the text of such a file; parse_config() opens no model. Throws one Error that lists every mistake in both, one per line: "toy.yaml:12:5:
/// unknown key 'learing_rate' in optim (did you mean 'lr'?)" or "--set model.heads=0: model.heads must be an integer
/// from 1 to 64, got '0'". A syntax error is reported alone.
Config read_config(const std::filesystem::path& path, const std::vector<std::string>& overrides = {});
Config read_config_text(const std::string& text, const std::string& source,
                        const std::vector<std::string>& overrides = {});
Config parse_config(const std::string& text, const std::string& source, const std::vector<std::string>& overrides = {});

/// The configuration of a resumed run, from its config.yaml, and the changes that the overrides make.
struct ResumedConfig {
  Config config;
  std::vector<std::string> changes;  // "train.steps 600 (was 300)"
};
/// Reads a resumed run's configuration as read_config() does. Throws Error, too, for a changed key that is not one of
/// resumable_keys(), and for train.steps below `steps_taken`. A key is changed by an override, or by an edit of the
/// file since `begun_with` (to_yaml() of the first configuration; "" if unknown).
ResumedConfig read_resumed_config(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                                  std::int64_t steps_taken = 0, const std::string& begun_with = "");

/// Returns the keys that may change when a run is resumed, and those that may name the same files elsewhere:
/// "optim.lr, ..., dump.weights, and the paths, not the content, of data.train, data.test".
std::string resumable_keys();

/// Returns the whole configuration as YAML with every key. parse_config() of it gives the same configuration.
std::string to_yaml(const Config& config);

/// Returns every key with its default, meaning and range: a configuration file with comments, at most 80 columns wide.
std::string config_help();

}  // namespace heed
