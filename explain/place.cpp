#include "explain/internal/place_values.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/explain/intervention.h>
#include <heed/nn/hook.h>

#include <algorithm>
#include <utility>

namespace heed {
namespace {

using What = Place::What;

constexpr int text_axis = 0, head_axis = 1;

bool has_keys(What what) { return what == What::scores || what == What::weights; }
bool is_of_mlp(What what) { return what == What::neurons || what == What::mlp_output; }

int last_layer(const Transformer& transformer, What what) {
  const int layers = static_cast<int>(transformer.blocks.size());
  return what == What::embeddings ? 0 : what == What::residual ? layers : layers - 1;
}

void check_head(const char* where, const Transformer& transformer, const Place& place) {
  const AttentionConfig& attention = transformer.config.block.attention;
  const bool is_of_keys = place.what == What::keys || place.what == What::values;
  const int heads = has_heads(place.what) ? (is_of_keys ? attention.keys() : attention.heads) : 0;
  if (place.head < heads) return;
  if (heads == 0) fail("{}: the {} has no heads; got head {}", where, name_of(place.what), place.head);
  if (!is_of_keys || heads == attention.heads) {
    no_such_head(where, place.layer, place.head, static_cast<int>(transformer.blocks.size()), heads);
  }
  fail("{}: no key head {} in a model of {}, which {} share (from 0)", where, place.head, counted(heads, "key head"),
       counted(attention.heads, "query head"));
}

// Throws Error for a feature outside of [0, count).
void check_features(const char* where, const Place& place, std::int64_t count, const char* what) {
  for (const int feature : place.features) {
    if (feature < 0 || feature >= count) fail("{}: no {} {} among {} (from 0)", where, what, feature, count);
  }
}

}  // namespace

bool has_heads(What what) {
  return what == What::queries || what == What::keys || what == What::values || has_keys(what) ||
         what == What::head_output;
}

Place Place::at_each(std::vector<std::vector<int>> of_each_text) const {
  Place result = *this;
  result.tokens = std::move(of_each_text);
  return result;
}

Place Place::to(std::vector<int> keys) const {
  if (!has_keys(what)) fail("Place::to: expected scores or weights, which have keys; got {}", name_of(what));
  Place result = *this;
  result.features = std::move(keys);
  return result;
}

void check_place(const char* where, const Transformer& transformer, const Place& place) {
  const int last = last_layer(transformer, place.what), layers = static_cast<int>(transformer.blocks.size());
  if (place.layer < -1 || place.layer > last) {
    if (has_heads(place.what)) no_such_head(where, place.layer, place.head, layers, transformer.config.heads());
    fail("{}: no layer {} in a model of {}; expected 0 to {} for the {}, or -1 for all", where, place.layer,
         counted(layers, "layer"), last, name_of(place.what));
  }
  check_head(where, transformer, place);
  if (!is_of_mlp(place.what)) return;
  const int width = transformer.config.block.mlp.width;
  if (width == 0) fail("{}: the model has no MLPs, and so no {}", where, name_of(place.what));
  check_features(where, place, place.what == What::neurons ? width : transformer.config.d_model(), "neuron");
}

Span layers_of(const Transformer& transformer, const Place& place) {
  return place.layer < 0 ? Span{0, last_layer(transformer, place.what) + 1} : Span{place.layer, place.layer + 1};
}

std::string hook_name(const Transformer& transformer, What what, int layer) {
  const auto of_mlp = [&]() -> const Mlp& { return *transformer.blocks.at(static_cast<std::size_t>(layer)).mlp; };
  switch (what) {
    case What::embeddings:
      return transformer.token_embedding->name + ".output";
    case What::residual:
      return residual_name(transformer, layer);
    case What::queries:
      return hook_name(transformer, layer, "Q");
    case What::keys:
      return hook_name(transformer, layer, "K");
    case What::values:
      return hook_name(transformer, layer, "V");
    case What::scores:
      return hook_name(transformer, layer, "scores");
    case What::weights:
      return hook_name(transformer, layer, "weights");
    case What::head_output:
      return hook_name(transformer, layer, "heads");
    case What::attention_output:
      return hook_name(transformer, layer, "output");
    case What::neurons:
      return of_mlp().name + ".hidden";
    case What::mlp_output:
      return of_mlp().out.name + ".output";
  }
  return "";
}

const Tensor& value_in(const Trace& trace, What what, int layer) {
  if (what == What::embeddings) return trace.embeddings;
  if (what == What::residual && layer == 0) return trace.embedded;
  const int at = what == What::residual ? layer - 1 : layer, layers = static_cast<int>(trace.layers.size());
  if (at >= layers) fail("patch: expected a trace of {} or more, got one of {}", counted(at + 1, "layer"), layers);
  const LayerTrace& seen = trace.layers[static_cast<std::size_t>(at)];
  switch (what) {
    case What::queries:
      return seen.q;
    case What::keys:
      return seen.k;
    case What::values:
      return seen.v;
    case What::scores:
      return seen.scores;
    case What::weights:
      return seen.weights;
    case What::head_output:
      return seen.head_output;
    case What::attention_output:
      return seen.attention_output;
    case What::neurons:
      return seen.mlp_hidden;
    case What::mlp_output:
      return seen.mlp_output;
    default:
      return seen.residual_out;
  }
}

Booleans elements_at(const Place& place, const Shape& value) {
  const int rank = value.rank(), token_axis = rank - 2;
  const bool has_tokens = token_axis > (has_heads(place.what) ? head_axis : text_axis);
  Shape shape = value;
  for (int axis = 0; axis < rank; ++axis) shape[axis] = 1;
  if (place.head >= 0) shape[head_axis] = value[head_axis];
  if (!place.features.empty()) shape[-1] = value[-1];
  const auto lists = std::ssize(place.tokens);
  if (lists > 0) {
    if (!has_tokens) {
      fail("Intervention: the model computes its last layer at the query alone, so there are no tokens to choose from");
    }
    if (lists != 1 && lists != value[text_axis]) {
      fail("Intervention: expected a list of tokens for each of {}, or one for all, got {}",
           counted(value[text_axis], "text"), lists);
    }
    shape[text_axis] = lists, shape[token_axis] = value[token_axis];
  }
  const char* const last = has_keys(place.what) ? "key" : "neuron";
  check_features("Intervention", place, value[-1], last);
  std::vector<std::uint8_t> chosen(static_cast<std::size_t>(shape.numel()));
  const std::int64_t H = place.head < 0 ? 1 : shape[head_axis], n = shape[-1], T = lists > 0 ? shape[token_axis] : 1;
  const auto choose = [&](std::int64_t text, std::int64_t token) {
    const std::int64_t head = std::max(place.head, 0);
    std::uint8_t* const row = chosen.data() + ((text * H + head) * T + token) * n;
    if (place.features.empty()) row[0] = 1;
    for (const int feature : place.features) row[feature] = 1;
  };
  if (lists == 0) choose(0, 0);
  for (std::int64_t text = 0; text < lists; ++text) {
    for (const int token : place.tokens[static_cast<std::size_t>(text)]) {
      if (token < 0 || token >= T)
        fail("Intervention: no token {} in a text of {} (from 0)", token, counted(T, "token"));
      choose(text, token);
    }
  }
  return Booleans(shape, std::move(chosen));
}

namespace {

// Returns which tokens of a batch belong to the place, without padding: (B, T, 1).
Booleans counted_tokens(const Place& place, const Batch& batch) {
  const std::int64_t B = batch.size(), T = batch.tokens.shape()[1];
  std::vector<std::uint8_t> is_real;
  for (std::int64_t b = 0; b < B; ++b) {
    const std::int64_t length = batch.lengths.empty() ? T : batch.lengths[static_cast<std::size_t>(b)];
    for (std::int64_t t = 0; t < T; ++t) is_real.push_back(t < length);
  }
  const Place tokens{.what = What::residual, .tokens = place.tokens};
  return Booleans({B, T, 1}, std::move(is_real)) & elements_at(tokens, {B, T, 1});
}

}  // namespace

Tensor mean_of(const Place& place, const Model& model, std::span<const Batch> texts) {
  const NoRecording unrecorded;
  const Transformer& transformer = model.transformer();
  check_place("mean_of", transformer, place);
  if (place.layer < 0) fail("mean_of: expected one layer, got -1; layers have means of their own");
  const std::string name = hook_name(transformer, place.what, place.layer);
  Tensor total;
  double count = 0;
  DType dtype = DType::float32;
  for (const Batch& batch : texts) {
    const std::int64_t B = batch.size(), T = batch.tokens.shape()[1];
    if (has_keys(place.what) && std::ranges::any_of(batch.lengths, [&](int length) { return length != T; })) {
      fail("mean_of: expected texts of one length for {}, got shorter ones padded to {}", name_of(place.what),
           counted(T, "token"));
    }
    const Booleans counts = counted_tokens(place, batch);
    const Hook hook([&](const std::string& shown, const Tensor& value) {
      if (shown != name) return;
      dtype = value.dtype();
      Tensor x = value.to(DType::float64);
      if (has_keys(place.what)) {
        x = sum(x, {text_axis});  // (heads, T, T)
        count += static_cast<double>(B);
      } else {
        const bool heads = has_heads(place.what);
        x = where(heads ? reshape(counts, {B, 1, T, 1}) : counts, x, 0.0);
        x = heads ? unsqueeze(sum(x, {0, 2}), 1) : sum(x, {0, 1});  // (heads, 1, n), or (n)
        count += static_cast<double>(std::count(counts.data(), counts.data() + counts.numel(), 1));
      }
      if (total.defined() && total.shape() != x.shape()) {
        fail("mean_of: expected texts of one length for {}, got sums {} and {}", name_of(place.what),
             to_string(total.shape()), to_string(x.shape()));
      }
      total = total.defined() ? total + x : x;
    });
    (void)transformer(batch);
  }
  if (count == 0) fail("mean_of: expected at least one token, got none");
  if (place.head >= 0) total = has_keys(place.what) ? total[place.head] : total[place.head][0];
  return (total / count).to(dtype);
}

}  // namespace heed
