#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/explain/circuits/edge_patching.h>
#include <heed/explain/pairs.h>
#include <heed/nn/head_inputs.h>

#include <algorithm>

namespace heed {
namespace {

// Rows [begin, end) of x along the first axis, as the rows of a matrix.
Tensor rows_of(const Tensor& x, int begin, int end) { return reshape(slice(x, 0, begin, end), {end - begin, -1}); }

// Rows [begin, end) of x, contiguous.
void write_rows(const Tensor& x, int begin, int end, const Tensor& values) {
  slice(x, 0, begin, end).copy_from(reshape(values, slice(x, 0, begin, end).shape()));
}

}  // namespace

bool has_linear_stream(const Transformer& transformer) {
  const auto has_norm = [](const TransformerBlock::Norms& norms) { return norms.output || norms.sum; };
  return std::ranges::none_of(transformer.blocks, [&](const TransformerBlock& block) {
    return has_norm(block.attention_norms) || (block.mlp_norms && has_norm(*block.mlp_norms));
  });
}

// A run: which edges it changes, and what it has computed so far.
struct EdgePatching::Run {
  std::span<const double> corrupted;       // a share per edge
  int first, last;                         // layers with changed edges; the number of layers stands for the logits
  Tensor change;                           // as change_, of this run's outputs
  std::vector<Tensor> streams, attention;  // at each place, and of each layer, while all edges of an input are kept
  std::vector<Tensor> mlp;                 // of each layer (B, T, d_model)
};

// The outputs of a layer whose inputs all read the stream.
struct EdgePatching::LayerOutputs {
  Tensor z, attention;      // the heads' weighted values, and the attention's output
  Tensor attended, stream;  // the stream behind the attention, and behind the layer
  Tensor mlp{};             // the output of the MLP, if there is one
};

EdgePatching::EdgePatching(const Model& model, const CircuitGraph& graph, const Batch& clean, const Batch& corrupted,
                           const Ids& words)
    : model_(model),
      graph_(graph),
      texts_(clean),
      words_(words),
      mask_(model.transformer().mask_of(clean)),
      queries_(clean.query),
      earlier_(static_cast<std::size_t>(graph.layers())),
      is_linear_(has_linear_stream(model.transformer())) {
  check_has_head(model);
  if (clean.tokens.shape() != corrupted.tokens.shape() || clean.lengths != corrupted.lengths) {
    fail("EdgePatching: expected corrupted texts of the same lengths as the clean ones {}, got {}",
         to_string(clean.tokens.shape()), to_string(corrupted.tokens.shape()));
  }
  if (clean.query.numel() != clean.size()) {
    fail("EdgePatching: expected a query in each of {}, got {}", counted(clean.size(), "text"), clean.query.numel());
  }
  const NoRecording unrecorded;
  const Tensor x = model.transformer().embed(clean), y = model.transformer().embed(corrupted);
  if (answers_from_earlier_tokens(model)) find_first_token(x, y);
  corrupted_ = outputs_of(slice(y, 1, first_token_, y.size(1)), corrupted_streams_);
  clean_ = outputs_of(slice(x, 1, first_token_, x.size(1)), streams_);
  change_ = corrupted_.each - clean_.each;
  for (int layer = 0; is_linear_ && layer < graph.layers(); ++layer) {
    const int begin = graph.first_head(layer), end = graph.sources_at(2 * layer + 2).end;
    const Linearised added = model.transformer().blocks[static_cast<std::size_t>(layer)].added_linearised();
    write_rows(change_, begin, end, added.linear(rows_of(change_, begin, end)));
  }
}

// Finds the first token at which the embeddings differ, or a question stands, and computes the keys and values before it.
void EdgePatching::find_first_token(const Tensor& clean, const Tensor& corrupted) {
  const std::vector<double> differences = max(abs(clean - corrupted), {0, 2}).to_vector();
  first_token_ = std::ranges::find_if(differences, [](double x) { return x != 0; }) - differences.begin();
  for (const int query : texts_.query) first_token_ = std::min<std::int64_t>(first_token_, query);
  if (first_token_ == 0) return;
  queries_ = texts_.query - static_cast<int>(first_token_);
  Tensor x = slice(clean, 1, 0, first_token_);
  for (std::size_t layer = 0; layer < earlier_.size(); ++layer) {
    const TransformerBlock& block = model_.transformer().blocks[layer];
    const Tensor read = block.attention_norms.of_input(x);
    earlier_[layer] = {.K = block.attention.keys_of(read), .V = block.attention.values_of(read)};
    x = block(x, mask_).output;
  }
}

EdgePatching::LayerOutputs EdgePatching::outputs_of_layer(int layer, const Tensor& x) const {
  const TransformerBlock& block = model_.transformer().blocks[static_cast<std::size_t>(layer)];
  const Tensor z = weighted_values(block.attention, block.attention_norms.of_input(x), mask_, earlier(layer));
  const Tensor attention = joined_output(block.attention, z), attended = block.with_attention(x, attention);
  if (!block.mlp) return {.z = z, .attention = attention, .attended = attended, .stream = attended};
  const Tensor mlp = (*block.mlp)(block.mlp_norms->of_input(block.config.parallel ? x : attended));
  return {.z = z, .attention = attention, .attended = attended, .stream = block.with_mlp(attended, mlp), .mlp = mlp};
}

// Runs the model from its embedding on, and adds the stream at each place to `streams`.
NodeOutputs EdgePatching::outputs_of(Tensor x, std::vector<Tensor>& streams) const {
  NodeOutputs result{.each = Tensor({graph_.sources(), x.size(0), x.size(1), x.size(2)}, x.dtype())};
  write_rows(result.each, 0, 1, x);
  Tensor last_input;
  for (int layer = 0; layer < graph_.layers(); ++layer) {
    const MultiHeadAttention& attention = model_.transformer().blocks[static_cast<std::size_t>(layer)].attention;
    const LayerOutputs outputs = outputs_of_layer(layer, x);
    const int first_head = graph_.first_head(layer), mlp = first_head + attention.config.heads;
    write_rows(result.each, first_head, mlp, head_outputs(attention, outputs.z));
    if (outputs.mlp.defined()) write_rows(result.each, mlp, mlp + 1, outputs.mlp);
    result.attention.push_back(outputs.attention);
    streams.push_back(x);
    streams.push_back(outputs.attended);
    last_input = x;
    x = outputs.stream;
  }
  streams.push_back(x);
  result.logits = logits_of(x, last_input);
  return result;
}

Tensor EdgePatching::logits_of(const Tensor& states, const Tensor& last_input) const {
  const Transformer& transformer = model_.transformer();
  const Tensor asked = select_rows(states, queries_);
  const Hidden hidden{.output = transformer.final_norm ? (*transformer.final_norm)(asked) : asked,
                      .weights = {},
                      .last_input = last_input};
  return model_.head().answer_logits(hidden, texts_.candidates, words_);
}

Tensor EdgePatching::logits(const std::vector<bool>& kept) const {
  std::vector<double> corrupted;
  for (const bool is_kept : kept) corrupted.push_back(is_kept ? 0 : 1);
  return logits(corrupted);
}

Tensor EdgePatching::logits(std::span<const double> corrupted) const {
  if (corrupted.size() != graph_.edges().size()) {
    fail("EdgePatching::logits: expected a value for each of {}, got {}", counted(graph_.edges().size(), "edge"),
         corrupted.size());
  }
  if (std::ranges::all_of(corrupted, [](double share) { return share == 1; })) return corrupted_.logits;
  const NoRecording unrecorded;
  const int L = graph_.layers();
  Run run = begin_run(corrupted);
  if (run.first > run.last) return clean_.logits;
  const int last_split = std::min(run.last, L - 1);
  for (int layer = run.first; layer <= last_split; ++layer) run_layer(run, layer);
  const std::size_t end = static_cast<std::size_t>(2 * L);
  Tensor last_input;
  if (run.last < L) {
    Tensor x = run.streams[static_cast<std::size_t>(2 * last_split + 2)];
    last_input = run.streams[static_cast<std::size_t>(2 * last_split)];
    for (int layer = last_split + 1; layer < L; ++layer) {
      last_input = x;
      x = outputs_of_layer(layer, x).stream;
    }
    return logits_of(x, last_input);
  }
  const int input = graph_.first_input(L);
  if (L > 0 && model_.head().chooses_candidates()) last_input = inputs_at(run, 2 * L - 2, input, 1)[0];
  return logits_of(inputs_at(run, static_cast<int>(end), input, 1)[0], last_input);
}

EdgePatching::Run EdgePatching::begin_run(std::span<const double> corrupted) const {
  const int L = graph_.layers();
  const auto is_changed = [&](int layer) {
    const auto& inputs = graph_.inputs();
    const std::size_t begin = static_cast<std::size_t>(graph_.first_input(layer));
    const std::size_t end = layer < L ? static_cast<std::size_t>(graph_.first_input(layer + 1)) : inputs.size();
    const auto first = static_cast<std::size_t>(inputs[begin].first_edge);
    const std::size_t last = end < inputs.size() ? static_cast<std::size_t>(inputs[end].first_edge) : corrupted.size();
    return std::ranges::any_of(corrupted.subspan(first, last - first), [](double share) { return share != 0; });
  };
  int first = 0, last = L;
  while (first <= L && !is_changed(first)) ++first;
  while (last >= first && !is_changed(last)) --last;
  Run run{corrupted, first, last, change_, streams_, clean_.attention, {}};
  for (int layer = 0; layer < L; ++layer) {
    const int begin = graph_.sources_at(2 * layer + 1).end, end = graph_.sources_at(2 * layer + 2).end;
    run.mlp.push_back(end > begin ? clean_.each[begin] : Tensor());
  }
  return run;
}

// Computes a layer from the inputs that the run's edges give its heads and its MLP.
void EdgePatching::run_layer(Run& run, int layer) const {
  const std::size_t l = static_cast<std::size_t>(layer);
  const TransformerBlock& block = model_.transformer().blocks[l];
  const AttentionConfig& config = block.attention.config;
  const int H = config.heads, K = config.kv_heads, place = 2 * layer;
  const int first_input = graph_.first_input(layer), first_head = graph_.first_head(layer);
  const bool passes_on = run.last > layer;  // whether a later input has changed edges
  const auto set_change = [&](int begin, int end, const Tensor& outputs) {
    if (run.change.shares_storage(change_)) {  // the rows of earlier layers stay, later ones follow
      run.change = Tensor(change_.shape(), change_.dtype());
      write_rows(run.change, 0, first_head, slice(change_, 0, 0, first_head));
    }
    const Tensor change = rows_of(corrupted_.each, begin, end) - reshape(outputs, {end - begin, -1});
    write_rows(run.change, begin, end, is_linear_ ? block.added_linearised().linear(change) : change);
  };

  const bool has_parallel_mlp = block.mlp && block.config.parallel;
  const bool mlp_follows = block.mlp && !block.config.parallel;
  Tensor x;
  if (reads_corrupted(run, first_input, H + 2 * K)) {  // then the heads give their corrupted outputs
    run.attention[l] = corrupted_.attention[l];
    if (passes_on || mlp_follows)
      set_change(first_head, first_head + H, slice(corrupted_.each, 0, first_head, first_head + H));
    if (has_parallel_mlp) x = inputs_at(run, place, first_input + H + 2 * K, 1);
  } else {
    x = inputs_at(run, place, first_input, H + 2 * K + (has_parallel_mlp ? 1 : 0));
    const Tensor read = block.attention_norms.of_input(slice(x, 0, 0, H + 2 * K));
    const HeadInputs inputs{
        .queries = slice(read, 0, 0, H), .keys = slice(read, 0, H, H + K), .values = slice(read, 0, H + K, H + 2 * K)};
    const Tensor z = weighted_values(block.attention, inputs, mask_, earlier(layer));
    if (passes_on || mlp_follows) set_change(first_head, first_head + H, head_outputs(block.attention, z));
    run.attention[l] = joined_output(block.attention, z);
  }
  run.streams[2 * l + 1] = block.with_attention(run.streams[2 * l], run.attention[l]);
  run.streams[2 * l + 2] = run.streams[2 * l + 1];
  if (!block.mlp) return;
  if (reads_corrupted(run, first_input + H + 2 * K, 1)) {
    run.mlp[l] = corrupted_.each[first_head + H];
  } else {
    const Tensor of_mlp =
        has_parallel_mlp ? x[x.size(0) - 1] : inputs_at(run, place + 1, first_input + H + 2 * K, 1)[0];
    run.mlp[l] = (*block.mlp)(block.mlp_norms->of_input(of_mlp));
  }
  if (passes_on) set_change(first_head + H, first_head + H + 1, run.mlp[l]);
  run.streams[2 * l + 2] = block.with_mlp(run.streams[2 * l + 1], run.mlp[l]);
}

// Returns whether no edge to `count` inputs from `first` on is kept, not even in part.
bool EdgePatching::reads_corrupted(const Run& run, int first, int count) const {
  const auto& inputs = graph_.inputs();
  const CircuitInput& last = inputs[static_cast<std::size_t>(first + count - 1)];
  const auto begin = static_cast<std::size_t>(inputs[static_cast<std::size_t>(first)].first_edge);
  const auto end = static_cast<std::size_t>(last.first_edge + last.sources.count());
  return std::ranges::all_of(run.corrupted.subspan(begin, end - begin), [](double share) { return share == 1; });
}

// Returns what `count` inputs from `first` on read at a place: (count, B, T, d_model).
Tensor EdgePatching::inputs_at(const Run& run, int place, int first, int count) const {
  const Transformer& transformer = model_.transformer();
  if (is_linear_) return summed_at(run, place, first, count);
  Tensor x = unsqueeze(run.streams[0], 0);
  if (graph_.sources_at(place).begin == 0) x = x + changed(run, {0, 1}, first, count);
  for (int layer = 0; 2 * layer < place; ++layer) {
    const std::size_t l = static_cast<std::size_t>(layer);
    const TransformerBlock& block = transformer.blocks[l];
    const CircuitSources heads{graph_.first_head(layer), graph_.sources_at(2 * layer + 1).end};
    const bool counts =
        heads.begin >= graph_.sources_at(place).begin;  // otherwise a later layer without a residual drops it
    Tensor part = unsqueeze(run.attention[l], 0);
    if (counts) part = part + changed(run, heads, first, count);
    x = block.with_attention(x, part);
    if (!block.mlp || 2 * layer + 1 == place) continue;
    part = unsqueeze(run.mlp[l], 0);
    if (counts) part = part + changed(run, {heads.end, heads.end + 1}, first, count);
    x = block.with_mlp(x, part);
  }
  return x;
}

// Returns the sum of the changes of `sources` for each of `count` inputs, by the shares of their edges: (count, B, T, d_model).
Tensor EdgePatching::changed(const Run& run, CircuitSources sources, int first, int count) const {
  const Tensor changes = rows_of(run.change, sources.begin, sources.end);
  const Shape& each = run.streams[0].shape();
  const Tensor weights = tensor({count, sources.count()}, weights_of(run, sources, first, count), run.change.dtype());
  return reshape(matmul(weights, changes), {count, each[0], each[1], each[2]});
}

std::vector<double> EdgePatching::weights_of(const Run& run, CircuitSources sources, int first, int count) const {
  std::vector<double> weights;
  for (int i = first; i < first + count; ++i) {
    const CircuitInput& input = graph_.inputs()[static_cast<std::size_t>(i)];
    const auto begin = run.corrupted.begin() + input.edge_from(sources.begin);
    weights.insert(weights.end(), begin, begin + sources.count());
  }
  return weights;
}

// Does what inputs_at() does where the stream is a sum: begins with the stream of this run or of the corrupted text, whichever
// differs in fewer edges, and adds the changes of the nodes whose edges differ.
Tensor EdgePatching::summed_at(const Run& run, int place, int first, int count) const {
  const CircuitSources sources = graph_.sources_at(place);
  const auto n = static_cast<std::size_t>(sources.count());
  std::vector<double> weights = weights_of(run, sources, first, count);
  const bool is_mostly_corrupted = 2 * std::ranges::count(weights, 1.0) > std::ssize(weights);
  if (is_mostly_corrupted) {
    for (double& weight : weights) weight -= 1;
  }
  const std::vector<Tensor>& streams = is_mostly_corrupted ? corrupted_streams_ : run.streams;
  const Tensor base = unsqueeze(streams[static_cast<std::size_t>(place)], 0);
  std::vector<Tensor> rows;
  std::vector<double> used;  // columns of weights that are not 0, one after the other
  for (std::size_t s = 0; s < n; ++s) {
    bool is_used = false;
    for (std::size_t i = s; i < weights.size(); i += n) is_used = is_used || weights[i] != 0;
    if (!is_used) continue;
    const int node = sources.begin + static_cast<int>(s);
    rows.push_back(rows_of(run.change, node, node + 1));
    for (std::size_t i = s; i < weights.size(); i += n) used.push_back(weights[i]);
  }
  if (rows.empty()) return shared_input(base[0], count);
  const Tensor changes = rows.size() == n ? rows_of(run.change, sources.begin, sources.end) : concat(rows, 0);
  const Tensor by_node = tensor({std::ssize(rows), count}, used, run.change.dtype());
  const Shape& each = base.shape();
  return base + reshape(matmul(transpose(by_node), changes), {count, each[1], each[2], each[3]});
}

}  // namespace heed
