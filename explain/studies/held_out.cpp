#include "autograd/cpu/thread_pool.h"
#include "explain/internal/even_choice.h"
#include "explain/internal/joined_sets.h"

#include <heed/autograd/ops.h>
#include <heed/data/overlap.h>
#include <heed/explain/sentence_attention.h>
#include <heed/explain/studies/held_out.h>
#include <heed/nn/hook.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace heed {
namespace {

// Returns whether sentence i has a counterpart of the same length and query, so that their values can be exchanged in place.
bool has_counterpart(const std::vector<Example>& examples, std::size_t i) {
  if (examples[i].counterpart < 0) return false;
  const Example& counterpart = examples.at(static_cast<std::size_t>(examples[i].counterpart));
  return counterpart.tokens.size() == examples[i].tokens.size() && counterpart.query == examples[i].query;
}

std::vector<Edge> edges_of(std::span<const Example> batch, const EdgeOf& edge_of) {
  std::vector<Edge> edges;
  for (const Example& e : batch) edges.push_back(edge_of(e));
  return edges;
}

void check_same_text(const Communicator& processes, const std::string& text) {
  const std::vector<std::string> texts = processes.exchange(text);
  for (int rank = 1; rank < processes.size(); ++rank) {
    if (texts[static_cast<std::size_t>(rank)] == texts[0]) continue;
    fail("{} gives other answers than rank 0; start all with the same model, sentences, options and build of heed",
         processes.name(rank));
  }
}

}  // namespace

HeldOut::HeldOut(const Model& model, const std::vector<Example>& examples, std::size_t most,
                 const Communicator& processes)
    : model_(model), processes_(processes) {
  // Pairs come first, so that each begins at an even number.
  std::vector<Example> alone;
  std::vector<int> of_pairs, of_alone;  // their observations: pairs of different lengths are one, too
  const std::vector<int> observations = observations_of(examples);
  std::vector<bool> taken(examples.size(), false);
  most = std::min(most, examples.size());
  std::size_t passed = 0;  // sentences, with those that are left out
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (taken[i]) continue;
    const bool is_pair = has_counterpart(examples, i);
    if (is_pair) taken[static_cast<std::size_t>(examples[i].counterpart)] = true;
    const bool is_taken = is_due(sentences_.size() + alone.size(), passed, most, examples.size());
    passed += is_pair ? 2 : 1;
    if (!is_taken) continue;
    if (!is_pair) {
      alone.push_back(examples[i]);
      alone.back().counterpart = -1;
      of_alone.push_back(observations[i]);
      continue;
    }
    for (const std::size_t of_pair : {i, static_cast<std::size_t>(examples[i].counterpart)}) {
      sentences_.push_back(examples.at(of_pair));
      sentences_.back().counterpart = static_cast<int>((sentences_.size() - 1) ^ 1);
      of_pairs.push_back(observations[of_pair]);
    }
  }
  sentences_.insert(sentences_.end(), alone.begin(), alone.end());
  groups_ = std::move(of_pairs);
  groups_.insert(groups_.end(), of_alone.begin(), of_alone.end());

  for (const Example& sentence : sentences_) {
    batch_of(model, sentence);  // throws Error when the model cannot read it
    right_.push_back(right_answer(model, sentence));
  }
  batches_ = NumberedExamples(sentences_, model.vocabulary, model.config().classes)
                 .batches(128);  // even, so that counterparts are in one
}

// Reads every batch, from the input of `layer` if there is one.
std::vector<HeldOut::Answer> HeldOut::read(const Read& logits_of, const Inputs& inputs, int layer) const {
  std::vector<Answer> result;
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    std::optional<LayerInput> from;
    if (layer > 0) from = {layer, inputs[static_cast<std::size_t>(layer)][i]};
    const Tensor logits = logits_of(batches_[i], result.size(), from);  // (B, vocabulary)
    const std::vector<double> probabilities = softmax(logits.to(DType::float64)).to_vector();
    auto row = probabilities.begin();
    for (std::int64_t b = 0; b < logits.size(0); ++b, row += logits.size(1)) {
      if (!std::isfinite(*row)) fail_not_finite(model_, batch_of(model_, sentences_[result.size()]));
      const auto end = row + logits.size(1);
      const int right = right_[result.size()];
      result.push_back({right < 0 ? 0.0 : row[right], static_cast<int>(std::max_element(row, end) - row)});
    }
  }
  return result;
}

std::vector<HeldOut::Answer> HeldOut::answers() const {
  const Hook same_steps(
      [](const std::string&, const Tensor&) {});  // as with an intervention, so that both have equal bits
  return read([&](const Batch& batch, std::size_t, const auto&) { return model_.logits(batch); });
}

