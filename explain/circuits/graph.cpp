#include <heed/explain/circuits/graph.h>

#include <algorithm>
#include <array>

namespace heed {
namespace {

using InputKind = CircuitInput::Kind;
using NodeKind = CircuitNode::Kind;

// "layer 2 head 1", or "layer 2" without a head.
std::string place_name(int layer, int head) {
  std::string text = fmt::format("layer {}", layer + 1);
  if (head >= 0) text += fmt::format(" head {}", head + 1);
  return text;
}

}  // namespace

std::vector<CircuitNode> CircuitInput::readers() const {
  if (kind == Kind::logits) return {{NodeKind::logits, -1, -1}};
  if (kind == Kind::mlp) return {{NodeKind::mlp, layer, -1}};
  std::vector<CircuitNode> heads;
  const int shared_by = static_cast<int>(nodes.size());
  for (int i = 0; i < shared_by; ++i) heads.push_back({NodeKind::head, layer, head * shared_by + i});
  return heads;
}

CircuitGraph::CircuitGraph(const Model& model) {
  const Transformer& transformer = model.transformer();
  nodes_.push_back({});
  int first_source = 0;
  const auto reach_place = [&] { places_.push_back({first_source, static_cast<int>(nodes_.size())}); };
  for (int layer = 0; layer < std::ssize(transformer.blocks); ++layer) {
    const TransformerBlock& block = transformer.blocks[static_cast<std::size_t>(layer)];
    const AttentionConfig& attention = block.attention.config;
    const int first_head = static_cast<int>(nodes_.size()), mlp = first_head + attention.heads;
    first_heads_.push_back(first_head);
    first_inputs_.push_back(static_cast<int>(inputs_.size()));
    const auto add_of_heads = [&](InputKind kind, int count) {
      const int shared_by = attention.heads / count;
      shares_keys_ = shares_keys_ || shared_by > 1;
      for (int i = 0; i < count; ++i) {
        CircuitInput input{.kind = kind, .layer = layer, .head = i};
        for (int n = 0; n < shared_by; ++n) input.nodes.push_back(first_head + i * shared_by + n);
        add(std::move(input), places_.back());
      }
    };
    const auto add_of_mlp = [&] { add({.kind = InputKind::mlp, .layer = layer, .nodes = {mlp}}, places_.back()); };
    reach_place();
    add_of_heads(InputKind::query, attention.heads);
    add_of_heads(InputKind::key, attention.kv_heads);
    add_of_heads(InputKind::value, attention.kv_heads);
    if (block.mlp && block.config.parallel) add_of_mlp();
    for (int head = 0; head < attention.heads; ++head) nodes_.push_back({NodeKind::head, layer, head});
    if (!block.residual) first_source = first_head;
    reach_place();
    if (!block.mlp) continue;
    if (!block.config.parallel) add_of_mlp();
    nodes_.push_back({NodeKind::mlp, layer, -1});
  }
  reach_place();
  first_inputs_.push_back(static_cast<int>(inputs_.size()));
  CircuitSources sources = places_.back();
  if (model.head().chooses_candidates()) sources.begin = 0;  // they are compared with the input of the last layer, too
  add({.kind = InputKind::logits, .nodes = {static_cast<int>(nodes_.size())}}, sources);
  nodes_.push_back({NodeKind::logits, -1, -1});
}

// Adds an input that reads `sources` at the last place.
void CircuitGraph::add(CircuitInput input, CircuitSources sources) {
  input.place = static_cast<int>(places_.size()) - 1;
  input.sources = sources;
  input.first_edge = static_cast<int>(edges_.size());
  const int to = static_cast<int>(inputs_.size());
  for (int node = input.sources.begin; node < input.sources.end; ++node) edges_.push_back({node, to});
  inputs_.push_back(std::move(input));
}

int CircuitGraph::node(const CircuitNode& node) const {
  const auto found = std::ranges::find(nodes_, node);
  if (found == nodes_.end()) fail("CircuitGraph: the model has no {}", name(node));
  return static_cast<int>(found - nodes_.begin());
}

int CircuitGraph::edge(const CircuitNode& from, InputKind kind, int layer, int head) const {
  const int source = node(from);
  for (const CircuitInput& input : inputs_) {
    if (input.kind != kind || input.layer != layer || input.head != head) continue;
    if (source < input.sources.begin || source >= input.sources.end) break;
    return input.edge_from(source);
  }
  fail("CircuitGraph: the model has no edge {} -> {}", name(from),
       name(CircuitInput{.kind = kind, .layer = layer, .head = head}));
}

std::string CircuitGraph::name(const CircuitNode& node) const {
  switch (node.kind) {
    case NodeKind::embedding:
      return "embedding";
    case NodeKind::head:
      return place_name(node.layer, node.head);
    case NodeKind::mlp:
      return place_name(node.layer, -1) + " MLP";
    case NodeKind::logits:
      break;
  }
  return "logits";
}

std::string CircuitGraph::name(const CircuitInput& input) const {
  if (input.kind == InputKind::logits) return "logits";
  if (input.kind == InputKind::mlp) return place_name(input.layer, -1) + " MLP";
  if (input.kind == InputKind::query) return place_name(input.layer, input.head) + " query";
  const char* const what = input.kind == InputKind::key ? "key" : "value";
  if (!shares_keys_) return place_name(input.layer, input.head) + " " + what;
  return fmt::format("layer {} {} head {}", input.layer + 1, what, input.head + 1);
}

std::string CircuitGraph::name(const CircuitEdge& edge) const {
  return name(nodes_[static_cast<std::size_t>(edge.from)]) + " -> " + name(inputs_[static_cast<std::size_t>(edge.to)]);
}

std::vector<bool> CircuitGraph::on_paths(const std::vector<bool>& kept) const {
  if (kept.size() != edges_.size()) {
    fail("CircuitGraph::on_paths: expected {}, got {}", counted(edges_.size(), "flag"), kept.size());
  }
  std::vector<bool> from_embedding(nodes_.size()), to_logits(nodes_.size()), result(edges_.size());
  from_embedding.front() = to_logits.back() = true;
  const auto each = [&](std::size_t edge, const auto& visit) {
    if (!kept[edge]) return;
    for (const int node : inputs_[static_cast<std::size_t>(edges_[edge].to)].nodes) {
      visit(static_cast<std::size_t>(edges_[edge].from), static_cast<std::size_t>(node));
    }
  };
  for (std::size_t edge = 0; edge < edges_.size(); ++edge) {
    each(edge,
         [&](std::size_t from, std::size_t to) { from_embedding[to] = from_embedding[to] || from_embedding[from]; });
  }
  for (std::size_t edge = edges_.size(); edge-- > 0;) {
    each(edge, [&](std::size_t from, std::size_t to) { to_logits[from] = to_logits[from] || to_logits[to]; });
  }
  for (std::size_t edge = 0; edge < edges_.size(); ++edge) {
    each(edge, [&](std::size_t from, std::size_t to) {
      result[edge] = result[edge] || (from_embedding[from] && to_logits[to]);
    });
  }
  return result;
}

}  // namespace heed
