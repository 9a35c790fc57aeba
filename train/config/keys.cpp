#include "train/config/keys.h"

#include "files/internal/ascii.h"

#include <heed/autograd/error.h>

#include <fmt/ranges.h>

#include <algorithm>

namespace heed {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Parses plain decimal numbers only. Refuses "+1", "010", "0x10", "1_000" and ".inf".
template <class T>
std::optional<T> parse(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('-')) digits.remove_prefix(1);
  const std::size_t first = digits.starts_with('.');
  if (digits.size() <= first || !is_digit(digits[first])) return {};
  if (digits.size() > 1 && digits[0] == '0' && is_digit(digits[1])) return {};
  return parse_number<T>(text);
}

bool has_control_character(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; });
}

// One flag for the biases of all values that are added to the residual stream.
Flag output_biases(BlockConfig& block) {
  return {[&] { return block.attention.output_bias; },
          [&](bool on) { block.attention.output_bias = block.mlp.bias = on; }};
}

// Configurations of version 0.1 name a gated activation by one word: "swiglu".
Choice activation(MlpConfig& mlp) {
  Choice result = choice(&mlp.activation);
  result.set = [&mlp, set = result.set](std::string_view name) {
    const std::optional<Activation> gate = gate_named(name);
    if (!gate) return set(name);
    mlp.activation = *gate;
    mlp.gated = true;
    return true;
  };
  return result;
}

// Training multiplies no quantized weights, so that int8 is not offered.
Choice products(Precision* precision) {
  Choice result = choice(precision);
  std::erase(result.names, name_of(Precision::int8));
  result.set = [set = result.set](std::string_view name) { return name != name_of(Precision::int8) && set(name); };
  return result;
}

Flag normalised_heads(AttentionConfig& attention) {
  return {[&] { return attention.query_key_norm == QueryKeyNorm::heads; },
          [&](bool on) { attention.query_key_norm = on ? QueryKeyNorm::heads : QueryKeyNorm::none; }};
}

}  // namespace

std::string Key::section() const { return name.find('.') == name.npos ? "" : name.substr(0, name.find('.')); }
std::string Key::word() const { return name.substr(name.find('.') + 1); }  // npos + 1 is 0

