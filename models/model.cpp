#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/models/model.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

// Returns the deviations of the first embeddings: length 1 for models whose logits are products with them at that length.
EmbeddingInit embedding_init(const ModelConfig& config) {
  if (config.head != HeadKind::word && config.head != HeadKind::candidate) return {};
  return {.tokens = 1 / std::sqrt(config.transformer.d_model()), .positions = 1, .segments = 1};
}

// Returns the mean cross-entropy of `labels`, (B, T) or (B T): logits (B, T, vocabulary) -> ().
Tensor token_loss(const Tensor& logits, const Ids& labels) {
  return cross_entropy(labels.shape().rank() == 1 ? reshape(logits, {-1, logits.size(2)}) : logits, labels);
}

// Returns the same for hidden tokens. Logits of other tokens are not computed. states (B, T, d_model) -> ()
Tensor masked_token_loss(const OutputHead& head, const Tensor& states, const Ids& masked) {
  if (masked.numel() != states.numel() / states.size(2)) {
    fail("MaskedLanguageModel: expected {} labels, got {}", states.numel() / states.size(2), masked.numel());
  }
  std::vector<std::int32_t> places, labels;
  for (std::int64_t i = 0; i < masked.numel(); ++i) {
    if (masked[i] < 0) continue;
    places.push_back(static_cast<std::int32_t>(i));
    labels.push_back(masked[i]);
  }
  if (labels.empty()) return token_loss(head.token_logits(states), masked);
  const Shape count{std::ssize(labels)};
  const Tensor hidden = index_select(reshape(states, {-1, states.size(2)}), Ids(count, std::move(places)));
  return cross_entropy(head.token_logits(hidden), Ids(count, std::move(labels)));
}

// Adds the adapters of a configuration. The head for candidates is new to a pretrained model, so it is trained as well.
void add_adapters(const Scope& scope, const ModelConfig& config) {
  if (config.adapter.layers.empty()) return;
  adapt(scope, config.adapter.layers, config.adapter.options);
  if (config.head == HeadKind::candidate) Parameters(scope.parameters()).unfreeze((scope / "candidates").name());
}

}  // namespace

void Model::build(Scope scope, const ModelConfig& config) {
  Transformer transformer(scope, config.transformer, embedding_init(config));
  OutputHead head(scope, transformer, config);
  network_ = std::make_shared<const Network>(Network{std::move(transformer), std::move(head)});
  parameters = scope.parameters();
  add_adapters(scope, config);
}

void adapt(Model& model, const std::vector<std::string>& layers, AdapterOptions options, std::uint64_t seed,
           const std::string& base) {
  if (!model.config().adapter.layers.empty()) fail("adapt: the model has adapters; merge() them first");
  Model::Network network = model.network();
  Parameters of_network;
  const Scope root(of_network, 0, DType::float32, Values::none);
  const Model same(model.scope_in(root), model.config());
  std::vector<std::string> trained;  // a head of the caller's, for example
  for (const auto& [name, value] : model.parameters) {
    if (!value.is_frozen() && !of_network.contains(name)) trained.push_back(name);
  }
  network.head.config.adapter = {layers, options, base};
  const bool is_double =
      std::ranges::all_of(model.parameters, [](const auto& p) { return p.second.dtype() == DType::float64; });
  add_adapters(Scope(model.parameters, seed, is_double ? DType::float64 : DType::float32), network.head.config);
  for (const std::string& name : trained) model.parameters.unfreeze(name);
  model.network_ = std::make_shared<const Model::Network>(std::move(network));
}

Model merged(const Model& model) {
  Model result = model;
  if (model.config().adapter.layers.empty()) return result;
  const NoRecording unrecorded;
  ModelConfig config = model.config();
  config.adapter = {};
  DType dtype = DType::float32;
  NamedTensors values;
  for (const auto& [name, value] : model.parameters) {
    if (is_of_adapter(name)) dtype = value.dtype();
    const Tensor sum = merged(value);
    values.emplace_back(name, sum.shares_storage(value) ? value.alias() : sum);
  }
  const auto take = [&](const std::string& name, const Shape&) {
    return std::ranges::find(values, name, [](const auto& pair) { return pair.first; })->second;
  };
  result.parameters = {};
  result.build(model.scope_in(Scope(result.parameters, dtype, take)), config);
  return result;
}

void merge(Model& model) {
  if (model.config().adapter.layers.empty()) return;
  const auto is_widened = [](const auto& entry) {
    return is_stored_only(entry.second.dtype()) && has_adapter(entry.second);
  };
  if (std::ranges::any_of(model.parameters, is_widened)) {
    const Model wide = merged(model);
    merge(model.parameters, wide.parameters);
    model.network_ = wide.network_;
  } else {
    Model::Network network = model.network();
    network.head.config.adapter = {};
    merge(model.parameters);
    model.network_ = std::make_shared<const Model::Network>(std::move(network));
  }
}

