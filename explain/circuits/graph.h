#pragma once
#include <heed/models/model.h>

#include <string>
#include <vector>

namespace heed {

/// A part of a model that adds to the residual stream, or the logits, which read it at the end.
struct CircuitNode {
  /// The kind of a node.
  enum class Kind { embedding, head, mlp, logits } kind = Kind::embedding;
  int layer = -1;                                       ///< from 0; -1: none
  int head = -1;                                        ///< from 0; -1: none
  bool operator==(const CircuitNode&) const = default;  ///< compares every field
};

/// Nodes that add to the residual stream at one place: indices from `begin` to before `end`.
struct CircuitSources {
  int begin = 0, end = 0;
  /// Returns the number of nodes.
  int count() const { return end - begin; }
};

/// What a node reads from the residual stream: the queries of a head, the keys or the values of a key and value head, the input
/// of an MLP, or that of the logits.
struct CircuitInput {
  /// The kind of an input.
  enum class Kind { query, key, value, mlp, logits } kind = Kind::query;
  int layer = -1;  ///< from 0; -1: none
  int head = -1;   ///< from 0: of keys and values, where `kind` is one of these; -1: none
  /// Where the stream is read: 2 l before block l, 2 l + 1 behind its attention, 2 L at the end of L layers.
  int place = 0;
  std::vector<int> nodes{};  ///< indices of the nodes that read it: several heads share one of keys and values
  CircuitSources sources{};  ///< the nodes that it has an edge from
  int first_edge = 0;        ///< index of the edge from the first of them; the others follow
  /// Returns the index of the edge from a node. The node must be one of the sources.
  int edge_from(int node) const { return first_edge + node - sources.begin; }
  /// Returns the nodes that read it: several heads may share keys or values.
  std::vector<CircuitNode> readers() const;
};

/// What a node adds to the residual stream, as one input reads it: indices of CircuitGraph::nodes() and inputs().
struct CircuitEdge {
  int from = 0, to = 0;
};

/// The computation of a model as a graph (Elhage et al. 2021, "A mathematical framework for transformer circuits"): nodes add to
/// the residual stream, and inputs read it. All are in the order in which the model computes them.
///
///     const CircuitGraph graph(model);
///     fmt::print("{} edges, the first is {}\n", graph.edges().size(), graph.name(graph.edges()[0]));
class CircuitGraph {
 public:
  explicit CircuitGraph(const Model& model);  ///< of the model's layers

  const std::vector<CircuitNode>& nodes() const { return nodes_; }     ///< the embedding first, the logits last
  const std::vector<CircuitInput>& inputs() const { return inputs_; }  ///< the logits last
  const std::vector<CircuitEdge>& edges() const { return edges_; }     ///< by input, and for each input by node
  /// Returns the number of nodes that add to the stream: all but the logits.
  int sources() const { return static_cast<int>(nodes_.size()) - 1; }
  /// Returns the index of a node. Throws `Error` when the model does not have it.
  int node(const CircuitNode& node) const;
  /// Returns the index of the edge from a node to an input of `kind`, of a layer and head. Throws `Error` when there is none.
  int edge(const CircuitNode& from, CircuitInput::Kind kind, int layer = -1, int head = -1) const;

  /// Returns the index of the first head of a layer.
  int first_head(int layer) const { return first_heads_[static_cast<std::size_t>(layer)]; }
  /// Returns the index of the first input of a layer; the number of layers stands for the logits.
  int first_input(int layer) const { return first_inputs_[static_cast<std::size_t>(layer)]; }
  /// Returns the nodes that add to the stream at a place (CircuitInput::place). Without a residual in the last layer, those before
  /// its heads do not add to what comes behind its attention.
  CircuitSources sources_at(int place) const { return places_[static_cast<std::size_t>(place)]; }
  /// Returns the number of layers.
  int layers() const { return static_cast<int>(first_heads_.size()); }

  /// Return names for people, with layers and heads from 1: "embedding", "layer 1 head 2", "layer 2 head 1 key", "layer 1 MLP",
  /// "logits", "layer 1 head 2 -> layer 2 head 1 key".
  std::string name(const CircuitNode& node) const;
  std::string name(const CircuitInput& input) const;  ///< of an input
  std::string name(const CircuitEdge& edge) const;    ///< of an edge

  /// Returns the edges of `kept` that lie on a path of kept edges from the embedding to the logits. The others change nothing:
  /// where a node reads corrupted outputs alone, its output is the corrupted one, too. One flag per edge.
  std::vector<bool> on_paths(const std::vector<bool>& kept) const;

 private:
  void add(CircuitInput input, CircuitSources sources);

  std::vector<CircuitNode> nodes_;
  std::vector<CircuitInput> inputs_;
  std::vector<CircuitEdge> edges_;
  std::vector<CircuitSources> places_;
  std::vector<int> first_heads_, first_inputs_;
  bool shares_keys_ = false;  // whether several heads read one head of keys
};

}  // namespace heed