std::vector<HeldOut::Answer> HeldOut::answers(const InterventionOf& intervention) const {
  return answers_from({}, 0, intervention);
}

std::vector<HeldOut::Answer> HeldOut::answers_from(const Inputs& inputs, int layer,
                                                   const InterventionOf& intervention) const {
  return read(
      [&](const Batch& batch, std::size_t first, const std::optional<LayerInput>& from) {
        const std::span<const Example> sentences =
            std::span(sentences_).subspan(first, static_cast<std::size_t>(batch.size()));
        return logits_under({intervention(sentences)}, model_, batch, from);
      },
      inputs, layer);
}

// Returns the inputs of `layers`, except of the first layer. They have the bits that a run under an intervention has.
HeldOut::Inputs HeldOut::inputs_of(const std::set<int>& layers) const {
  Inputs inputs(static_cast<std::size_t>(this->layers()));
  const Hook hook([&](const std::string& name, const Tensor& value) {
    for (const int layer : layers) {
      if (layer > 0 && name == residual_name(model_.transformer(), layer)) {
        inputs[static_cast<std::size_t>(layer)].push_back(value);
      }
    }
  });
  if (std::ranges::any_of(layers, [](int layer) { return layer > 0; })) {
    read([&](const Batch& batch, std::size_t, const auto&) { return model_.logits(batch); });
  }
  return inputs;
}

// Returns the first layer that the intervention changes.
int HeldOut::layer_of(const InterventionOf& intervention) const {
  const std::size_t first_batch = batches_.empty() ? 0 : static_cast<std::size_t>(batches_[0].query.numel());
  return std::clamp(intervention(std::span(sentences_).first(first_batch)).place().layer, 0, layers() - 1);
}

// Returns whether a batch is so small that operations on it would leave threads idle, and that each thread may hold one.
bool HeldOut::threads_share_interventions() const {
  constexpr double max_bytes = 1 << 28;
  const TransformerConfig& config = model_.transformer().config;
  const double T = static_cast<double>(longest(sentences_)),
               per_token = 4.0 * config.heads() * T + 3.0 * config.block.mlp.width + 12.0 * config.d_model();
  return 128 * T * per_token * sizeof(float) < max_bytes;
}

