#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace heed {

// A sentence to watch: `query` and `antecedent` are words of `text`, each found once in it.
struct WatchedSentence {
  std::string text, query, antecedent;
};

// Everything that decides a run. keys() in train/config_keys.cpp lists each key once, with its range and
// meaning.
struct Config {
  std::string name = "toy";  // run directory: runs/NAME
  std::uint64_t seed = 1;

  struct Data {
    std::string task = "coreference";  // coreference, bank, chinese, babi, jsonl
    std::string train, test;           // files, for babi and jsonl; without `test` a tenth of `train` is held out
    std::string split = "words";       // how probes and --sentence are cut into tokens: words, characters
    int sentences = 4000;              // to draw for training, for generated tasks
    int held_out = 1000;               // to draw for evaluation
    bool shuffle_antecedents = false;  // control: answers of the training set dealt at random
  } data;

  struct Model {
    int d_model = 64, heads = 2, d_k = 0, d_v = 0, layers = 2, mlp = 0;  // d_k, d_v 0: d_model / heads
    std::string positions = "learned";                                   // none, learned, sinusoidal
    std::string tie = "none";                                            // none, K_is_V, Q_is_K
    double dropout = 0;                                                  // of what each layer adds, in training
    bool bias = false;                                                   // of W_Q, W_K, W_V
  } model;

  struct Optim {
    std::string name = "adam";  // sgd, adam, adamw
    double lr = 3e-3;
    double momentum = 0;                            // sgd
    bool nesterov = false;                          // sgd
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  // adam, adamw
    double weight_decay = 0;
    std::string schedule = "cosine";  // constant, linear, cosine
    int warmup = 50;                  // steps
    double clip = 1;                  // global norm; 0: none
  } optim;

  struct Train {
    int steps = 400, batch_size = 64;
    int evaluate_every = 100, checkpoint_every = 100;
  } train;

  struct Dump {
    int every = 100;    // steps between attention dumps
    int sentences = 4;  // held-out sentences to dump when there are no probes
  } dump;

  std::vector<WatchedSentence> watched;
};

// Reads `path` (strict YAML, UTF-8) and then the `--set` overrides ("model.heads=4"; the later wins). Every
// mistake in both, in one Error, each on a line: "toy.yaml:12:5: unknown key 'learing_rate' in optim (did you
// mean 'lr'?)" or
// "--set model.heads=0: model.heads must be an integer from 1 to 64, got '0'". Wrong syntax is reported
// alone.
Config read_config(const std::filesystem::path& path, const std::vector<std::string>& overrides = {});
Config parse_config(const std::string& text, const std::string& source, const std::vector<std::string>& overrides = {});

// The whole configuration as YAML with every key; parse_config() of it gives the same configuration.
std::string to_yaml(const Config& config);

// Every key with its default, meaning and range: a configuration file with comments, at most 80 columns wide.
std::string config_help();

}  // namespace heed
