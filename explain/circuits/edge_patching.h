#pragma once
#include <heed/explain/circuits/graph.h>
#include <heed/nn/head_inputs.h>

#include <span>
#include <vector>

namespace heed {

/// Outputs of all nodes of a model for one batch of texts, at T tokens from EdgePatching::first_token() on.
struct NodeOutputs {
  Tensor each;                      ///< (sources, B, T, d_model), in the order of CircuitGraph::nodes()
  std::vector<Tensor> attention{};  ///< per layer (B, T, d_model): all heads, and the bias of W_O
  Tensor logits{};                  ///< (B, answers)
};

/// Runs a model on clean texts while some edges carry what they carry in corrupted texts of the same length (path patching;
/// Wang et al. 2022, arXiv:2211.00593, and Goldowsky-Dill et al. 2023, arXiv:2304.05969). Not recorded.
///
///     const CircuitGraph graph(model);
///     const EdgePatching patching(model, graph, clean, corrupted);
///     std::vector<bool> kept(graph.edges().size(), true);
///     kept[graph.edge({}, CircuitInput::Kind::query, 1, 0)] = false;
///     const Tensor logits = patching.logits(kept);   // (B, answers); of all edges: clean().logits, of none: corrupted().logits
///
/// An input reads the stream that follows from the outputs of the nodes: their sum, with the norms, scales and residuals that
/// the model has between them. Where its edge from a node is not kept, the node's output in that sum is the one of the corrupted
/// text. Each node computes its output from its own inputs, so a change passes on along the edges that are kept. In a causal model
/// no edge changes anything before the first token that differs: those tokens are computed once.
class EdgePatching {
 public:
  /// Runs both batches, which have questions. All must outlive this object. A model that answers with words computes the
  /// logits of `words` (n), by default of all. Throws `Error` for texts of different lengths.
  EdgePatching(const Model& model, const CircuitGraph& graph, const Batch& clean, const Batch& corrupted,
               const Ids& words = {});

  /// Returns the logits when the edges `kept` carry the outputs of this run, and the others those of the corrupted text. One flag
  /// per edge.
  Tensor logits(const std::vector<bool>& kept) const;
  /// Returns the logits when the share `corrupted` of each output that an edge carries is the corrupted text's: 0 as if kept, 1 as
  /// if not, and between both a mixture.
  Tensor logits(std::span<const double> corrupted) const;

  const NodeOutputs& clean() const { return clean_; }          ///< with all edges kept
  const NodeOutputs& corrupted() const { return corrupted_; }  ///< with none kept
  /// Returns corrupted minus clean outputs (sources, B, T, d_model), times residual_scale where the stream is linear in them.
  const Tensor& change() const { return change_; }
  /// Returns the residual stream of the corrupted text at each place (CircuitInput::place): (B, T, d_model) each.
  const std::vector<Tensor>& corrupted_streams() const { return corrupted_streams_; }
  const Model& model() const { return model_; }                ///< the model
  const CircuitGraph& graph() const { return graph_; }         ///< its graph
  const Ids& candidates() const { return texts_.candidates; }  ///< of the clean texts
  /// Returns the token from which on outputs are computed: 0 unless the model is causal and both texts begin alike.
  std::int64_t first_token() const { return first_token_; }
  /// Returns the token of each question, counted from first_token().
  const Ids& queries() const { return queries_; }
  const Mask& mask() const { return mask_; }  ///< the mask of the texts
  /// Returns the keys and values of a layer at the tokens before first_token().
  const EarlierTokens& earlier(int layer) const { return earlier_[static_cast<std::size_t>(layer)]; }
  const Ids& words() const { return words_; }  ///< that have logits; empty: all

 private:
  struct Run;
  struct LayerOutputs;
  void find_first_token(const Tensor& clean, const Tensor& corrupted);
  LayerOutputs outputs_of_layer(int layer, const Tensor& x) const;
  NodeOutputs outputs_of(Tensor x, std::vector<Tensor>& streams) const;
  Run begin_run(std::span<const double> corrupted) const;
  void run_layer(Run& run, int layer) const;
  Tensor inputs_at(const Run& run, int place, int first, int count) const;
  Tensor summed_at(const Run& run, int place, int first, int count) const;
  std::vector<double> weights_of(const Run& run, CircuitSources sources, int first, int count) const;
  bool reads_corrupted(const Run& run, int first, int count) const;
  Tensor changed(const Run& run, CircuitSources sources, int first, int count) const;
  Tensor logits_of(const Tensor& states, const Tensor& last_input) const;

  const Model& model_;
  const CircuitGraph& graph_;
  const Batch& texts_;
  Ids words_;
  Mask mask_;
  std::int64_t first_token_ = 0;
  Ids queries_;
  std::vector<EarlierTokens> earlier_;  // of each layer
  bool is_linear_;                      // the stream in the outputs
  NodeOutputs clean_, corrupted_;
  std::vector<Tensor> streams_, corrupted_streams_;  // at each place (B, T, d_model)
  Tensor change_;
};

/// Returns whether the residual stream is a sum of the nodes' outputs and constants: no norms stand on the stream, or between an
/// output and the stream.
bool has_linear_stream(const Transformer& transformer);

}  // namespace heed