Scope Model::scope_in(Scope root) const { return transformer().name.empty() ? root : root / transformer().name; }

const Model::Network& Model::network() const {
  if (!network_) fail("Model: the network is missing");
  return *network_;
}

Tensor Model::logits(const Batch& batch, const Dropout& drop) const {
  check_has_head(*this);
  if (batch.query.numel() > 0 || head().classifies()) return run(batch, {.drop = drop}).logits;
  if (!head().has_token_logits()) {
    fail("Model::logits: a {} has no logits at each token, only at the query of a question", name_of(config().head));
  }
  return head().token_logits(transformer()(batch, {.drop = drop}).output);
}

Tensor Model::loss(const Batch& batch, const Dropout& drop) const {
  const bool is_text = batch.targets.numel() > 0;
  if (is_text ? !head().has_token_logits() : head().has_token_logits()) {
    const char *const questions = "examples with questions", *const windows = "windows of a text";
    fail("loss: a {} learns from {}, got {}", name_of(config().head), is_text ? questions : windows,
         is_text                    ? windows
         : batch.query.numel() == 0 ? "a batch without targets"
                                    : questions);
  }
  if (is_text && head().fills_masks()) {
    return masked_token_loss(head(), transformer()(batch, {.drop = drop}).output, batch.targets_in_texts());
  }
  if (is_text) return token_loss(logits({.tokens = batch.tokens}, drop), batch.targets_in_texts());
  check_has_head(*this);
  if (head().classifies() && batch.answer.numel() == 0)
    fail("loss: a text_classifier learns from texts with their classes, got none");
  return cross_entropy(run(batch, {.compute = Compute::query, .drop = drop}).logits, labels(batch));
}

ModelOutput Model::run(const Batch& batch, const RunOptions& options) const {
  const Transformer& t = transformer();
  const Dropout& drop = options.drop;
  const PassOptions pass{.weights = options.weights, .drop = drop};
  const LayerInput input = options.from ? *options.from : LayerInput{0, drop.with(drop.embedding, t.embed(batch))};
  const Mask mask = t.mask_of(batch);
  const Ids query = head().classifies() ? head().places(batch.lengths_in_tokens()) : batch.query;
  Hidden hidden;
  if (options.compute == Compute::query) {
    hidden = t.at(query, input.residual, mask, pass, input.layer);
  } else {
    hidden = t(input.residual, mask, pass, input.layer);
    hidden.output = select_rows(hidden.output, query);
  }
  Hook::show(t.name, "at_query", hidden.output);
  return {head().answer_logits(hidden, batch.candidates), std::move(hidden.weights)};
}

Ids Model::labels(const Batch& batch) const {
  if (batch.targets.numel() > 0) return batch.targets_in_texts();
  if (!head().chooses_candidates()) return batch.answer;
  if (batch.candidates.numel() == 0) fail("the model chooses among candidates; expected examples with candidates");
  const auto none = config().or_none ? static_cast<std::int32_t>(batch.candidates.shape()[1]) : -1;
  std::vector<std::int32_t> right;
  for (std::int64_t b = 0; b < batch.chosen.numel(); ++b)
    right.push_back(batch.chosen[b] >= 0 ? batch.chosen[b] : none);
  return Ids(batch.chosen.shape(), std::move(right));
}

std::int64_t Model::predictions(const Batch& batch) const {
  const Ids all = labels(batch);
  return std::count_if(all.data(), all.data() + all.numel(), [](std::int32_t label) { return label >= 0; });
}

Tensor Model::append(const Ids& tokens, Cache& cache, std::span<const int> padding) const {
  if (!head().generates()) fail("Model::append: a {} does not predict the next token", name_of(config().head));
  const CacheGuard guard(cache);
  const Tensor states = transformer().append(tokens, cache, padding);
  const std::int64_t B = states.size(0), T = states.size(1), d = states.size(2);
  return head().token_logits(reshape(slice(states, 1, T - 1, T), {B, d}));
}

void check_has_head(const Model& model) {
  if (!model.head().exists()) {
    fail("the model has no head: it shows states and attention, but gives no answers");
  }
}

bool can_be_narrower(const std::string& name, const Tensor& values) {
  return values.rank() == 2 && values.dtype() != DType::float64 && name != "positions.weight";
}

Model in_float64(const Model& model) {
  Model exact = model;
  exact.parameters = {};
  const auto take = [&](const std::string& name, const Shape&) {
    const Tensor& value = model.parameters[name];
    if (can_be_narrower(name, value)) return value.alias();
    Tensor copy(value.shape(), DType::float64);
    copy.copy_from(value);
    return copy;
  };
  exact.build(model.scope_in(Scope(exact.parameters, DType::float64, take)), model.config());
  return exact;
}

}  // namespace heed
