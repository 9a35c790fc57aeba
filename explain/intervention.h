#pragma once
#include <heed/autograd/random.h>
#include <heed/data/task.h>
#include <heed/explain/place.h>
#include <heed/explain/trace.h>
#include <heed/nn/hook.h>

#include <functional>
#include <span>
#include <vector>

namespace heed {

/// One head of a layer, from 0; head -1: every head of the layer; layer -1: the heads of every layer.
struct Heads {
  int layer = 0, head = -1;
};

/// Throws `Error` that begins with `where` for a layer or head (from 0) that a model of `layers` layers with `heads` heads does not have.
[[noreturn]] void no_such_head(const char* where, int layer, int head, int layers, int heads);

/// The keys `to` that the query `from` sees. A text without such an edge has {-1, {}}, and is not changed.
struct Edge {
  int from = -1;
  Span to{};
  /// Returns whether the edge has a query and a key.
  bool exists() const { return from >= 0 && to.begin < to.end; }
};

/// The mean output of the heads of a layer, at the queries of texts and at their other tokens: (heads, d_v) each.
struct MeanOutput {
  std::vector<double> at_query, elsewhere;
};

/// A change of values while a model answers. Everything behind the change is computed from it.
///
///     const Place mlp = Place::mlp_output(2);
///     const Tensor before = model.logits(asked);                                            // (1, answers)
///     const Tensor after = logits_under({ablate(mlp.at(5))}, model, asked);                 // that MLP adds 0 at token 5
///     const Tensor patched = logits_under({patch(mlp, trace(model, other))}, model, asked); // it adds what it adds to another text
///     const Trace changed = trace(model, asked, {ablate(mlp), steer(Place::residual(3), direction, 4)});
///     const Hook hook = intervene(model, {replace(mlp, [](const Tensor& x) { return x * 2; })});
///     generate(model, {.prompt = "The animal"}, write);                                     // while the hook is open
///
/// Values change in the order in which the model computes them. At one place, each intervention sees the result of those before it.
/// Gradients flow through the replacements and what they are computed from.
class Intervention {
 public:
  /// Changes the value of one layer, or replaces it.
  using Change = std::function<void(int layer, Tensor& value)>;

  Intervention(Place place, Change change);  ///< `change` leaves all values outside of the place as they are

  /// Returns the place whose values change.
  const Place& place() const { return place_; }
  /// Changes the value of one layer.
  void apply(int layer, Tensor& value) const { change_(layer, value); }

 private:
  Place place_;
  Change change_;
};

/// Zero ablation: the values are 0.
Intervention ablate(Place place);
Intervention ablate(Heads heads);  ///< of head outputs

/// Mean ablation: the values are `mean`, as mean_of() returns it, or any other tensor that broadcasts to those of a layer.
Intervention ablate(Place place, const Tensor& mean);

/// Mean ablation: the heads give `mean` at the token `queries[b]` of text b and at its other tokens.
Intervention ablate(Heads heads, const MeanOutput& mean, const std::vector<int>& queries);

/// Activation patching (Meng et al. 2022, arXiv:2202.05262): the values are those in the trace `from`, of as many texts of the same
/// length. With `texts`, those of text b are the ones of text `texts[b]` in the trace; -1: text b is not changed.
Intervention patch(Place place, const Trace& from, const std::vector<int>& texts = {});
Intervention patch(Heads heads, const Trace& from);  ///< of head outputs

/// Activation patching within one batch: in text b the values are those of text `from[b]`; -1: text b is not changed.
Intervention patch(Place place, const std::vector<int>& from);
Intervention patch(Heads heads, const std::vector<int>& from);  ///< of head outputs

/// Resampling ablation (Chan et al. 2022, "Causal scrubbing"): the values of each text are those of a text of `from` that `random`
/// draws, all texts being equally likely. Texts have the length of those in the trace. Interventions with equal `random` draw the
/// same texts.
Intervention resample(Place place, const Trace& from, const Random& random);

/// Activation steering (Turner et al. 2023, arXiv:2308.10248): adds `strength` times `direction`, (n) or any tensor that broadcasts to
/// the values of a layer.
Intervention steer(Place place, const Tensor& direction, double strength = 1);

/// Returns the new values of a layer for its values, which have all heads, tokens and features.
using Replacement = std::function<Tensor(const Tensor& value)>;
/// Replaces the values of the place by those of `replacement`, which returns a tensor of the same shape.
///
///     replace(Place::neurons(2, {17}).at(5), [](const Tensor& x) { return relu(x - 1); });
Intervention replace(Place place, Replacement replacement);

/// Attention knockout (Geva et al. 2023, arXiv:2304.14767): the query of the edge does not see its keys, and the other keys share
/// their weight. Takes one edge per text, or one for all.
Intervention cut(Heads heads, std::span<const Edge> edges);
Intervention cut(Heads heads, const Edge& edge);  ///< of one edge for all texts

/// Sets the weight of the edge to 0 after the softmax. The other keys keep their weights, so those of the query add up to less
/// than 1, and the head's output is without what these keys bring. Takes one edge per text, or one for all.
Intervention zero_weight(Heads heads, std::span<const Edge> edges);
Intervention zero_weight(Heads heads, const Edge& edge);  ///< of one edge for all texts

/// The query of the edge sees its keys alone.
Intervention keep_only(Heads heads, std::span<const Edge> edges);
Intervention keep_only(Heads heads, const Edge& edge);  ///< of one edge for all texts

/// Makes the intervention in one text of a batch only, as if it were the only one: a batch of copies of a text answers under many interventions at once.
Intervention in_text(int text, const Intervention& intervention);

/// Makes interventions hold for all that this thread does with the model while the hook is open: loss(), generate(), a training step.
/// Throws `Error` for a place that the model does not have.
[[nodiscard]] Hook intervene(const Model& model, const std::vector<Intervention>& interventions);

/// Returns Model::logits() while the interventions hold. With `from`, begins with that layer, whose input they may change. Throws
/// `Error` for a place that the model does not have or that lies before `from`.
Tensor logits_under(const std::vector<Intervention>& interventions, const Model& model, const Batch& batch,
                    const std::optional<LayerInput>& from = {});
/// Keeps every intermediate value, as trace() does, while the interventions hold.
Trace trace(const Model& model, const Batch& batch, const std::vector<Intervention>& interventions);

}  // namespace heed
