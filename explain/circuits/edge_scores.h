#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/explain/circuits/edge_patching.h>
#include <heed/explain/progress.h>

#include <functional>

namespace heed {

/// How the effect of an edge is found.
enum class ScoreMethod {
  eap,       ///< edge attribution patching: one gradient (Syed et al. 2023, arXiv:2310.10348)
  eap_ig,    ///< with integrated gradients: the mean over several inputs (Hanna et al. 2024, arXiv:2403.17806)
  deeplift,  ///< mean slopes between the corrupted and the clean text (Shrikumar et al. 2017, arXiv:1704.02685)
  exact      ///< activation patching of each edge alone: a run per edge
};
template <>
inline constexpr EnumName<ScoreMethod> enum_names<ScoreMethod>[] = {{ScoreMethod::eap, "eap"},
                                                                    {ScoreMethod::eap_ig, "eap_ig"},
                                                                    {ScoreMethod::deeplift, "deeplift"},
                                                                    {ScoreMethod::exact, "exact"}};

/// Maps logits (B, answers) to a figure for each text, (B), by operations that can be differentiated: log_odds().
using PairMeasure = std::function<Tensor(const Tensor& logits)>;

/// The default number of inputs of ScoreMethod::eap_ig.
constexpr int default_ig_steps = 5;

/// Returns the effect of each edge on each pair of texts, (B, edges) float64: the measure with all edges kept, minus the measure
/// when this edge alone carries the corrupted output. A positive edge speaks for the answer.
///
///     const Tensor effects = edge_scores(patching, [&](const Tensor& logits) { return log_odds(logits, batch); });
///
/// `exact` measures it. `eap` estimates it by the gradient of the measure with respect to what the input reads, at the clean text,
/// times the difference that the node makes to it. `eap_ig` takes the mean gradient over `steps` texts whose embeddings lie on
/// the way from the corrupted to the clean one, k / steps for k from 1 to `steps`; with one step it is `eap`. `deeplift` takes mean
/// slopes between both texts in place of gradients: exactly those of products, softmax and activations, and of norms the mean of the
/// gradients at both. They do not vanish where a softmax is saturated at both ends. Where norms stand on the stream, the gradient goes
/// through them to the node's output. Throws `Error` for fewer than 1 step.
Tensor edge_scores(const EdgePatching& patching, const PairMeasure& measure, ScoreMethod method = ScoreMethod::deeplift,
                   int steps = default_ig_steps, const OnProgress& progress = {});

/// The estimates of both methods by gradients, from the same passes: (B, edges) each.
struct GradientScores {
  Tensor eap, eap_ig;
};
/// Returns edge_scores() by `eap` and by `eap_ig`.
GradientScores gradient_scores(const EdgePatching& patching, const PairMeasure& measure, int steps = default_ig_steps);

/// Returns the effect of each node, (B, sources), from that of its edges, (B, edges): their sum. For `eap` this is attribution
/// patching of the node's output (Nanda 2023), since a gradient is the sum over the inputs that read the output.
Tensor node_scores(const CircuitGraph& graph, const Tensor& edge_scores);

}  // namespace heed
