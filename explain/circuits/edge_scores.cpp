#include "explain/internal/secants.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/explain/circuits/edge_scores.h>
#include <heed/nn/head_inputs.h>

#include <algorithm>

namespace heed {
namespace {

// Returns the model with constant parameters in the same memory: backward then computes no gradients of weights.
Model with_constants(const Model& model) {
  Model result = model;
  result.parameters = {};
  const auto take = [&](const std::string& name, const Shape&) { return model.parameters[name].alias(); };
  const Embedding& words = *model.transformer().token_embedding;
  result.build(Scope(result.parameters, words.dtype, take), model.config());
  result.parameters.freeze("");
  return result;
}

// Which slopes a backward pass multiplies.
enum class Slopes {
  here,    // gradients
  between  // mean slopes between the corrupted and the clean text
};

// One forward and backward pass, and the products of its gradients with the changes of nodes.
class GradientPass {
 public:
  explicit GradientPass(const EdgePatching& patching, Slopes slopes = Slopes::here)
      : patching_(patching),
        takes_secants_(slopes == Slopes::between),
        graph_(patching.graph()),
        model_(with_constants(patching.model())),
        is_linear_(has_linear_stream(model_.transformer())) {
    const Tensor& change = patching.change();
    changes_ = contiguous(reshape(contiguous(permute(change, {1, 0, 2, 3})), {change.size(1), change.size(0), -1}));
  }

  // Returns the effects that the gradients at the embedding `x` estimate: (B, edges).
  Tensor scores(const Tensor& x, const PairMeasure& measure) {
    scores_ = zeros({x.size(0), std::ssize(graph_.edges())}, DType::float64);
    const Recording recording;
    const Tensor measured = measure(logits(x));
    backward(sum(measured), [&](const Tensor& variable, Tensor gradient) {
      for (Reading& reading : readings_) {
        if (!reading.shift.shares_storage(variable)) continue;
        reading.shift = {};
        if (is_linear_) {
          add(gradient, inputs_of(reading), graph_.sources_at(reading.place));
        } else {
          reading.gradient = std::move(gradient);
        }
        return;
      }
    });
    if (!is_linear_) pull_back();
    readings_.clear(), streams_.clear(), attention_.clear(), mlp_.clear();
    return scores_;
  }

 private:
  // `count` inputs from `first` on, which read the stream at one place. Their gradient is that of `shift`, which is 0.
  struct Reading {
    int first, count, place;
    Tensor shift, gradient{};
  };

  static std::vector<int> inputs_of(const Reading& reading) {
    std::vector<int> inputs;
    for (int i = 0; i < reading.count; ++i) inputs.push_back(reading.first + i);
    return inputs;
  }

  // Returns the stream x as `count` inputs read it: (count, B, T, d).
  Tensor read(const Tensor& x, int first, int count, int place) {
    const Tensor shift = variable(zeros({count, x.size(0), x.size(1), x.size(2)}, x.dtype()));
    readings_.push_back({first, count, place, shift});
    return shared_input(x, count) + shift;
  }

  // Returns the corrupted stream at a place as `count` inputs read it.
  Tensor corrupted_at(int place, int count) const {
    return shared_input(patching_.corrupted_streams()[static_cast<std::size_t>(place)], count);
  }

  // Returns the corrupted stream at a place, which changes with `x`.
  Tensor corrupted_with(const Tensor& x, int place) const { return corrupted_at(place, 1)[0] + change_of(x); }

  // Returns the stream behind an attention or an MLP, stream(x, part), where x is read at `place`.
  template <class Stream>
  Tensor behind(const Stream& stream, const Tensor& x, const Tensor& part, int place,
                const Tensor& corrupted_part) const {
    const Tensor here = stream(x, part);
    if (is_linear_ || !takes_secants_) return here;
    return mean_slope(here, stream(corrupted_with(x, place), corrupted_part + change_of(part)));
  }

  Tensor values_of(const TransformerBlock& block, const Tensor& x, int place) const {
    const EarlierTokens& earlier = patching_.earlier(place / 2);
    const int H = block.attention.config.heads, K = block.attention.config.kv_heads;
    const auto of_input = [&](const Tensor& stream) { return block.attention_norms.of_input(stream); };
    const auto inputs = [&](const Tensor& heads) {
      return HeadInputs{.queries = slice(heads, 0, 0, H),
                        .keys = slice(heads, 0, H, H + K),
                        .values = slice(heads, 0, H + K, H + 2 * K)};
    };
    if (!takes_secants_) return weighted_values(block.attention, inputs(of_input(x)), patching_.mask(), earlier);
    const Tensor y = corrupted_at(place, H + 2 * K), read = block.attention_norms.input ? secant(of_input, x, y) : x;
    return secant_values(block.attention, inputs(read), inputs(of_input(y)), patching_.mask(), earlier);
  }

