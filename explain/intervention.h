#pragma once
#include <heed/data/task.h>
#include <heed/explain/trace.h>

#include <functional>
#include <span>
#include <vector>

namespace heed {

/// One head of a layer, from 0; head -1: every head of the layer; layer -1: the heads of every layer.
struct Heads {
  int layer = 0, head = -1;
};

/// Throws `Error` that begins with `where` for a layer or head (from 0) that a model of `layers` layers with `heads` heads lacks.
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

/// A change of a model's attention while it answers. Everything behind the change is computed from it.
///
///     const Edge edge{example.query, {1, 2}};
///     const Tensor before = model.logits(asked);                                  // (1, answers)
///     const Tensor after = logits_under({cut({1, 0}, edge)}, model, asked);       // layer 2 head 1 cannot see token 1
///     const Trace zeroed = trace(model, asked, {ablate({1, 0})});
///     const Tensor patched = logits_under({patch({1, 0}, trace(model, other))}, model, asked);
class Intervention {
 public:
  /// Replaces a value (B, heads, T, n) of one layer.
  using Change = std::function<void(int layer, Tensor& value)>;
  /// The value of attention that changes: before the softmax, after it, or after the product with the values.
  enum class Value { scores, weights, head_output };

  Intervention(Heads heads, Value value, Change change);  ///< changes `value` in `heads`

  /// Returns the heads that change.
  const Heads& heads() const { return heads_; }
  /// Returns the value that changes.
  Value value() const { return value_; }
  /// Changes the value of one layer.
  void apply(int layer, Tensor& shown) const { change_(layer, shown); }

 private:
  Heads heads_;
  Value value_;
  Change change_;
};

/// Zero ablation: the heads give 0 at every token.
Intervention ablate(Heads heads);

/// Mean ablation: the heads give `mean` at the token `queries[b]` of text b and at its other tokens.
Intervention ablate(Heads heads, const MeanOutput& mean, const std::vector<int>& queries);

/// Attention knockout (Geva et al. 2023, arXiv:2304.14767): the query of the edge does not see its keys, and the other keys share
/// their weight. Takes one edge per text, or one for all.
Intervention cut(Heads heads, std::span<const Edge> edges);
Intervention cut(Heads heads, const Edge& edge);  ///< of one edge for all texts

/// Sets the weight of the edge to 0 after the softmax. The other keys keep their weights, so those of the query add up to less
/// than 1, and the head's output lacks what these keys bring. Takes one edge per text, or one for all.
Intervention zero_weight(Heads heads, std::span<const Edge> edges);
Intervention zero_weight(Heads heads, const Edge& edge);  ///< of one edge for all texts

/// The query of the edge sees its keys alone.
Intervention keep_only(Heads heads, std::span<const Edge> edges);
Intervention keep_only(Heads heads, const Edge& edge);  ///< of one edge for all texts

/// Activation patching (Meng et al. 2022, arXiv:2202.05262): the heads give what they gave in the trace `from`, of as many texts
/// of the same length.
Intervention patch(Heads heads, const Trace& from);

/// Activation patching within one batch: in text b the heads give what they give in text `from[b]`; -1: text b is not
/// changed.
Intervention patch(Heads heads, const std::vector<int>& from);

/// Makes the intervention in one text of a batch only: a batch of copies of a text answers under many interventions at once.
Intervention in_text(int text, const Intervention& intervention);

/// Returns Model::logits() while the interventions hold. Each sees the result of those before it. With `from`, begins with that
/// layer.
Tensor logits_under(const std::vector<Intervention>& interventions, const Model& model, const Batch& batch,
                    const std::optional<LayerInput>& from = {});
/// Keeps every intermediate value, as trace() does, while the interventions hold.
Trace trace(const Model& model, const Batch& batch, const std::vector<Intervention>& interventions);

}  // namespace heed
