#pragma once
#include <heed/data/tasks/tasks.h>
#include <heed/models/model.h>
#include <heed/optim/optimizer.h>
#include <heed/optim/schedule.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace heed {

/// What an answer is: a word of the vocabulary, one of the text's candidates, or one of them or none.
enum class Answer { word, candidate, candidate_or_none };
template <>
inline constexpr EnumName<Answer> enum_names<Answer>[] = {
    {Answer::word, "word"}, {Answer::candidate, "candidate"}, {Answer::candidate_or_none, "candidate_or_none"}};

/// Whether logits are computed with the token embeddings or with a matrix of their own.
enum class Logits { tied, untied };
template <>
inline constexpr EnumName<Logits> enum_names<Logits>[] = {{Logits::tied, "tied"}, {Logits::untied, "untied"}};

// A sentence to watch: `query` and `antecedent` are words of `text`, each found once in it.
struct WatchedSentence {
  std::string text, query, antecedent;
  bool operator==(const WatchedSentence&) const = default;
};

// Everything that decides a run. keys() in train/config/keys.cpp lists each key once, with its range and meaning.
struct Config {
  std::string name = "toy";  // run directory: runs/NAME
  std::uint64_t seed = 1;

  TaskOptions data;
  TransformerConfig model{
      .block = {.attention = {.d_model = 64, .heads = 2}}};  // the task sets its vocabulary and lengths
  Answer answer = Answer::word;
  Logits logits = Logits::tied;
  double logit_cap = 0;                                 // logits become cap tanh(logit / cap); 0: they stay
  double dropout = 0;                                   // of what each layer adds, in training
  double embedding_dropout = 0, attention_dropout = 0;  // of what the first reads; of attention weights
  bool zero_outputs = false;                            // what a layer adds begins at 0
  std::string from;  // the run or model whose weights are the first; none: they are drawn

  OptimizerOptions optimizer;
  Schedule schedule{.kind = Schedule::Kind::cosine, .lr = 3e-3, .warmup = 50, .steps = 400};  // steps: of the run
  double clip = 1;                                                                            // global norm; 0: none

  struct Train {
    int batch_size = 64;
    int accumulate = 1;            // parts of a batch, one after the other
    bool shard_optimizer = false;  // of several processes, each keeps a part of the moments
    int average = 0;               // late steps whose mean weights are the model; 0: those of the last step
    int patience = 0;              // evaluations without a smaller held-out loss after which to stop; 0: never
    int evaluate_every = 100, checkpoint_every = 100;
  } train;

  struct Dump {
    int every = 100;       // steps between attention dumps
    int sentences = 4;     // held-out sentences to dump when there are no probes
    bool weights = false;  // keep the model of each dumped step
  } dump;

  std::vector<WatchedSentence> watched;
};

// Reads `path` (strict YAML, UTF-8) and then the `--set` overrides ("model.heads=4"; the later wins). What is written
// nowhere is fitted to what is: fit_defaults(). Every mistake in both, in one Error, each on a line:
// "toy.yaml:12:5: unknown key 'learing_rate' in optim (did you mean 'lr'?)" or "--set model.heads=0: model.heads must be
// an integer from 1 to 64, got '0'". Wrong syntax is reported alone.
Config read_config(const std::filesystem::path& path, const std::vector<std::string>& overrides = {});
Config parse_config(const std::string& text, const std::string& source, const std::vector<std::string>& overrides = {});

// The configuration of a run that goes on, from its config.yaml, and what the overrides change of it.
struct ResumedConfig {
  Config config;
  std::vector<std::string> changes;  // "train.steps 600 (was 300)"
};
// As read_config(). Error, too, for an override, or a line of the file that is no longer as in `begun_with` (to_yaml(); ""
// where it is not known), that changes a key which is not among resumable_keys(), and for train.steps below `steps_taken`.
ResumedConfig read_resumed_config(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                                  std::int64_t steps_taken = 0, const std::string& begun_with = "");

// The keys that may change when a run goes on: "optim.lr, ..., train.steps, ...".
std::string resumable_keys();

// The whole configuration as YAML with every key; parse_config() of it gives the same configuration.
std::string to_yaml(const Config& config);

// Every key with its default, meaning and range: a configuration file with comments, at most 80 columns wide.
std::string config_help();

}  // namespace heed
