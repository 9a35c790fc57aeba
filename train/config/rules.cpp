#include "train/config/rules.h"

#include <heed/autograd/error.h>
#include <heed/models/reading.h>
#include <heed/tokenizers/tokenize.h>

#include <algorithm>
#include <tuple>

namespace heed {

void fit_defaults(Config& config, const std::function<bool(const std::string& key)>& is_written) {
  if (!is_written("optim.warmup"))
    config.optim.schedule.warmup = std::min(config.optim.schedule.warmup, config.optim.schedule.steps / 2);

  OptimizerOptions& o = config.optim.optimizer;
  const bool is_muon = o.method == OptimizerOptions::Method::muon;
  if (is_muon && !is_written("optim.momentum")) o.momentum = o.muon.momentum;
  if (is_muon && !is_written("optim.nesterov")) o.nesterov = o.momentum > 0;
  if (o.method == OptimizerOptions::Method::lion && !is_written("optim.beta2")) o.beta2 = o.lion.beta2;

  if (config.data.kind == TaskKind::candidates) {
    if (!is_written("model.answer")) config.answer = Answer::candidate;
    if (!is_written("data.unknown") && config.data.split != Split::subwords) config.data.unknown = Unknown::token;
    if (!is_written("data.min_count") && config.data.unknown == Unknown::token) config.data.min_count = 2;
  }

  BlockConfig& block = config.model.block;
  if (!is_written("model.epsilon")) block.norm.epsilon = block.norm.kind == NormKind::rms ? 1e-6 : 1e-5;
  if (!is_written("model.final_norm")) config.model.final_norm = block.placement != NormPlacement::after;
  if (!is_written("model.last_residual")) config.model.last_residual = predicts_tokens(config.data.kind);

  AttentionConfig& a = block.attention;
  const bool d_k_is_free = !is_written("model.d_k"), d_v_is_free = !is_written("model.d_v");
  if (a.tie == Tie::K_is_V && d_k_is_free) a.d_k = a.d_v;
  if (a.tie == Tie::K_is_V && d_v_is_free) a.d_v = a.d_k;
  if (a.d_model % a.heads == 0) return;
  const int width = std::max(1, a.d_model / a.heads);
  if (d_k_is_free && a.d_k == 0) a.d_k = width;
  if (d_v_is_free && a.d_v == 0) a.d_v = width;
}

OptimizerOptions Config::Optim::options() const {
  using Method = OptimizerOptions::Method;
  OptimizerOptions o = optimizer;
  o.rmsprop.momentum = o.momentum;
  o.lion = {o.beta1, o.beta2};
  o.muon.momentum = o.momentum;
  o.muon.nesterov = o.nesterov;
  o.muon.match_adamw = true;  // the other parameters have the same rate
  o.amsgrad = o.amsgrad && (o.method == Method::adam || o.method == Method::adamw || o.method == Method::muon);
  const OptimizerOptions usual;
  if (o.method != Method::sgd) {
    o.momentum = usual.momentum;
    o.nesterov = usual.nesterov;
  }
  if (o.method == Method::lion || o.method == Method::rmsprop || o.method == Method::adagrad) {
    o.beta1 = usual.beta1;
    o.beta2 = usual.beta2;
  }
  return o;
}

std::vector<BrokenRule> broken_rules(const Config& c) {
  std::vector<BrokenRule> broken;
  const auto demand = [&](bool holds, std::vector<std::string> keys, std::string message) {
    if (!holds) broken.push_back({std::move(keys), std::move(message)});
  };
  const auto unused = [&](bool is_unused, std::vector<std::string> keys, std::string message) {
    if (is_unused) broken.push_back({std::move(keys), std::move(message), true});
  };
  const bool is_directory_name = !c.name.empty() && c.name[0] != '.' && c.name.find('/') == c.name.npos;
  demand(is_directory_name, {"name"},
         fmt::format("name '{}' must name a directory in runs/: not empty, no '/', no '.' in front", c.name));

  const char* task = name_of(c.data.kind);
  const bool reads = reads_files(c.data.kind);
  demand(!reads || !c.data.train.empty(), {"data.task", "data.train"},
         fmt::format("task {} needs a file: set data.train", task));
  for (const auto& [key, file] : {std::pair("data.train", c.data.train), std::pair("data.test", c.data.test)}) {
    demand(reads || file.empty(), {"data.task", key},
           fmt::format("task {} makes its own sentences: {} is for babi, jsonl, text, masked_text and candidates", task,
                       key));
  }

  const bool holds_out = reads && !is_text(c.data.kind) && c.data.test.empty();
  for (const auto& [key, is_set] :
       {std::pair("data.folds", c.data.fold.of != Fold{}.of), std::pair("data.fold", c.data.fold.number != 1)}) {
    unused(!holds_out && is_set, {key, "data.task", "data.test"},
           fmt::format("{} is for babi, jsonl and candidates without data.test, got task {}{}", key, task,
                       c.data.test.empty() ? "" : " with data.test"));
  }
  demand(c.data.fold.number <= c.data.fold.of, {"data.fold", "data.folds"},
         fmt::format("data.fold {} must be at most data.folds {}", c.data.fold.number, c.data.fold.of));

  const bool takes_subwords = c.data.kind == TaskKind::candidates && c.data.split == Split::subwords;
  demand(is_text(c.data.kind) || takes_subwords || !is_of_texts_alone(c.data.split), {"data.task", "data.tokens"},
         c.pretrained ? fmt::format("task {} has sentences of words: {} (model.from) reads candidates, text and "
                                    "masked_text",
                                    task, c.from)
                      : fmt::format("task {} has sentences of words: data.tokens {} is for text and masked_text", task,
                                    name_of(c.data.split)));
  const bool has_words = !predicts_tokens(c.data.kind) && c.data.split != Split::subwords;
  demand(has_words || c.data.unknown == Unknown::error, {"data.task", "data.tokens", "data.unknown"},
         fmt::format("data.unknown token is for sentences of words or characters, not task {} with data.tokens {}",
                     task, name_of(c.data.split)));
  demand(c.data.unknown == Unknown::token || c.data.min_count == 1, {"data.unknown", "data.min_count"},
         fmt::format("data.min_count {} makes rare words unknown: also set data.unknown: token", c.data.min_count));
  demand(!predicts_tokens(c.data.kind) || c.answer == Answer::word, {"data.task", "model.answer"},
         fmt::format("task {} predicts tokens: model.answer {} is for questions", task, name_of(c.answer)));
  demand(!predicts_tokens(c.data.kind) || !c.data.shuffle_antecedents, {"data.task", "data.shuffle_antecedents"},
         fmt::format("task {} asks about no antecedents: data.shuffle_antecedents is for the others", task));
  demand(c.train.batch_size % c.train.accumulate == 0, {"train.accumulate", "train.batch_size"},
         fmt::format("train.accumulate {} must divide train.batch_size {}", c.train.accumulate, c.train.batch_size));
  demand(c.optim.schedule.least <= c.optim.schedule.lr, {"optim.min_lr", "optim.lr"},
         fmt::format("optim.min_lr {} must not exceed optim.lr {}", c.optim.schedule.least, c.optim.schedule.lr));

  const AttentionConfig& a = c.model.block.attention;
  const bool divides = a.d_model % a.heads == 0;
  demand(divides || (a.d_k > 0 && a.d_v > 0), {"model.d_model", "model.heads", "model.d_k", "model.d_v"},
         fmt::format("model.heads {} does not divide model.d_model {}: choose heads that do, or set both model.d_k and "
                     "model.d_v",
                     a.heads, a.d_model));
  const int d_k = a.d_k > 0 ? a.d_k : a.d_model / a.heads;
  const int d_v = a.d_v > 0 ? a.d_v : a.d_model / a.heads;
  demand(a.tie != Tie::K_is_V || d_k == d_v, {"model.tie", "model.d_k", "model.d_v", "model.d_model", "model.heads"},
         fmt::format("tie K_is_V needs model.d_k = model.d_v, got {} and {}", d_k, d_v));

  demand(a.heads % a.keys() == 0, {"model.kv_heads", "model.heads"},
         fmt::format("model.kv_heads {} must divide model.heads {}", a.kv_heads, a.heads));
  demand(a.tie != Tie::Q_is_K || a.keys() == a.heads, {"model.tie", "model.kv_heads"},
         fmt::format("tie Q_is_K needs as many model.kv_heads as model.heads, got {} and {}", a.kv_heads, a.heads));
  demand(c.model.positions != Positions::rotary || d_k % 2 == 0,
         {"model.positions", "model.d_k", "model.d_model", "model.heads"},
         fmt::format("model.positions rotary rotates pairs of numbers, so model.d_k must be even, got {}", d_k));
  demand(c.model.positions != Positions::rotary || (c.model.rotary.fraction <= 1 && c.model.rotary.fraction * d_k >= 2),
         {"model.rotary_fraction", "model.d_k", "model.d_model", "model.heads"},
         fmt::format("model.rotary_fraction {} must be at most 1 and rotate a pair or more of the {} numbers of a head",
                     c.model.rotary.fraction, d_k));
  const BlockConfig& block = c.model.block;
  unused(block.mlp.width == 0 && block.mlp.activation != MlpConfig{}.activation, {"model.activation", "model.mlp"},
         fmt::format("model.activation {} is for model.mlp above 0, got 0", name_of(block.mlp.activation)));
  unused(block.mlp.width == 0 && block.mlp.gated, {"model.gated", "model.mlp"},
         "model.gated is for model.mlp above 0, got 0");
  unused(block.mlp.width == 0 && block.parallel, {"model.parallel", "model.mlp"},
         "model.parallel is for model.mlp above 0, got 0");
  const bool rotates = c.model.positions == Positions::rotary;
  const RotaryConfig& rotary = c.model.rotary;
  for (const auto& [key, is_set] : {std::pair("model.rotary_base", rotary.base != RotaryConfig{}.base),
                                    std::pair("model.rotary_fraction", rotary.fraction != RotaryConfig{}.fraction),
                                    std::pair("model.rotary_scaling", rotary.scaling != RotaryConfig{}.scaling)}) {
    unused(!rotates && is_set, {key, "model.positions"},
           fmt::format("{} is for model.positions rotary, got {}", key, name_of(c.model.positions)));
  }
  unused(rotary.scaling == RotaryScaling::none && rotary.factor != RotaryConfig{}.factor,
         {"model.rotary_factor", "model.rotary_scaling"},
         fmt::format("model.rotary_factor {} is for model.rotary_scaling other than none", rotary.factor));
  unused(a.window == 0 && c.model.full_attention_every > 0, {"model.full_attention_every", "model.window"},
         fmt::format("model.full_attention_every {} is for model.window above 0, got 0", c.model.full_attention_every));
  demand(!block.parallel || c.model.block.placement == NormPlacement::before,
         {"model.parallel", "model.norm_placement"},
         fmt::format("model.parallel needs model.norm_placement before, got {}", name_of(c.model.block.placement)));

  demand(c.adapt.empty() || !c.from.empty(), {"model.adapt", "model.from"},
         fmt::format("model.adapt {} freezes the other weights: set model.from to a trained model", c.adapt));
  demand(c.adapt.empty() || c.adapt.find_first_not_of(" ,") != std::string::npos, {"model.adapt"},
         fmt::format("model.adapt: expected names of layers, such as W_Q, got '{}'", c.adapt));
  for (const auto& [key, is_set] : {std::pair("model.adapt_rank", c.adapter.rank != AdapterOptions{}.rank),
                                    std::pair("model.adapt_alpha", c.adapter.alpha != AdapterOptions{}.alpha)}) {
    unused(c.adapt.empty() && is_set, {key, "model.adapt"}, fmt::format("{} is for model.adapt, which is empty", key));
  }

  const OptimizerOptions& o = c.optim.optimizer;
  using Method = OptimizerOptions::Method;
  const OptimizerOptions usual;
  const std::vector<Method> with_betas{Method::adam, Method::adamw, Method::lion, Method::muon};
  for (const auto& [key, is_set, methods] :
       {std::tuple("optim.momentum", o.momentum != 0, std::vector{Method::sgd, Method::rmsprop, Method::muon}),
        std::tuple("optim.nesterov", o.nesterov, std::vector{Method::sgd, Method::muon}),
        std::tuple("optim.beta1", o.beta1 != usual.beta1, with_betas),
        std::tuple("optim.beta2", o.beta2 != usual.beta2, with_betas),
        std::tuple("optim.amsgrad", o.amsgrad, std::vector{Method::adam, Method::adamw, Method::muon}),
        std::tuple("optim.alpha", o.rmsprop.alpha != usual.rmsprop.alpha, std::vector{Method::rmsprop}),
        std::tuple("optim.centered", o.rmsprop.centered, std::vector{Method::rmsprop})}) {
    if (!is_set || std::ranges::count(methods, o.method) > 0) continue;
    std::vector<std::string_view> names;
    for (const Method method : methods) names.push_back(name_of(method));
    unused(true, {key, "optim.name"}, fmt::format("{} is for {}, got {}", key, listed(names), name_of(o.method)));
  }
  const Schedule& schedule = c.optim.schedule;
  for (const auto& [key, is_set, kind] :
       {std::tuple("optim.step_size", schedule.step_size != 0, Schedule::Kind::step),
        std::tuple("optim.gamma", schedule.gamma != Schedule{}.gamma, Schedule::Kind::step),
        std::tuple("optim.decay_steps", schedule.decay_steps != 0, Schedule::Kind::warmup_stable_decay)}) {
    unused(is_set && schedule.kind != kind, {key, "optim.schedule"},
           fmt::format("{} is for optim.schedule {}, got {}", key, name_of(kind), name_of(schedule.kind)));
  }
  const bool takes_nesterov = o.method == Method::sgd || o.method == Method::muon;
  demand(!takes_nesterov || !o.nesterov || o.momentum > 0, {"optim.nesterov", "optim.momentum"},
         "optim.nesterov needs optim.momentum above 0, got 0");
  demand(
      c.optim.schedule.warmup <= c.optim.schedule.steps, {"optim.warmup", "train.steps"},
      fmt::format("optim.warmup {} must not exceed train.steps {}", c.optim.schedule.warmup, c.optim.schedule.steps));
  return broken;
}

std::string watched_mistake(const WatchedSentence& sentence, const std::string& word, const Tokenizer& tokenizer) {
  const std::vector<std::string> tokens = tokenizer(sentence.text);
  const Split split = tokenizer.split();
  const auto count = std::ranges::count(tokens, word);
  if (count == 1) return "";
  if (count > 1) return fmt::format("'{}' must be one token of the text, found {} times", word, count);
  std::string hint = did_you_mean(word, tokens);
  if (split == Split::words && is_run_together(word, tokens)) {
    hint = ": put spaces between the words, or set data.tokens: characters";
  } else if (split == Split::characters && sentence.text.find(word) != std::string::npos) {
    hint = ": with data.tokens: characters each character is a token";
  }
  return fmt::format("'{}' must be one token of the text, found none{}", word, hint);
}

}  // namespace heed
