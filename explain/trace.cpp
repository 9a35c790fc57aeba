#include <heed/autograd/record.h>
#include <heed/explain/trace.h>
#include <heed/nn/hook.h>

#include <map>
#include <unistd.h>

namespace heed {

// Throws Error when the model does not have the layer.
static const TransformerBlock& block_of(const Transformer& transformer, int layer) {
  const std::size_t layers = transformer.blocks.size();
  if (static_cast<std::size_t>(layer) >= layers) fail("layer {} lies outside [0, {})", layer, layers);
  return transformer.blocks[static_cast<std::size_t>(layer)];
}

std::string hook_name(const Transformer& transformer, int layer, const char* value) {
  return block_of(transformer, layer).attention.name + "." + value;
}

std::string residual_name(const Transformer& transformer, int layer) {
  if (layer > 0) return block_of(transformer, layer - 1).name + ".output";
  return transformer.name.empty() ? "embedded" : transformer.name + ".embedded";
}

void check_weights_fit(const Transformer& transformer, const Ids& texts) {
  constexpr double gigabyte = 1e9;
  const double B = static_cast<double>(texts.shape()[0]), T = static_cast<double>(texts.shape()[1]);
  const double layers = transformer.config.layers, heads = transformer.config.heads();
  const double needed = layers * heads * B * T * T * sizeof(float);
  const double memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
  if (needed <= memory / 2) return;
  fail(
      "the text has {} tokens: the weights of {} layers with {} heads take {:.1f} GB, more than half of this machine's "
      "{:.1f} GB; take a shorter text",
      T, layers, heads, needed / gigabyte, memory / gigabyte);
}

Trace trace(const Model& model, const Batch& batch) {
  const NoRecording unrecorded;
  const Transformer& transformer = model.transformer();
  check_weights_fit(transformer, batch.tokens);
  Trace result;
  result.layers.resize(transformer.blocks.size());
  const std::string scope = transformer.name.empty() ? "" : transformer.name + ".";
  std::map<std::string, Tensor*> places{{transformer.token_embedding->name + ".output", &result.embeddings},
                                        {residual_name(transformer, 0), &result.embedded},
                                        {scope + "at_query", &result.state}};
  for (std::size_t l = 0; l < result.layers.size(); ++l) {
    const TransformerBlock& block = transformer.blocks[l];
    LayerTrace& layer = result.layers[l];
    const std::string& name = block.name;
    const auto of_attention = [&](const char* value) { return hook_name(transformer, static_cast<int>(l), value); };
    places.insert({{of_attention("Q"), &layer.q},
                   {of_attention("K"), &layer.k},
                   {of_attention("V"), &layer.v},
                   {of_attention("scores"), &layer.scores},
                   {of_attention("weights"), &layer.weights},
                   {of_attention("heads"), &layer.head_output},
                   {of_attention("output"), &layer.attention_output},
                   {name + ".attended", &layer.attended},
                   {name + ".output", &layer.residual_out}});
    if (block.attention_norms.input) places[block.attention_norms.input->name + ".output"] = &layer.attention_input;
    if (!block.mlp) continue;
    places[block.mlp->name + ".hidden"] = &layer.mlp_hidden;
    places[block.mlp->out.name + ".output"] = &layer.mlp_output;
  }
  {
    const Hook hook([&](const std::string& name, const Tensor& value) {
      if (const auto place = places.find(name); place != places.end()) *place->second = value;
    });
    result.logits = model.run(batch).logits;
  }
  for (std::size_t l = 0; l < result.layers.size(); ++l) {
    LayerTrace& layer = result.layers[l];
    layer.residual_in = l == 0 ? result.embedded : result.layers[l - 1].residual_out;
    if (!layer.attention_input.defined()) layer.attention_input = layer.residual_in;
  }
  return result;
}

}  // namespace heed