std::vector<Key> keys(Config& c) {
  constexpr int many = 1'000'000;
  constexpr int max_steps = 999'999;
  constexpr auto may_change = Key::OnResume::may_change;
  BlockConfig& block = c.model.block;
  AttentionConfig& attention = block.attention;
  return {
      {"name", Text{&c.name}, "name of the run, whose directory is runs/NAME"},
      {"seed", Seed{&c.seed}, "seed of everything that is drawn at random"},

      {"data.task", choice(&c.data.kind), "the task to learn"},
      {"data.train",
       Text{&c.data.train},
       "training files, divided by commas, for tasks that read files",
       {},
       Key::OnResume::may_move},
      {"data.test",
       Text{&c.data.test},
       "files to evaluate on; \"\": a part of data.train",
       {},
       Key::OnResume::may_move},
      {"data.folds", Integer{&c.data.fold.of, 2, 1000},
       "without data.test: parts of the sentences, one of which is held out (10: a tenth, 4: a quarter)"},
      {"data.fold", Integer{&c.data.fold.number, 1, 1000},
       "the part that is held out; train --folds takes each in turn"},
      {"data.tokens", choice(&c.data.split), "what a text is split into", {}, Key::OnResume::fixed, "data.split"},
      {"data.context",
       Integer{&c.data.context, 1, 65536},
       "tokens seen at once, for tasks on texts and induction",
       {"block_size", "seq_len", "context_length"}},
      {"data.vocabulary", Integer{&c.data.vocabulary, 300, 65536}, "number of subwords to learn", {"vocab_size"}},
      {"data.unknown", choice(&c.data.unknown),
       "words that training does not have: an error, or one token for all of them (default for candidates)"},
      {"data.min_count", Integer{&c.data.min_count, 1, many},
       "words seen fewer times are unknown (default for candidates: 2)"},
      {"data.sentences", Integer{&c.data.sentences, 1, many}, "training sentences, for tasks that generate them"},
      {"data.held_out", Integer{&c.data.held_out, 1, many}, "held-out sentences, for tasks that generate them"},
      {"data.seed", Seed{&c.data_seed},
       "seed of the sentences that are made and held out: equal for all --seeds, these have the same; 0: seed"},
      {"data.shuffle_antecedents", flag(&c.data.shuffle_antecedents),
       "control experiment: assign training answers at random"},

      {"model.d_model",
       Integer{&attention.d_model, 1, 4096},
       "width of a token's vector",
       {"embedding_size", "hidden_size", "n_embd"}},
      {"model.heads", Integer{&attention.heads, 1, 64}, "attention heads per layer", {"num_heads", "n_head"}},
      {"model.kv_heads",
       Integer{&attention.kv_heads, 0, 64},
       "key and value heads per layer; 0: as many as heads",
       {"n_kv_heads"}},
      {"model.d_k", Integer{&attention.d_k, 0, 4096}, "width of queries and keys per head; 0: d_model / heads"},
      {"model.d_v", Integer{&attention.d_v, 0, 4096}, "width of values per head; 0: d_model / heads"},
      {"model.layers", Integer{&c.model.layers, 1, 64}, "transformer blocks", {"num_layers", "n_layer"}},
      {"model.mlp", Integer{&block.mlp.width, 0, 65536}, "hidden width of each block's MLP; 0: no MLP", {"d_ff"}},
      {"model.activation", activation(block.mlp), "activation of the MLP", {"hidden_act"}},
      {"model.gated", flag(&block.mlp.gated),
       "a third matrix, the gate, whose activation multiplies the MLP's features"},
      {"model.norm", choice(&block.norm.kind), "LayerNorm, RMSNorm, or no norms at all"},
      {"model.epsilon",
       Number{&block.norm.epsilon, 0},
       "epsilon of the norms; unset: 1e-5, with rms 1e-6",
       {"norm_eps"}},
      {"model.norm_placement",
       choice(&block.placement),
       "norm the input of each part of a block (before), the sum with the residual (after), the part's output, or "
       "input and output (both)",
       {"norm_first"}},
      {"model.final_norm", flag(&c.model.final_norm),
       "norm after the last layer; unset: true, but false with norm_placement: after"},
      {"model.last_residual", flag(&c.model.last_residual),
       "whether the last layer adds its attention to its input; without it an answer depends only on the tokens that "
       "the query attends to there; unset: false, but true for tasks that predict tokens"},
      {"model.embedding_norm", flag(&c.model.embedding_norm), "norm of the embeddings"},
      {"model.parallel", flag(&block.parallel), "attention and MLP read the same input"},
      {"model.normalised_heads", normalised_heads(attention), "RMSNorm of queries and keys, per head"},
      {"model.positions", choice(&c.model.positions), "position embeddings; rotary rotates queries and keys"},
      {"model.rotary_base",
       Number{&c.model.rotary.base, 1},
       "base of the rotary angles: the slowest is about 1/base per token",
       {"rope_theta"}},
      {"model.rotary_fraction", Number{&c.model.rotary.fraction, 0, true},
       "share of each head's features that rotary rotates"},
      {"model.rotary_scaling",
       choice(&c.model.rotary.scaling),
       "scaling of rotary angles, for longer texts",
       {"rope_scaling"}},
      {"model.rotary_factor", Number{&c.model.rotary.factor, 0, true}, "factor of the rotary scaling"},
      {"model.window",
       Integer{&attention.window, 0, 65536},
       "number of tokens that a token sees on either side, itself included; 0: all",
       {"sliding_window"}},
      {"model.full_attention_every", Integer{&c.model.full_attention_every, 0, 64},
       "every Nth layer sees all tokens, despite the window; 0: none"},
      {"model.score_scale", Number{&attention.scale, 0}, "factor of the scores; 0: 1 / sqrt(d_k)"},
      {"model.soft_cap", Number{&attention.soft_cap, 0}, "bound of the scores, by tanh; 0: none"},
      {"model.logit_cap", Number{&c.logit_cap, 0}, "bound of the logits, by tanh; 0: none"},
      {"model.logits", choice(&c.logits), "whether the output matrix is that of the token embeddings"},
      {"model.answer", choice(&c.answer),
       "answer with a word; with a candidate (default for candidates); or with a candidate or none"},
      {"model.tie", choice(&attention.tie), "one matrix for two roles"},
      {"model.dropout", Number{&c.dropout, 0, false, true}, "share of each layer's output that training drops"},
      {"model.embedding_dropout",
       Number{&c.embedding_dropout, 0, false, true},
       "dropout of the first layer's input",
       {"embd_pdrop"}},
      {"model.attention_dropout",
       Number{&c.attention_dropout, 0, false, true},
       "dropout of attention weights",
       {"attn_pdrop"}},
      {"model.bias", flag(&attention.bias), "biases in W_Q, W_K and W_V"},
      {"model.output_bias", output_biases(block), "biases in W_O and the MLP"},
      {"model.zero_outputs", flag(&c.zero_outputs), "start W_O and the MLP's last matrix at 0"},
      {"model.from", Text{&c.from}, "run or pretrained model to start from"},
      {"model.adapt",
       Text{&c.adapt},
       "layers of model.from that get adapters (LoRA), such as \"W_Q, W_V\"; all else is frozen",
       {"lora", "target_modules"}},
      {"model.adapt_rank", Integer{&c.adapter.rank, 1, 4096}, "rank of the adapters", {"lora_r", "lora_rank"}},
      {"model.adapt_alpha",
       Number{&c.adapter.alpha, 0, true},
       "an adapter's product is added times alpha / rank",
       {"lora_alpha"}},

      {"optim.name", choice(&c.optim.optimizer.method), "the optimiser", {"optimizer"}},
      {"optim.lr",
       Number{&c.optim.schedule.lr, 0, true},
       "learning rate after the warm-up",
       {"learning_rate"},
       may_change},
      {"optim.momentum", Number{&c.optim.optimizer.momentum, 0, false, true},
       "momentum, for sgd, rmsprop and muon; unset: 0, with muon 0.95"},
      {"optim.nesterov", flag(&c.optim.optimizer.nesterov),
       "Nesterov momentum, for sgd and muon; unset: false, with muon true"},
      {"optim.beta1", Number{&c.optim.optimizer.beta1, 0, false, true},
       "decay of the mean gradient, for adam, adamw and lion, and for muon's adamw"},
      {"optim.beta2", Number{&c.optim.optimizer.beta2, 0, false, true},
       "decay of the mean squared gradient, for adam, adamw and muon's adamw; of lion's momentum; unset: 0.999, with "
       "lion 0.99"},
      {"optim.amsgrad", flag(&c.optim.optimizer.amsgrad),
       "divide by the largest mean squared gradient so far, for adam, adamw and muon's adamw"},
      {"optim.alpha", Number{&c.optim.optimizer.rmsprop.alpha, 0, false, true},
       "decay of the mean squared gradient, for rmsprop"},
      {"optim.centered", flag(&c.optim.optimizer.rmsprop.centered),
       "divide by the deviation of the gradients, for rmsprop"},
      {"optim.eps", Number{&c.optim.optimizer.eps, 0, true},
       "number added to the divisor, for adam, adamw, rmsprop, adagrad and muon's adamw"},
      {"optim.weight_decay", Number{&c.optim.optimizer.weight_decay, 0}, "weight decay", {}, may_change},
      {"optim.schedule",
       choice(&c.optim.schedule.kind),
       "how the learning rate changes after the warm-up",
       {"lr_schedule"},
       may_change},
      {"optim.min_lr",
       Number{&c.optim.schedule.least, 0},
       "learning rate that is reached after the last step",
       {},
       may_change},
      {"optim.step_size",
       Integer{&c.optim.schedule.step_size, 0, max_steps},
       "schedule step: steps between two changes of the learning rate; 0: a third of train.steps",
       {"lr_decay_every"},
       may_change},
      {"optim.gamma",
       Number{&c.optim.schedule.gamma, 0, true},
       "schedule step: factor of each change of the learning rate",
       {"lr_decay"},
       may_change},
      {"optim.decay_steps",
       Integer{&c.optim.schedule.decay_steps, 0, max_steps},
       "schedule warmup_stable_decay: steps of the decay at the end; 0: a tenth of train.steps",
       {},
       may_change},
      {"optim.warmup",
       Integer{&c.optim.schedule.warmup, 0, max_steps},
       "steps in which the learning rate rises; unset: 50, but at most half of the steps",
       {"warmup_steps"},
       may_change},
      {"optim.clip",
       Number{&c.optim.clip, 0},
       "largest global norm of the gradients; 0: no clipping",
       {"grad_clip", "max_norm"},
       may_change},

      {"train.steps",
       Integer{&c.optim.schedule.steps, 1, max_steps},
       "training steps",
       {"max_steps", "iterations"},
       may_change},
      {"train.batch_size", Integer{&c.train.batch_size, 1, 65536}, "examples per step", {"batch"}},
      {"train.accumulate",
       Integer{&c.train.accumulate, 1, 65536},
       "parts into which a batch is divided, to save memory",
       {"grad_accum", "gradient_accumulation_steps"}},
      {"train.precision",
       products(&c.train.precision),
       "numbers that the products of a step multiply; bfloat16 is faster with AMX",
       {"dtype", "mixed_precision", "amp"}},
      {"train.shard_optimizer",
       flag(&c.train.shard_optimizer),
       "with several processes, each keeps a part of the optimiser's moments",
       {},
       may_change},
      {"train.average",
       Integer{&c.train.average, 0, max_steps},
       "number of last steps whose weights are averaged; 0: none",
       {"swa", "ema"}},
      {"train.patience",
       Integer{&c.train.patience, 0, max_steps},
       "stop after this many evaluations without progress; 0: never",
       {"early_stopping"},
       may_change},
      {"train.evaluate_every",
       Integer{&c.train.evaluate_every, 1, max_steps},
       "steps between evaluations",
       {"eval_every"},
       may_change},
      {"train.checkpoint_every",
       Integer{&c.train.checkpoint_every, 1, max_steps},
       "steps between checkpoints",
       {"save_every"},
       may_change},

      {"dump.every", Integer{&c.dump.every, 1, max_steps}, "steps between attention snapshots", {}, may_change},
      {"dump.sentences", Integer{&c.dump.sentences, 1, 1000}, "held-out sentences to watch when probes is empty"},
      {"dump.weights", flag(&c.dump.weights), "keep the model of each snapshot", {}, may_change},
  };
}

