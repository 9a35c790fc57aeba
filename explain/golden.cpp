#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/explain/golden.h>
#include <heed/explain/trace.h>
#include <heed/formats/safetensors.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

const Tensor* find_tensor(const SafeTensors& golden, std::string_view name) {
  const auto found = std::ranges::find(golden.tensors, name, [](const auto& entry) { return entry.first; });
  return found == golden.tensors.end() ? nullptr : &found->second;
}

const Tensor& needed_tensor(const SafeTensors& golden, const std::string& file, const char* name) {
  if (const Tensor* found = find_tensor(golden, name)) return *found;
  fail("{}: the tensor '{}' is missing; examples/golden.py writes such files", file, name);
}

// Returns the ids of a golden file, (1, T).
Ids golden_ids(const SafeTensors& golden, const std::string& file, const TransformerConfig& config) {
  const Tensor& values = needed_tensor(golden, file, "ids");
  if (values.rank() != 1 || values.numel() == 0) {
    fail("{}: 'ids' must have shape (T), got {}", file, to_string(values.shape()));
  }
  std::vector<std::int32_t> ids;
  for (const double id : values.to_vector()) {
    if (!(id >= 0 && id < config.vocabulary))
      fail("{}: id {} is not below the model's vocabulary of {}", file, id, config.vocabulary);
    ids.push_back(static_cast<std::int32_t>(id));
  }
  check_positions(config, ids);
  const Shape shape{1, std::ssize(ids)};
  return Ids(shape, std::move(ids));
}

// Returns the golden tensor `name`, which must have the shape that the model gives.
Tensor golden_tensor(const SafeTensors& golden, const std::string& file, const char* name, const Shape& shape) {
  const Tensor& values = needed_tensor(golden, file, name);
  if (values.shape() == shape) return values;
  fail("{}: '{}' has shape {}, but the model gives {}; was it written for this model?", file, name,
       to_string(values.shape()), to_string(shape));
}

GoldenDifference difference(const std::string& what, const Tensor& given, const Tensor& expected) {
  const Tensor exact = expected.to(DType::float64);
  return {what, max(abs(given.to(DType::float64) - exact)).item(), max(abs(exact)).item()};
}

// Returns the number of tokens of a text whose ids differ.
double ids_difference(const PretrainedTokenizer& tokenizer, const std::string& text, const Ids& ids) {
  const std::vector<EncodedToken> tokens = tokenizer.encode(text);
  double different = std::abs(static_cast<double>(ids.numel() - std::ssize(tokens)));
  for (std::int64_t t = 0; t < std::min<std::int64_t>(ids.numel(), std::ssize(tokens)); ++t) {
    different += tokens[static_cast<std::size_t>(t)].id != ids[t];
  }
  return different;
}

// Returns row `index` of x, (n, ...) -> (1, ...).
Tensor row_at(const Tensor& x, std::int64_t index) { return slice(x, 0, index, index + 1); }

}  // namespace

std::vector<GoldenDifference> golden_differences(const Model& model, const std::filesystem::path& path) {
  const NoRecording unrecorded;
  const std::string file = path.string();
  const SafeTensors golden = read_safetensors(path);
  const Transformer& transformer = model.transformer();
  const Ids ids = golden_ids(golden, file, transformer.config);
  const std::int64_t T = ids.shape()[1], layers = model.layers(), heads = model.heads();
  if (T > transformer.config.max_length) {
    fail("{}: its text has {} tokens; the model reads {}", file, T, transformer.config.max_length);
  }
  const Tensor hidden = golden_tensor(golden, file, "hidden", {layers + 1, T, transformer.config.d_model()});
  const Tensor weights = golden_tensor(golden, file, "weights", {layers, heads, T, T});
  const Batch asked{
      .tokens = ids,
      .lengths = {static_cast<int>(T)},
      .query = Ids({1}, {static_cast<std::int32_t>(T - 1)}),
      .candidates = Ids({1, 1, 2}, {0, 1})};  // which a head for candidates needs; its logits are not compared
  const Trace seen = trace(model, asked);
  std::vector<GoldenDifference> rows;
  const auto text = golden.metadata.find("text");
  if (text != golden.metadata.end() && model.tokenizer.pretrained()) {
    rows.push_back({"token ids", ids_difference(*model.tokenizer.pretrained(), text->second, ids), 1});
  }
  for (std::int64_t l = 0; l < layers; ++l) {
    const LayerTrace& layer = seen.layers[static_cast<std::size_t>(l)];
    const std::string what = l == 0 ? "embeddings" : fmt::format("layer {}", l);
    rows.push_back(difference(what, layer.residual_in, row_at(hidden, l)));
    rows.push_back(difference(fmt::format("layer {} weights", l + 1), layer.weights, row_at(weights, l)));
  }
  rows.push_back(difference("final state", transformer(asked).output, row_at(hidden, layers)));
  if (model.head().has_token_logits() && find_tensor(golden, "logits")) {
    const Tensor logits = model.logits({.tokens = ids});
    rows.push_back(
        difference("logits", logits, unsqueeze(golden_tensor(golden, file, "logits", {T, logits.size(2)}), 0)));
  }
  if (model.head().classifies()) {
    const Tensor logits = model.logits({.tokens = ids});
    rows.push_back(difference("logits", logits, unsqueeze(golden_tensor(golden, file, "logits", {logits.size(1)}), 0)));
  }
  return rows;
}

}  // namespace heed