  Tensor mlp_of(const TransformerBlock& block, const Tensor& x, int place) const {
    const auto of_input = [&](const Tensor& stream) { return block.mlp_norms->of_input(stream); };
    if (!takes_secants_) return (*block.mlp)(of_input(x));
    const Tensor y = corrupted_at(place, 1)[0];
    return secant_mlp(*block.mlp, block.mlp_norms->input ? secant(of_input, x, y) : x, of_input(y));
  }

  Tensor logits(Tensor x) {
    const Transformer& transformer = model_.transformer();
    const int L = graph_.layers();
    Tensor last_input;
    for (int layer = 0; layer < L; ++layer) {
      const TransformerBlock& block = transformer.blocks[static_cast<std::size_t>(layer)];
      const int H = block.attention.config.heads, K = block.attention.config.kv_heads, place = 2 * layer;
      const bool has_parallel_mlp = block.mlp && block.config.parallel;
      const int count = H + 2 * K + (has_parallel_mlp ? 1 : 0), first = graph_.first_input(layer);
      last_input = x;
      const Tensor each = read(x, first, count, place);
      const Tensor output = joined_output(block.attention, values_of(block, slice(each, 0, 0, H + 2 * K), place));
      const auto with_attention = [&](const Tensor& s, const Tensor& part) { return block.with_attention(s, part); };
      const NodeOutputs& corrupted = patching_.corrupted();
      const Tensor attended =
          behind(with_attention, x, output, place, corrupted.attention[static_cast<std::size_t>(layer)]);
      keep(x, attended, output);
      x = attended;
      if (!block.mlp) continue;
      const Tensor of_mlp = has_parallel_mlp ? each[H + 2 * K] : read(attended, first + count, 1, place + 1)[0];
      const Tensor added = mlp_of(block, of_mlp, has_parallel_mlp ? place : place + 1);
      if (!is_linear_) mlp_.back() = added.detach();
      const auto with_mlp = [&](const Tensor& s, const Tensor& part) { return block.with_mlp(s, part); };
      x = behind(with_mlp, attended, added, place + 1, corrupted.each[graph_.first_head(layer) + H]);
    }
    const int input = graph_.first_input(L);
    const OutputHead& head = model_.head();
    if (head.chooses_candidates()) last_input = read(last_input, input, 1, 2 * L - 2)[0];
    const auto answers = [&](const Tensor& states, const Tensor& layer_input) {
      const Tensor asked = select_rows(states, patching_.queries());
      const Hidden hidden{.output = transformer.final_norm ? (*transformer.final_norm)(asked) : asked,
                          .weights = {},
                          .last_input = layer_input};
      return head.answer_logits(hidden, patching_.candidates(), patching_.words());
    };
    const Tensor states = read(x, input, 1, 2 * L)[0], here = answers(states, last_input);
    if (!takes_secants_) return here;
    const Tensor of_candidates = last_input.defined() ? corrupted_with(last_input, 2 * L - 2) : last_input;
    return mean_slope(here, answers(corrupted_with(states, 2 * L), of_candidates));
  }

  void keep(const Tensor& x, const Tensor& attended, const Tensor& attention) {
    mlp_.emplace_back();
    if (is_linear_) return;
    streams_.push_back(x.detach());
    streams_.push_back(attended.detach());
    attention_.push_back(attention.detach());
  }

  // Adds to the scores what `gradients` (n, B, T, d), one for each of `inputs`, estimate of the edges from `sources`.
  void add(const Tensor& gradients, const std::vector<int>& inputs, CircuitSources sources) {
    const std::int64_t B = gradients.size(1), n = gradients.size(0);
    const Tensor by_text = reshape(contiguous(permute(gradients, {1, 0, 2, 3})), {B, n, -1});
    const Tensor products =
        contiguous(cast(matmul(by_text, transpose(slice(changes_, 1, sources.begin, sources.end))), DType::float64));
    const double* product = products.data<double>();
    double* const scores = scores_.mutable_data<double>();
    for (std::int64_t b = 0; b < B; ++b) {
      for (const int i : inputs) {
        const std::int64_t edge = graph_.inputs()[static_cast<std::size_t>(i)].edge_from(sources.begin);
        double* const row = scores + b * scores_.size(1) + edge;
        for (int source = 0; source < sources.count(); ++source) row[source] -= *product++;
      }
    }
  }