std::string resumable_keys() {
  Config config;
  std::string changed, moved;
  for (const Key& key : keys(config)) {
    if (key.on_resume == Key::OnResume::fixed) continue;
    std::string& names = key.on_resume == Key::OnResume::may_move ? moved : changed;
    names += (names.empty() ? "" : ", ") + key.name;
  }
  return fmt::format("{}, and the paths, not the content, of {}", changed, moved);
}

std::string range(const Key& key) {
  return std::visit(Overloaded{[](const Flag&) -> std::string { return "true or false"; },
                               [](const Integer& i) { return fmt::format("{} to {}", i.low, i.high); },
                               [](const Seed&) { return fmt::format("0 to {}", UINT64_MAX); },
                               [](const Number& n) {
                                 if (n.above_low) return fmt::format("above {}", n.low);
                                 return fmt::format("from {} {}", n.low, n.below_one ? "to below 1" : "upwards");
                               },
                               [](const Choice& c) { return fmt::format("{}", fmt::join(c.names, ", ")); },
                               [](const Text&) -> std::string { return "text"; }},
                    key.slot);
}

std::string expected(const Key& key) {
  const char* kind = std::visit(
      Overloaded{[](const Integer&) { return "an integer from "; }, [](const Seed&) { return "an integer from "; },
                 [](const Number&) { return "a number "; }, [](const Choice&) { return "one of "; },
                 [](const Text&) { return "one line of "; }, [](const auto&) { return ""; }},
      key.slot);
  return kind + range(key);
}

bool assign(const Key& key, std::string_view text, bool quoted) {
  const auto take = [](auto* place, auto value, bool in_range) {
    if (value && in_range) *place = *value;
    return value && in_range;
  };
  return std::visit(
      Overloaded{
          [&](const Flag& f) {
            const bool known = !quoted && (text == "true" || text == "false");
            if (known) f.set(text == "true");
            return known;
          },
          [&](const Integer& i) {
            const auto value = parse<int>(text);
            return take(i.value, value, !quoted && value >= i.low && value <= i.high);
          },
          [&](const Seed& s) { return take(s.value, parse<std::uint64_t>(text), !quoted); },
          [&](const Number& n) {
            const auto value = parse<double>(text);
            const bool in_range = (n.above_low ? value > n.low : value >= n.low) && !(n.below_one && value >= 1);
            return take(n.value, value, !quoted && in_range);
          },
          [&](const Choice& c) { return c.set(text); },
          [&](const Text& t) { return take(t.value, std::optional(std::string(text)), !has_control_character(text)); }},
      key.slot);
}

}  // namespace heed
