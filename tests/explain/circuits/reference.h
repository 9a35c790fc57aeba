#pragma once
#include "tests/models/random_models.h"

#include <heed/explain/circuits/edge_patching.h>
#include <heed/nn/head_inputs.h>

#include <functional>
#include <utility>
#include <vector>

namespace heed {

// Runs a model by the definition of EdgePatching: each input adds up what its own edges bring of the outputs of nodes.
class ReferenceRun {
 public:
  // Returns what an edge brings of the output of its node.
  using Bring = std::function<Tensor(std::size_t edge, int node, const Tensor& output)>;

  ReferenceRun(const Model& model, const CircuitGraph& graph, const Batch& texts, Bring bring)
      : model_(model), graph_(graph), texts_(texts), bring_(std::move(bring)) {}

  Tensor logits(const Tensor& embedding) {
    const Transformer& t = model_.transformer();
    each_.push_back(embedding);
    for (int layer = 0; layer < graph_.layers(); ++layer) {
      const TransformerBlock& block = t.blocks[static_cast<std::size_t>(layer)];
      const AttentionConfig& config = block.attention.config;
      std::vector<Tensor> read;
      Tensor mlp;
      int i = graph_.first_input(layer);
      for (int n = 0; n < config.heads + 2 * config.kv_heads; ++n)
        read.push_back(block.attention_norms.of_input(stream(i++, 2 * layer)));
      const auto part = [&](int begin, int count) {
        return stack({read.begin() + begin, read.begin() + begin + count});
      };
      const HeadInputs inputs{part(0, config.heads), part(config.heads, config.kv_heads),
                              part(config.heads + config.kv_heads, config.kv_heads)};
      const Tensor z = weighted_values(block.attention, inputs, t.mask_of(texts_));
      if (block.mlp && block.config.parallel) mlp = (*block.mlp)(block.mlp_norms->of_input(stream(i, 2 * layer)));
      for (int h = 0; h < config.heads; ++h) each_.push_back(head_outputs(block.attention, z)[h]);
      if (!block.mlp) continue;
      if (!mlp.defined()) mlp = (*block.mlp)(block.mlp_norms->of_input(stream(i, 2 * layer + 1)));
      each_.push_back(mlp);
    }
    const int L = graph_.layers(), last = graph_.first_input(L);
    Hidden hidden{.output = select_rows(stream(last, 2 * L), texts_.query), .weights = {}};
    if (t.final_norm) hidden.output = (*t.final_norm)(hidden.output);
    if (model_.head().chooses_candidates()) hidden.last_input = stream(last, 2 * L - 2);
    return model_.head().answer_logits(hidden, texts_.candidates);
  }

 private:
  Tensor stream(int input, int place) const {
    const CircuitInput& to = graph_.inputs()[static_cast<std::size_t>(input)];
    const auto output = [&](int node) {
      const Tensor& own = each_[static_cast<std::size_t>(node)];
      return node < to.sources.begin ? own : bring_(static_cast<std::size_t>(to.edge_from(node)), node, own);
    };
    Tensor x = output(0);
    for (int layer = 0; 2 * layer < place; ++layer) {
      const TransformerBlock& block = model_.transformer().blocks[static_cast<std::size_t>(layer)];
      const int first = graph_.first_head(layer), H = block.attention.config.heads;
      Tensor heads = output(first);
      for (int h = 1; h < H; ++h) heads = heads + output(first + h);
      if (block.attention.W_O.bias.defined()) heads = heads + block.attention.W_O.bias;
      x = block.with_attention(x, heads);
      if (block.mlp && 2 * layer + 1 < place) x = block.with_mlp(x, output(first + H));
    }
    return x;
  }

  const Model& model_;
  const CircuitGraph& graph_;
  const Batch& texts_;
  Bring bring_;
  std::vector<Tensor> each_{};
};

// Puts the first tokens of `all` (B, T, d) before `outputs`, which EdgePatching computes from first_token() on.
inline Tensor behind_first_tokens(const Tensor& all, const Tensor& outputs) {
  return concat({slice(all, 1, 0, all.size(1) - outputs.size(1)), outputs}, 1);
}

// A random model in float64, and texts to read.
struct RandomCase {
  Model model;
  Batch clean, corrupted;
  CircuitGraph graph;
  explicit RandomCase(RandomConfig& draw, int seed)
      : model(in_float64(shaken(draw(14)))),
        clean(random_batch(model, Random(static_cast<std::uint64_t>(seed)))),
        corrupted(random_batch(model, Random(static_cast<std::uint64_t>(seed) + 1000))),
        graph(model) {
    corrupted.candidates = clean.candidates;
    const std::int64_t shared = seed % 3, T = clean.tokens.size(1);  // tokens with which both texts begin
    std::vector<std::int32_t> ids(corrupted.tokens.begin(), corrupted.tokens.end());
    for (std::int64_t i = 0; i < std::ssize(ids); ++i) {
      if (i % T < shared) ids[static_cast<std::size_t>(i)] = clean.tokens[i];
    }
    corrupted.tokens = Ids(clean.tokens.shape(), std::move(ids));
  }

 private:
  static Model shaken(const ModelConfig& config) {
    Model model(config);
    shake_all(model.parameters);
    return model;
  }
};

}  // namespace heed
