#include "formats/internal/config_json.h"
#include "tests/catch.h"
#include "tests/models/random_models.h"

#include <heed/explain/circuits/edge_patching.h>
#include <heed/nn/head_inputs.h>

#include <cmath>

using namespace heed;

namespace {

constexpr int words = 14;

double distance(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }

// Computes EdgePatching::logits by its definition: each input adds up the outputs that its own edges bring.
class Reference {
 public:
  Reference(const Model& model, const CircuitGraph& graph, const Batch& clean, const Batch& corrupted)
      : model_(model), graph_(graph), texts_(clean), other_(EdgePatching(model, graph, corrupted, corrupted).clean()) {}

  Tensor logits(const std::vector<bool>& kept) {
    const Transformer& t = model_.transformer();
    each_.clear();
    each_.push_back(t.embed(texts_));
    for (int layer = 0; layer < graph_.layers(); ++layer) {
      const TransformerBlock& block = t.blocks[static_cast<std::size_t>(layer)];
      const AttentionConfig& config = block.attention.config;
      std::vector<Tensor> read;
      Tensor mlp;
      int i = graph_.first_input(layer);
      for (int n = 0; n < config.heads + 2 * config.kv_heads; ++n)
        read.push_back(block.attention_norms.of_input(stream(kept, i++, 2 * layer)));
      const auto part = [&](int begin, int count) {
        return stack({read.begin() + begin, read.begin() + begin + count});
      };
      const HeadInputs inputs{part(0, config.heads), part(config.heads, config.kv_heads),
                              part(config.heads + config.kv_heads, config.kv_heads)};
      const Tensor z = weighted_values(block.attention, inputs, t.mask_of(texts_));
      if (block.mlp && block.config.parallel) mlp = (*block.mlp)(block.mlp_norms->of_input(stream(kept, i, 2 * layer)));
      for (int h = 0; h < config.heads; ++h) each_.push_back(head_outputs(block.attention, z)[h]);
      if (!block.mlp) continue;
      if (!mlp.defined()) mlp = (*block.mlp)(block.mlp_norms->of_input(stream(kept, i, 2 * layer + 1)));
      each_.push_back(mlp);
    }
    const int L = graph_.layers(), last = graph_.first_input(L);
    Hidden hidden{.output = select_rows(stream(kept, last, 2 * L), texts_.query), .weights = {}};
    if (t.final_norm) hidden.output = (*t.final_norm)(hidden.output);
    if (model_.head().chooses_candidates()) hidden.last_input = stream(kept, last, 2 * L - 2);
    return model_.head().answer_logits(hidden, texts_.candidates);
  }

 private:
  Tensor stream(const std::vector<bool>& kept, int input, int place) const {
    const CircuitInput& to = graph_.inputs()[static_cast<std::size_t>(input)];
    const auto output = [&](int node) {
      const bool is_source = node >= to.sources.begin;
      const bool is_kept = !is_source || kept[static_cast<std::size_t>(to.edge_from(node))];
      return is_kept ? each_[static_cast<std::size_t>(node)] : other_.each[node];
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
  NodeOutputs other_;
  std::vector<Tensor> each_;
};

struct Case {
  Model model;
  Batch clean, corrupted;
  CircuitGraph graph;
  explicit Case(RandomConfig& draw, int seed)
      : model(in_float64(shaken(draw(words)))),
        clean(random_batch(words, Random(static_cast<std::uint64_t>(seed)))),
        corrupted(random_batch(words, Random(static_cast<std::uint64_t>(seed) + 1000))),
        graph(model) {
    corrupted.candidates = clean.candidates;
  }

 private:
  static Model shaken(const ModelConfig& config) {
    Model model(config);
    shake_all(model.parameters);
    return model;
  }
};

}  // namespace

TEST_CASE("EdgePatching with all edges, none or some, for random configurations") {
  RandomConfig draw(11);
  for (int i = 0; i < 150; ++i) {
    const Case made(draw, i);
    CAPTURE(i, format_json(to_json(made.model.config())));
    const EdgePatching patching(made.model, made.graph, made.clean, made.corrupted);
    const Tensor clean = made.model.logits(made.clean), corrupted = made.model.logits(made.corrupted);
    CHECK(distance(patching.clean().logits, clean) < 1e-9);
    CHECK(distance(patching.corrupted().logits, corrupted) < 1e-9);
    std::vector<bool> kept(made.graph.edges().size(), true);
    CHECK(distance(patching.logits(kept), clean) < 1e-9);
    kept.assign(kept.size(), false);
    CHECK(distance(patching.logits(kept), corrupted) < 1e-6);
    Reference reference(made.model, made.graph, made.clean, made.corrupted);
    Random random = Random(static_cast<std::uint64_t>(i)).stream("edges");
    for (int repeat = 0; repeat < 3; ++repeat) {
      for (std::size_t e = 0; e < kept.size(); ++e) kept[e] = random.below(3) > 0;
      CHECK(distance(patching.logits(kept), reference.logits(kept)) < 1e-6);
    }
    for (int repeat = 0; repeat < 3; ++repeat) {  // one edge alone
      kept.assign(kept.size(), true);
      kept[static_cast<std::size_t>(random.below(std::ssize(kept)))] = false;
      CHECK(distance(patching.logits(kept), reference.logits(kept)) < 1e-6);
    }
    for (std::size_t e = 0; e < kept.size(); ++e) kept[e] = random.below(4) == 0;  // edges on no path change nothing
    const std::vector<bool> on_paths = made.graph.on_paths(kept);
    CHECK(distance(patching.logits(kept), patching.logits(on_paths)) < 1e-6);
  }
}
