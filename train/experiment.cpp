#include "train/experiment.h"

#include "files/internal/ascii.h"
#include "train/config/pretrained.h"

#include <heed/explain/evaluation.h>
#include <heed/formats/datasets/candidates.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace heed {
namespace {

std::vector<std::string> words_asked_about(const std::vector<Example>& examples, const Tokenizer& tokenizer) {
  std::vector<std::string> words;
  for (const Example& example : examples) {
    std::string word = example.source.query;  // has several tokens
    if (word.empty()) {
      word = example.tokens[static_cast<std::size_t>(example.query)];
      if (tokenizer.pretrained()) word = tokenizer.written(word);
      if (tokenizer.pretrained() && word.starts_with(' ')) word.erase(0, 1);
    }
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  return words;
}

// Throws Error for a training answer that the model cannot give.
void check_answers(Answer answer, const std::vector<Example>& examples, const char* set) {
  if (answer == Answer::candidate_or_none) return;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const Example& example = examples[i];
    if (example.candidates.empty()) continue;
    const std::string& source = example.source.text;
    const std::string name = source.empty() ? fmt::format("sentence {} of the {}", i + 1, set) : source;
    if (example.chosen < 0) {
      fail("{} has no correct candidate; expected one, or model.answer: candidate_or_none", name);
    }
    if (answer == Answer::candidate && example.candidates.size() < 2) {
      fail("{} has one candidate; expected two or more, or model.answer: candidate_or_none", name);
    }
  }
}

// Throws Error for a set without any answer that the model can give: the mean loss over its answers does not exist.
void check_some_answers(const Model& model, const NumberedExamples& examples, const char* set) {
  for (std::int64_t i = 0; i < examples.size(); ++i) {
    if (model.predictions(examples.batch(i, i + 1)) > 0) return;
  }
  fail(
      "the {} has {}, but no answer that the model can give; expected at least one whose word is in the training set, "
      "data.min_count times or more",
      set, counted(examples.size(), "example"));
}

// Throws Error for a text that is longer than a pretrained model reads.
void check_length(const Task& task, const TransformerConfig& model, const Config& config) {
  if (task.max_length <= model.max_length) return;
  std::string name = "data.context";
  for (const std::vector<Example>* set : {&task.train, &task.held_out}) {
    for (const Example& example : *set) {
      if (!task.corpus && std::ssize(example.tokens) == task.max_length) name = example.source.text;
    }
  }
  fail("{}: {} tokens are more than the {} that {} (model.from) reads at once", name, task.max_length, model.max_length,
       config.from);
}

// Returns the last token of a word of the sentence; -1 when the sentence does not have the word.
int token_of(const std::string& word, const Model& model, const std::string& text, const Example& example) {
  if (!model.tokenizer.pretrained()) return index_of(word, example.tokens);
  const std::string plain = example.candidates.empty() ? text : without_brackets(text).text;
  return last_token_of(word, *model.tokenizer.pretrained(), plain);
}

Example watched_sentence(const WatchedSentence& sentence, const Model& model) {
  Example example = question(model, sentence.text, sentence.query);
  example.antecedent = token_of(sentence.antecedent, model, sentence.text, example);
  example.answer = sentence.antecedent;
  for (std::size_t c = 0; c < example.candidates.size(); ++c) {
    const Span span = example.candidates[c];
    if (span.begin <= example.antecedent && example.antecedent < span.end) choose(example, static_cast<int>(c));
  }
  return example;
}

std::vector<Example> watched_sentences(const Config& config, const Model& model, const Task& task) {
  const bool is_own = !config.watched.empty();
  const std::size_t held_out = std::min(task.held_out.size(), static_cast<std::size_t>(config.dump.sentences));
  std::vector<Example> result;
  std::vector<std::string> mistakes;
  for (std::size_t i = 0; i < (is_own ? config.watched.size() : held_out); ++i) {
    try {
      result.push_back(is_own ? watched_sentence(config.watched[i], model) : task.held_out[i]);
      batch_of(model, result.back());
    } catch (const Error& error) {
      mistakes.push_back(fmt::format("probes: sentence {}: {}", i + 1, error.what()));
    }
  }
  if (!mistakes.empty()) {
    fail("{}\nWrite probes in words of the {} task, or watch none of your own with --set probes=[]",
         listed(mistakes, "\n"), task.name);
  }
  return result;
}

// Returns the names in a list: "W_Q, W_V".
std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  for (std::string_view name : split_at(list, ',')) {
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

void begin_outputs_at_zero(const Transformer& transformer) {
  for (const TransformerBlock& block : transformer.blocks) {
    Tensor W_O = block.attention.W_O.weight;
    W_O.copy_from(zeros(W_O.shape(), W_O.dtype()));
    if (!block.mlp) continue;
    Tensor out = block.mlp->out.weight;
    out.copy_from(zeros(out.shape(), out.dtype()));
  }
}

// Returns the configuration of the model for a task.
ModelConfig model_config(const Config& config, const Task& task) {
  TransformerConfig transformer = config.model;
  transformer.vocabulary = task.vocabulary.size();
  transformer.max_length = task.max_length;
  transformer.segments = task.max_sentences;
  LogitsConfig logits{.tied = config.logits == Logits::tied, .soft_cap = config.logit_cap};
  if (task.corpus && task.corpus->mask >= 0) {
    logits.bias = true;
    return masked_language_model(transformer, logits);
  }
  if (task.corpus) {
    transformer.causal = true;
    return language_model(transformer, logits);
  }
  // Token embeddings have length about 1 in the logits, and sqrt(d_model) times that at the input of the encoder
  // (Vaswani et al. 2017, section 3.4), so that a token outweighs the first values that layers add to it.
  transformer.embedding_scale = std::sqrt(transformer.d_model());
  if (config.answer != Answer::word) return candidate_chooser(transformer, config.answer == Answer::candidate_or_none);
  logits.bias = true;
  return word_answerer(transformer, logits);
}

}  // namespace

TokenizedTask make_task(const Config& config) {
  return make_task(config.data, Random(config.data_seed > 0 ? config.data_seed : config.seed).stream("data"));
}

std::int64_t trained_numel(const Parameters& parameters) {
  std::int64_t sum = 0;
  for (const auto& [name, value] : parameters) sum += value.is_frozen() ? 0 : value.numel();
  return sum;
}

Experiment make_experiment(const Config& config, const ExperimentOptions& options) {
  Experiment e{.config = config,
               .task = {},
               .examples = {},
               .held_out = {},
               .model = {},
               .watched = {},
               .begun_from = {},
               .memory = {}};
  std::optional<ModelConfig> continued;
  if (config.pretrained) continued = continued_config(config);  // refuses a task before its data is read
  e.task = make_task(config);
  if (continued) {
    e.task.vocabulary = config.pretrained->vocabulary;
    e.model.pretrained_config = config.pretrained->pretrained_config;
    e.model.end_tokens = config.pretrained->end_tokens;
    e.model.kept_files = config.pretrained->kept_files;
  }
  if (config.answer != Answer::word) {
    name_candidates(e.task.train);
    name_candidates(e.task.held_out);
  }
  check_answers(config.answer, e.task.train, "training set");
  check_answers(config.answer, e.task.held_out, "held-out set");
  e.examples = NumberedExamples(e.task.train, e.task.vocabulary);
  e.held_out = NumberedExamples(e.task.held_out, e.task.vocabulary);
  e.model.vocabulary = e.task.vocabulary;
  e.model.tokenizer = e.task.tokenizer;
  e.model.queries = words_asked_about(e.task.train, e.task.tokenizer);
  ModelConfig model = continued ? *continued : model_config(config, e.task);
  if (!config.adapt.empty()) model.adapter = {names_in(config.adapt), config.adapter, config.from};
  if (continued) check_length(e.task, model.transformer, config);
  const auto make = [&](Values with) {
    e.model.parameters = Parameters();
    e.model.build(Scope(e.model.parameters, config.seed, options.dtype, with), model);
  };
  try {
    make(Values::none);
  } catch (const Error& error) {
    if (config.adapt.empty()) throw;
    fail("model.adapt: {}", error.what());
  }
  if (!e.task.corpus) {
    check_some_answers(e.model, e.examples, "training set");
    check_some_answers(e.model, e.held_out, "held-out set");
  }
  e.memory = memory_need(config, e.task, e.model.parameters.numel(), trained_numel(e.model.parameters));
  if (options.values == Values::drawn) {
    check_memory(e);
    make(Values::drawn);
    if (config.zero_outputs) begin_outputs_at_zero(e.model.transformer());
  }
  if (!config.from.empty() && !options.is_resumed) e.begun_from = warm_start(config.from, e.model);
  e.watched = watched_sentences(config, e.model, e.task);
  return e;
}

OptimizerOptions optimizer_options(const Experiment& e) {
  OptimizerOptions options = e.config.optim.options();
  if (options.method != OptimizerOptions::Method::muon) return options;
  OptimizerOptions::Group outside{.parameters = {}, .method = OptimizerOptions::Method::adamw};
  for (const auto& [name, parameter] : e.model.parameters) {
    if (!is_within(name, "encoder")) outside.parameters.push_back(name);
  }
  options.groups.push_back(outside);
  return options;
}

void check_memory(const Experiment& e, int processes, int on_host) {
  MemoryLimit limit = memory_limit();
  if (on_host > 1) {
    limit.bytes /= on_host;
    limit.of = fmt::format("a process, one of {} of {},", on_host, limit.of);
  }
  const MemoryNeed need = of_one_process(e.memory, e.config, processes, on_host);
  if (need.total() <= limit.bytes) return;
  check_memory(need, limit, longest_sentence(e.config, e.task, e.model.parameters.numel(), limit));
}

Batch training_batch(const Experiment& experiment, std::int64_t step) {
  const Random random = Random(experiment.config.seed).stream("batches");
  const int B = experiment.config.train.batch_size;
  if (experiment.task.corpus) return training_windows(*experiment.task.corpus, B, step, random);
  const NumberedExamples& examples = experiment.examples;
  return examples.batch(batch_order(examples.size(), B, step, random));
}

Evaluation evaluate(const Experiment& e, const BetweenBatches& between, const GradientReducer& reducer) {
  if (!e.task.corpus) return evaluate(e.model, e.held_out, between, reducer);
  Evaluation result = evaluate(e.model, *e.task.corpus, between, reducer);
  if (std::ranges::any_of(e.task.held_out, [](const Example& piece) { return piece.antecedent >= 0; })) {
    result.antecedent_weight = evaluate(e.model, e.held_out, between, reducer).antecedent_weight;
  }
  return result;
}

}  // namespace heed
