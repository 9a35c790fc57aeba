#include "train/experiment.h"

#include "run/answers.h"
#include "train/evaluation.h"

#include <heed/data/tasks/candidates.h>

#include <algorithm>

namespace heed {
namespace {

std::vector<std::string> words_asked_about(const std::vector<Example>& examples) {
  std::vector<std::string> words;
  for (const Example& example : examples) {
    const std::string& word = example.tokens[static_cast<std::size_t>(example.query)];
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  return words;
}

// Every training answer must be one that the model can give.
void check_answers(Answer answer, const std::vector<Example>& examples, const char* set) {
  if (answer == Answer::candidate_or_none) return;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const Example& example = examples[i];
    if (example.candidates.empty()) continue;
    const std::string& source = example.source.text;
    const std::string name = source.empty() ? fmt::format("sentence {} of the {}", i + 1, set) : source;
    if (example.chosen < 0) {
      fail("{} means none of its candidates: set model.answer: candidate_or_none", name);
    }
    if (answer == Answer::candidate && example.candidates.size() < 2) {
      fail("{} has one candidate, so nothing is to be chosen: expected two or more, or model.answer: candidate_or_none",
           name);
    }
  }
}

std::vector<Example> watched_sentences(const Config& config, const SavedModel& model, const Task& task) {
  std::vector<Example> result;
  for (const WatchedSentence& sentence : config.watched) {
    Example example = question(model, sentence.text, sentence.query);
    example.antecedent = index_of(sentence.antecedent, example.tokens);  // -1 where there is none
    example.answer = sentence.antecedent;
    for (std::size_t c = 0; c < example.candidates.size(); ++c) {
      const Span span = example.candidates[c];
      if (span.begin <= example.antecedent && example.antecedent < span.end) choose(example, static_cast<int>(c));
    }
    result.push_back(std::move(example));
  }
  const std::size_t count = std::min(task.held_out.size(), static_cast<std::size_t>(config.dump.sentences));
  if (result.empty()) result.assign(task.held_out.begin(), task.held_out.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<std::string> mistakes;
  for (std::size_t i = 0; i < result.size(); ++i) {
    try {
      reader_input(*model.reader, model.vocabulary, result[i]);
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

void begin_outputs_at_zero(const Reader& reader) {
  for (const EncoderBlock& block : reader.encoder.blocks) {
    Tensor W_O = block.attention.W_O.weight;
    W_O.copy_from(zeros(W_O.shape(), W_O.dtype()));
    if (!block.mlp) continue;
    Tensor out = block.mlp->out.weight;
    out.copy_from(zeros(out.shape(), out.dtype()));
  }
}

}  // namespace

Experiment make_experiment(const Config& config, DType dtype, Resumed resumed, Values values) {
  Experiment e{.config = config,
               .task = {},
               .examples = {},
               .held_out = {},
               .model = {},
               .watched = {},
               .begun_from = {},
               .memory = {}};
  e.task = make_task(config.data, Random(config.seed).stream("data"));
  if (config.model.answer != Answer::word) {
    name_candidates(e.task.train);
    name_candidates(e.task.held_out);
  }
  check_answers(config.model.answer, e.task.train, "training set");
  check_answers(config.model.answer, e.task.held_out, "held-out set");
  e.examples = NumberedExamples(e.task.train, e.task.vocabulary);
  e.held_out = NumberedExamples(e.task.held_out, e.task.vocabulary);
  e.model.vocabulary = e.task.vocabulary;
  e.model.tokenizer = e.task.tokenizer;
  e.model.queries = words_asked_about(e.task.train);
  ReaderConfig model = config.model;
  model.vocabulary = e.task.vocabulary.size();
  model.max_length = e.task.max_length;
  model.sentences = e.task.max_sentences;
  model.predicts = e.task.corpus ? Predicts::next : Predicts::answer;
  const auto make_model = [&](Values with) {
    e.model.parameters = Parameters();
    e.model.reader = std::make_unique<Reader>(Scope(e.model.parameters, config.seed, dtype, with), model);
  };
  make_model(Values::none);
  e.memory = memory_need(config, e.task, e.model.parameters.numel());
  if (values == Values::drawn) {
    check_memory(e);
    make_model(Values::drawn);
    if (config.zero_outputs) begin_outputs_at_zero(*e.model.reader);
  }
  if (!config.from.empty() && resumed == Resumed::no) e.begun_from = warm_start(config.from, e.model);
  e.watched = watched_sentences(config, e.model, e.task);
  return e;
}

void check_memory(const Experiment& e) {
  const MemoryLimit limit = memory_limit();
  if (e.memory.total() <= limit.bytes) return;
  check_memory(e.memory, limit, longest_sentence(e.config, e.task, e.model.parameters.numel(), limit));
}

Batch training_batch(const Experiment& experiment, std::int64_t step) {
  const Random random = Random(experiment.config.seed).stream("batches");
  const int B = experiment.config.train.batch_size;
  if (experiment.task.corpus) {
    Windows windows = training_windows(*experiment.task.corpus, B, step, random);
    return batch_of(std::move(windows));
  }
  const NumberedExamples& examples = experiment.examples;
  return examples.batch(batch_order(examples.size(), B, step, random));
}

Evaluation evaluate(const Experiment& e, const BetweenBatches& between) {
  if (!e.task.corpus) return evaluate(*e.model.reader, e.held_out, between);
  Evaluation result = evaluate(*e.model.reader, *e.task.corpus, between);
  if (std::ranges::any_of(e.task.held_out, [](const Example& piece) { return piece.antecedent >= 0; })) {
    result.antecedent_weight = evaluate(*e.model.reader, e.held_out, between).antecedent_weight;
  }
  return result;
}

Batch batch_of(Windows windows) {
  return {.tokens = std::move(windows.tokens),
          .next = std::move(windows.next),
          .lengths = {},
          .query = {},
          .answer = {},
          .sentences = {}};
}

Reader::Output read(const Reader& reader, const Batch& batch, Weights weights, const Dropout& drop) {
  return reader.at_query(reader_input(batch), weights, drop);
}

Tensor answer_loss(const Reader& reader, const Batch& batch, const Dropout& drop) {
  if (batch.next.numel() > 0) {
    const Tensor logits = reader.next(batch.tokens, drop);  // (B, T, vocabulary)
    return cross_entropy(reshape(logits, {-1, logits.size(2)}), batch.next);
  }
  return loss_of(reader, read(reader, batch, Weights::no, drop), batch);
}

Tensor loss_of(const Reader& reader, const Reader::Output& output, const Batch& batch) {
  return cross_entropy(output.logits, right_answers(reader, batch));
}

}  // namespace heed
