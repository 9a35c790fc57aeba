#include "inspect/page/page_model.h"

#include "inspect/page/encode.h"
#include "inspect/page/page_facts.h"
#include "models/formats/config_json.h"

#include <heed/autograd/ops.h>

#include <span>

namespace heed {
std::int64_t half_bytes(const SavedModel& model) {
  return model.parameters.numel() * static_cast<std::int64_t>(sizeof(std::uint16_t));
}

bool is_halved(const SavedModel& model) { return 2 * half_bytes(model) > page_model_bytes; }

Json model_json(const SavedModel& model) {
  Json tensors = Json::object(), unknown_word;
  for (const auto& [name, tensor] : model.parameters) {
    const Tensor values = contiguous(tensor.detach().to(DType::float32));
    Json shape = Json::array();
    for (int axis = 0; axis < values.rank(); ++axis) shape.push_back(values.size(axis));
    const std::span<const float> numbers(values.data<float>(), static_cast<std::size_t>(values.numel()));
    tensors[name] = {{"shape", shape},
                     {"data", base64(is_halved(model) ? float16_bytes(numbers) : float32_bytes(numbers))}};
  }
  Json names;  // of the words as a page shows them, if they are pieces of words
  for (const std::string& word : model.vocabulary.words()) {
    if (model.tokenizer.pretrained()) names.push_back(page_token(model, word));
  }
  if (const auto number = model.vocabulary.unknown()) unknown_word = model.vocabulary.word(*number);
  Json config = to_json(config_of(*model.network));
  Json& mlp = config["transformer"]["block"]["mlp"];
  mlp["function"] = name_of(function_of(model.transformer().config.block.mlp.activation).plain);  // without the gate
  return {{"config", config},
          {"split", name_of(model.tokenizer.split())},
          {"of_text", model.tokenizer.is_of_text()},
          {"step", model.step},
          {"queries", model.queries},
          {"vocabulary", model.vocabulary.words()},
          {"names", names},
          {"unknown", unknown_word},
          {"tensors", tensors}};
}

}  // namespace heed