std::vector<std::vector<HeldOut::Answer>> HeldOut::answers(const std::vector<InterventionOf>& interventions,
                                                           const std::function<void()>& begin) const {
  const Share own = share_of(std::ssize(interventions), processes_.rank(), processes_.size());
  const std::span<const InterventionOf> of_own =
      std::span(interventions)
          .subspan(static_cast<std::size_t>(own.first), static_cast<std::size_t>(own.end - own.first));
  std::vector<int> layer_at;
  for (const InterventionOf& one : of_own) layer_at.push_back(layer_of(one));
  const Inputs inputs = inputs_of({layer_at.begin(), layer_at.end()});
  std::vector<std::vector<Answer>> given(of_own.size());
  std::vector<std::exception_ptr> errors(of_own.size());  // a tile must not throw
  std::mutex one_at_a_time;
  const auto answer_one = [&](std::int64_t index) {
    const auto i = static_cast<std::size_t>(index);
    try {
      if (begin) {
        const std::lock_guard lock(one_at_a_time);
        begin();
      }
      given[i] = answers_from(inputs, layer_at[i], of_own[i]);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  if (threads_share_interventions()) {
    cpu::parallel_for(std::ssize(of_own), 1, [&](std::int64_t first, std::int64_t) { answer_one(first); });
  } else {
    for (std::int64_t i = 0; i < std::ssize(of_own); ++i) answer_one(i);
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  std::vector<double> numbers;
  for (const std::vector<Answer>& of_one : given) {
    for (const Answer& answer : of_one) numbers.insert(numbers.end(), {answer.probability, 1.0 * answer.word});
  }
  numbers = processes_.gather(numbers);
  std::vector<std::vector<Answer>> all(interventions.size());
  auto number = numbers.begin();
  for (std::vector<Answer>& of_one : all) {
    for (std::size_t i = 0; i < sentences_.size(); ++i, number += 2)
      of_one.push_back({number[0], static_cast<int>(number[1])});
  }
  return all;
}

void HeldOut::check_same_on_all(const std::vector<Answer>& answers) const {
  if (processes_.size() == 1) return;
  std::string text;
  for (const Answer& answer : answers) text += fmt::format("{} {}\n", answer.probability, answer.word);
  check_same_text(processes_, text);
}

std::vector<HeldOut::Answer> HeldOut::answers(const Watch& weights, const Watch& head_outputs) const {
  const Transformer& transformer = model_.transformer();
  return read([&](const Batch& batch, std::size_t first, const auto&) {
    const Hook hook([&](const std::string& name, const Tensor& value) {
      for (int layer = 0; layer < layers(); ++layer) {
        if (name == hook_name(transformer, layer, "weights")) weights(layer, value, first);
        if (name == hook_name(transformer, layer, "heads")) head_outputs(layer, value, first);
      }
    });
    return model_.logits(batch);
  });
}

InterventionOf cut_in_each(Heads heads, EdgeOf edge_of) {
  return [heads, edge_of = std::move(edge_of)](std::span<const Example> batch) {
    return cut(heads, edges_of(batch, edge_of));
  };
}

InterventionOf zero_weight_in_each(Heads heads, EdgeOf edge_of) {
  return [heads, edge_of = std::move(edge_of)](std::span<const Example> batch) {
    return zero_weight(heads, edges_of(batch, edge_of));
  };
}

InterventionOf keep_only_in_each(Heads heads, EdgeOf edge_of) {
  return [heads, edge_of = std::move(edge_of)](std::span<const Example> batch) {
    return keep_only(heads, edges_of(batch, edge_of));
  };
}

InterventionOf patch_from_counterparts(Heads heads) {
  return [heads](std::span<const Example> batch) {
    std::vector<int> from;  // both of a pair are in the batch, the first at an even place
    for (const Example& e : batch) from.push_back(e.counterpart < 0 ? -1 : static_cast<int>(from.size() ^ 1));
    return patch(heads, from);
  };
}

std::vector<int> observations_of(const std::vector<Example>& sentences) {
  const auto sentence = [&](int i) -> const Example& { return sentences[static_cast<std::size_t>(i)]; };
  JoinedSets sets(sentences.size());
  sets.join_equal([&](int i) { return std::pair(sentence(i).tokens, sentence(i).query); });
  std::vector<int> observations(sentences.size());
  for (int i = 0; i < std::ssize(sentences); ++i) {
    const int counterpart = sentence(i).counterpart;
    if (counterpart >= 0 && counterpart < i) sets.join(i, counterpart);
  }
  for (int i = 0; i < std::ssize(sentences); ++i) observations[static_cast<std::size_t>(i)] = sets.first(i);
  return observations;
}

double fair_choice(std::span<const Example> sentences) {
  const bool two =
      std::ranges::all_of(sentences, [](const Example& e) { return e.antecedent >= 0 && e.distractor >= 0; });
  return two ? 0.5 : std::numeric_limits<double>::quiet_NaN();
}

std::vector<int> numbered_answers(std::span<const Example> sentences) {
  std::map<std::string, int> numbers;
  std::vector<int> answers;
  for (const Example& e : sentences) {
    answers.push_back(numbers.try_emplace(e.answer, static_cast<int>(numbers.size())).first->second);
  }
  return answers;
}

Chance chance_of(std::span<const Example> sentences) {
  return chance_of(numbered_answers(sentences), fair_choice(sentences));
}

void check_same_on_all(const Communicator& processes, const Model& model, const std::vector<Example>& sentences) {
  if (processes.size() == 1) return;
  const SentenceAttention first = attend(model, sentences.at(0));
  std::string text = fmt::format("{} {}", first.probability, fmt::join(first.layers.back().to_vector(), " "));
  for (const Example& e : sentences) {
    text += fmt::format("\n{} {} {} {} {}", e.query, e.chosen, e.counterpart, e.relation, fmt::join(e.tokens, " "));
    for (const Span span : e.candidates) text += fmt::format(" {} {}", span.begin, span.end);
  }
  check_same_text(processes, text);
}

int distance_to_query(const Example& sentence, Span span) {
  return span.end <= sentence.query ? sentence.query - span.end + 1 : std::max(span.begin - sentence.query, 0);
}

std::size_t leave_out_long(const Model& model, std::vector<Example>& sentences) {
  if (!model.transformer().learned_positions) return 0;
  return leave_out_if(sentences, [most = model.transformer().config.max_length](const Example& e) {
    return std::ssize(e.tokens) > most;
  });
}

std::size_t longest(const std::vector<Example>& sentences) {
  std::size_t most = 0;
  for (const Example& e : sentences) most = std::max(most, e.tokens.size());
  return most;
}

std::size_t sentences_to_use(int most, const TransformerConfig& config, const std::vector<Example>& sentences,
                             double passes) {
  if (most > 0) return static_cast<std::size_t>(most);
  const auto T = static_cast<double>(longest(sentences));
  const AttentionConfig a = config.block.attention.complete();
  const double per_token =
      config.layers * (2.0 * a.heads * (a.d_model + T) * (a.d_k + a.d_v) + 2.0 * a.d_model * config.block.mlp.width);
  return static_cast<std::size_t>(std::max(100.0, 1e12 / (2 * passes * T * per_token)));
}

}  // namespace heed
