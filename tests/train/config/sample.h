#pragma once
#include "tests/message.h"
#include "train/config/config.h"

#include <string>
#include <vector>

namespace heed {

// Every key with a value other than its default, except parallel and window, which would contradict other values.
inline const std::string every_key = R"(name: "bank: 银行 \"1\" \\"
seed: 18446744073709551615
data:
  task: jsonl
  train: "some where/训练.jsonl"
  test: "#test"
  folds: 10
  fold: 1
  tokens: characters
  context: 100
  vocabulary: 500
  unknown: token
  min_count: 3
  sentences: 10
  held_out: 20
  seed: 7
  shuffle_antecedents: true
model:
  d_model: 30
  heads: 4
  kv_heads: 2
  d_k: 7
  d_v: 7
  layers: 3
  mlp: 128
  activation: silu
  gated: true
  norm: rms
  epsilon: 0.001
  norm_placement: both
  final_norm: false
  last_residual: true
  embedding_norm: true
  parallel: false
  normalised_heads: true
  positions: sinusoidal
  rotary_base: 500
  rotary_fraction: 0.5
  rotary_scaling: linear
  rotary_factor: 4
  window: 0
  full_attention_every: 6
  score_scale: 0.125
  soft_cap: 50
  logit_cap: 30
  logits: untied
  answer: candidate
  tie: K_is_V
  dropout: 0.25
  embedding_dropout: 0.5
  attention_dropout: 0.125
  bias: true
  output_bias: false
  zero_outputs: true
  from: "runs/other one"
  adapt: "W_Q, W_V"
  adapt_rank: 4
  adapt_alpha: 16
optim:
  name: sgd
  lr: 0.1
  momentum: 0.9
  nesterov: true
  beta1: 0.8
  beta2: 0.30000000000000004
  amsgrad: true
  alpha: 0.5
  centered: true
  eps: 1e-12
  weight_decay: 5e-324
  schedule: linear
  min_lr: 0.05
  step_size: 7
  gamma: 0.25
  decay_steps: 11
  warmup: 0
  clip: 1.7976931348623157e+308
train:
  steps: 999999
  batch_size: 2
  accumulate: 2
  precision: bfloat16
  shard_optimizer: true
  average: 5
  patience: 3
  evaluate_every: 7
  checkpoint_every: 8
dump:
  every: 9
  sentences: 1
  weights: true
probes:
  - text: "小狗没有过马路，因为它太累了 \"\\"
    query: "它"
    antecedent: "狗"
  - text: "true: no"
    query: "true"
    antecedent: "no"
)";

// Returns the error message of parse_config() for `text` as the file "f".
inline std::string config_error(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return message([&] { parse_config(text, "f", overrides); });
}

}  // namespace heed