  // Takes the gradients of what inputs read back through the norms on the stream to the outputs of the nodes.
  void pull_back() {
    Tensor gradients;  // (n, B, T, d) at the place that is reached, of the n `inputs` behind it
    std::vector<int> inputs;
    const auto reach = [&](int place) {
      for (const Reading& reading : readings_) {
        if (reading.place != place || !reading.gradient.defined()) continue;
        gradients = gradients.defined() ? concat({gradients, reading.gradient}, 0) : reading.gradient;
        for (const int input : inputs_of(reading)) inputs.push_back(input);
      }
    };
    // Goes back through stream(x, part), and adds the scores of the nodes whose outputs are `part`.
    const auto go_back = [&](const auto& stream, int place, const Tensor& part, const Tensor& corrupted_part,
                             CircuitSources nodes) {
      if (!gradients.defined()) return;
      const std::int64_t n = gradients.size(0);
      const Tensor at = variable(contiguous(shared_input(streams_[static_cast<std::size_t>(place)], n)));
      const Tensor with = variable(contiguous(shared_input(part, n)));
      Tensor reached = stream(at, with);
      if (takes_secants_) {
        reached = mean_slope(reached, stream(corrupted_at(place, static_cast<int>(n)) + change_of(at),
                                             corrupted_part + change_of(with)));
      }
      const Gradients found = backward(reached, gradients);
      add(found[with], inputs, nodes);
      const Tensor* const earlier = found.find(at);
      gradients = earlier ? *earlier : Tensor();
      if (!earlier) inputs.clear();  // a layer without a residual
    };
    const NodeOutputs& corrupted = patching_.corrupted();
    reach(2 * graph_.layers());
    for (int layer = graph_.layers() - 1; layer >= 0; --layer) {
      const std::size_t l = static_cast<std::size_t>(layer);
      const TransformerBlock& block = model_.transformer().blocks[l];
      const int first_head = graph_.first_head(layer), mlp = first_head + block.attention.config.heads;
      if (block.mlp) {
        const auto with_mlp = [&](const Tensor& x, const Tensor& part) { return block.with_mlp(x, part); };
        go_back(with_mlp, 2 * layer + 1, mlp_[l], corrupted.each[mlp], {mlp, mlp + 1});
      }
      reach(2 * layer + 1);
      const auto with_attention = [&](const Tensor& x, const Tensor& part) { return block.with_attention(x, part); };
      go_back(with_attention, 2 * layer, attention_[l], corrupted.attention[l], {first_head, mlp});
      reach(2 * layer);
    }
    if (gradients.defined()) add(gradients, inputs, {0, 1});
  }

  const EdgePatching& patching_;
  bool takes_secants_;
  const CircuitGraph& graph_;
  Model model_;
  bool is_linear_;
  Tensor changes_;  // (B, sources, T d)
  Tensor scores_;
  std::vector<Reading> readings_{};
  std::vector<Tensor> streams_{}, attention_{}, mlp_{};  // of the pass, where the stream is not linear
};

Tensor exact_scores(const EdgePatching& patching, const PairMeasure& measure, const OnProgress& progress) {
  const NoRecording unrecorded;
  const std::size_t edges = patching.graph().edges().size();
  const Tensor clean = measure(patching.clean().logits);
  std::vector<double> corrupted(edges);
  std::vector<Tensor> columns;
  Passes passes("edges", static_cast<double>(edges), progress);
  for (std::size_t edge = 0; edge < edges; ++edge) {
    passes.next();
    corrupted[edge] = 1;
    columns.push_back((clean - measure(patching.logits(corrupted))).to(DType::float64));
    corrupted[edge] = 0;
  }
  return contiguous(stack(columns, 1));
}

}  // namespace

Tensor edge_scores(const EdgePatching& patching, const PairMeasure& measure, ScoreMethod method, int steps,
                   const OnProgress& progress) {
  if (method == ScoreMethod::exact) return exact_scores(patching, measure, progress);
  if (method == ScoreMethod::deeplift) {
    return GradientPass(patching, Slopes::between).scores(patching.clean().each[0], measure);
  }
  return gradient_scores(patching, measure, method == ScoreMethod::eap ? 1 : steps).eap_ig;
}

GradientScores gradient_scores(const EdgePatching& patching, const PairMeasure& measure, int steps) {
  if (steps < 1) fail("gradient_scores: expected at least 1 step, got {}", steps);
  GradientPass pass(patching);
  const Tensor clean = patching.clean().each[0], corrupted = patching.corrupted().each[0];
  GradientScores result;
  for (int k = steps; k >= 1; --k) {
    const double share = static_cast<double>(k) / steps;
    const Tensor x = k == steps ? clean : corrupted + (clean - corrupted) * share;
    const Tensor scores = pass.scores(x, measure);
    if (k == steps) result.eap = scores;
    result.eap_ig = k == steps ? scores / steps : result.eap_ig + scores / steps;
  }
  return result;
}

Tensor node_scores(const CircuitGraph& graph, const Tensor& edge_scores) {
  const std::int64_t E = std::ssize(graph.edges());
  if (edge_scores.rank() != 2 || edge_scores.size(1) != E) {
    fail("node_scores: expected scores of edges (B, {}), got {}", E, to_string(edge_scores.shape()));
  }
  const std::int64_t B = edge_scores.size(0), N = graph.sources();
  const std::vector<double> of_edges = edge_scores.to_vector();
  std::vector<double> of_nodes(static_cast<std::size_t>(B * N));
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t e = 0; e < E; ++e) {
      const int node = graph.edges()[static_cast<std::size_t>(e)].from;
      of_nodes[static_cast<std::size_t>(b * N + node)] += of_edges[static_cast<std::size_t>(b * E + e)];
    }
  }
  return tensor({B, N}, of_nodes, DType::float64);
}

}  // namespace heed
