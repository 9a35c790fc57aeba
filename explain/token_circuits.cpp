#include <heed/autograd/ops.h>
#include <heed/explain/intervention.h>
#include <heed/explain/token_circuits.h>

namespace heed {
namespace {

Tensor exactly(const Linearised& map, const Tensor& x) {
  const Tensor y = map.linear(x);
  return map.constant.defined() ? y + map.constant : y;
}

Tensor without_mean(const Tensor& x) { return x - mean(x, {-1}, true); }

}  // namespace

TokenCircuits token_circuits(const Model& model, const Ids& tokens, int layer, int head) {
  if (layer < 0 || layer >= model.layers() || head < 0 || head >= model.heads()) {
    no_such_head("token_circuits", layer, head, model.layers(), model.heads());
  }
  const Transformer& transformer = model.transformer();
  const TransformerBlock& block = transformer.blocks[static_cast<std::size_t>(layer)];
  Tensor x = transformer.token_vectors(tokens);  // (n, width)
  if (transformer.embedding_norm) x = (*transformer.embedding_norm)(x);
  if (transformer.embedding_projection) x = (*transformer.embedding_projection)(x);
  if (block.attention_norms.input) x = (*block.attention_norms.input)(x);

  std::vector<Tensor> queries, keys;
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    const Tensor row = slice(x, 0, i, i + 1), at = reshape(row, {-1});
    queries.push_back(exactly(block.attention.query_linearised(head, at, 0), row));
    keys.push_back(exactly(block.attention.key_linearised(head, at, 0), row));
  }
  TokenCircuits result;
  const Tensor scores = matmul(concat(queries, 0), transpose(concat(keys, 0))) * block.attention.score_scale();
  result.attends = without_mean(scores);

  if (!model.head().is_linear()) return result;
  const Unembedding& unembedding = *model.head().unembedding;
  Tensor written = exactly(block.attention.value_linearised(head).then(block.added_linearised()), x);
  if (const auto& norm = transformer.final_norm) {
    // The norm without its division: linearised where the deviation is 1.
    std::vector<double> at(static_cast<std::size_t>(x.size(1)), 1);
    for (std::size_t c = 0; c + 1 < at.size(); c += 2) at[c] = -1;
    written = norm->linearised(tensor({x.size(1)}, at, x.dtype())).linear(written);
  }
  result.raises = without_mean(matmul(unembedding.compared(written), transpose(unembedding.weight)));
  return result;
}

}  // namespace heed
