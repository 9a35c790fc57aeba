#pragma once
#include <heed/distributed/communicator.h>
#include <heed/explain/intervention.h>
#include <heed/explain/studies/verdict.h>

#include <functional>
#include <set>
#include <span>
#include <vector>

namespace heed {

/// Makes the intervention on the sentences of one batch.
using InterventionOf = std::function<Intervention(std::span<const Example> batch)>;

/// Returns the edge to change in a sentence; {} for a sentence without it.
using EdgeOf = std::function<Edge(const Example& sentence)>;

/// Sentences in batches, each beside the counterpart of its minimal pair, and the answers of a model to them.
///
///     const HeldOut held_out(model, examples, 100);
///     const std::vector<HeldOut::Answer> before = held_out.answers();
///     const std::vector<HeldOut::Answer> after = held_out.answers(cut_in_each({1, 0}, [](const Example& e) {
///       return Edge{e.query, {e.antecedent, e.antecedent + 1}};
///     }));
class HeldOut {
 public:
  /// Takes `most` of `examples`, evenly from first to last, since files are often sorted by kind, and one more where a pair would be
  /// parted. `model` must live as long as this. Throws Error when the model cannot read them.
  HeldOut(const Model& model, const std::vector<Example>& examples, std::size_t most,
          const Communicator& processes = {});

  /// Returns the sentences. The index of a counterpart is one more or one less than that of its sentence.
  const std::vector<Example>& sentences() const { return sentences_; }
  /// Returns the number of the observation that the sentence belongs to, as observations_of() does for all `examples`.
  int group(std::size_t sentence) const { return groups_[sentence]; }

  /// The answer to one sentence.
  struct Answer {
    double probability;  ///< of the right answer
    int word;            ///< the predicted word
  };

  /// Returns the answers with nothing changed, or while an intervention holds. Throws NotFinite where they are infinite or NaN.
  std::vector<Answer> answers() const;
  std::vector<Answer> answers(const InterventionOf& intervention) const;  ///< while it holds
  /// Returns the answers while each of `interventions` holds. The processes share these out, and all get the answers. The
  /// threads of a process share its part. The layers before an intervention are computed once for all. Calls `begin` before
  /// each intervention of this process, on any thread, one call at a time.
  std::vector<std::vector<Answer>> answers(const std::vector<InterventionOf>& interventions,
                                           const std::function<void()>& begin = {}) const;

  /// Throws Error when another process has other answers: another model, other sentences or another build of heed.
  void check_same_on_all(const std::vector<Answer>& answers) const;

  /// Receives a value of attention ("weights", "heads") of one layer. Its row b belongs to sentence `first` + b.
  using Watch = std::function<void(int layer, const Tensor& value, std::size_t first)>;
  /// Returns the answers with nothing changed, and shows the weights and the head outputs of each layer.
  std::vector<Answer> answers(const Watch& weights, const Watch& head_outputs) const;

  /// Returns the number of layers of the model.
  int layers() const { return model_.layers(); }
  /// Returns the number of heads per layer.
  int heads() const { return model_.heads(); }
  int right(std::size_t sentence) const { return right_[sentence]; }  ///< the word that is the answer
  /// Returns whether an answer to a sentence of a pair becomes that of the counterpart: it was another one before.
  bool flips(std::size_t sentence, const Answer& before, const Answer& after) const {
    return after.word == right_[sentence ^ 1] && before.word != after.word;
  }

 private:
  // Returns the logits of one batch, whose first sentence is `first`; computes `from` that layer on, where it is given.
  using Read = std::function<Tensor(const Batch& batch, std::size_t first, const std::optional<LayerInput>& from)>;
  using Inputs = std::vector<std::vector<Tensor>>;  // of layers, per batch
  std::vector<Answer> read(const Read& logits_of, const Inputs& inputs = {}, int layer = 0) const;
  std::vector<Answer> answers_from(const Inputs& inputs, int layer, const InterventionOf& intervention) const;
  Inputs inputs_of(const std::set<int>& layers) const;
  int layer_of(const InterventionOf& intervention) const;
  bool threads_share_interventions() const;

  const Model& model_;
  std::vector<Example> sentences_;
  std::vector<int> right_, groups_;
  std::vector<Batch> batches_;
  Communicator processes_;
};

/// Interventions on every sentence: cut(), zero_weight() and keep_only() of its edge, patch() from its counterpart.
InterventionOf cut_in_each(Heads heads, EdgeOf edge_of);
InterventionOf zero_weight_in_each(Heads heads, EdgeOf edge_of);  ///< zero_weight() of each edge
InterventionOf keep_only_in_each(Heads heads, EdgeOf edge_of);    ///< keep_only() of each edge
InterventionOf patch_from_counterparts(Heads heads);              ///< patch() from each counterpart

/// Returns a number per sentence. It is the same for sentences whose answers are not independent: both of a minimal pair, and
/// repetitions, which ask the same of the same tokens.
std::vector<int> observations_of(const std::vector<Example>& sentences);

/// Returns the accuracy of a fair choice among the candidates: 1/2 when each sentence has an antecedent and a distractor, else
/// NaN, unknown.
double fair_choice(std::span<const Example> sentences);

/// Returns a number per sentence: equal ones for sentences with the same right answer.
std::vector<int> numbered_answers(std::span<const Example> sentences);

/// Returns the chance level of sentences, from both.
Chance chance_of(std::span<const Example> sentences);

/// Throws Error when another process has other `sentences`, or another model or build of heed that reads the first of them
/// otherwise.
void check_same_on_all(const Communicator& processes, const Model& model, const std::vector<Example>& sentences);

/// Returns the number of tokens from the query back, or on, to the nearest token of `span`; 0 where it covers the query.
int distance_to_query(const Example& sentence, Span span);

/// Removes the sentences that are longer than `model` can read, and returns their number.
std::size_t leave_out_long(const Model& model, std::vector<Example>& sentences);

/// Returns the number of tokens of the longest sentence.
std::size_t longest(const std::vector<Example>& sentences);

/// Returns `most`, or when that is 0, how many sentences a model can read `passes` times in about a minute on one core (10^12
/// multiplications and additions), and at least 100.
std::size_t sentences_to_use(int most, const TransformerConfig& config, const std::vector<Example>& sentences,
                             double passes);

}  // namespace heed
