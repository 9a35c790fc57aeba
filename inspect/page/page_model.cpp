#include "inspect/page/page_model.h"

#include "formats/internal/config_json.h"
#include "inspect/page/computed_fields.h"
#include "inspect/page/encode.h"
#include "inspect/page/page_facts.h"
#include "views/written_tokens.h"

#include <heed/autograd/ops.h>
#include <heed/data/corpus.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

namespace heed {
namespace {

// Returns the bytes of the parameters in float16.
std::int64_t half_bytes(const Model& model) {
  return model.parameters.numel() * static_cast<std::int64_t>(sizeof(std::uint16_t));
}

// Returns whether each part of a normalizer or pre-tokenizer, one or several in "Sequence", has one of these types.
bool has_only(const Json& part, const std::set<std::string>& types) {
  if (part.is_null()) return true;
  if (part["type"] != "Sequence") return part.contains("type") && types.contains(part["type"]);
  const Json& all = part.contains("normalizers") ? part["normalizers"] : part["pretokenizers"];
  return std::ranges::all_of(all, [&](const Json& one) { return has_only(one, types); });
}

}  // namespace

Json page_tokenizer(const PretrainedTokenizer& tokenizer) {
  LargeJson whole = parse_large_json(tokenizer.json(), 16);
  whole["model"].erase("vocab");  // the page has the tokens in its list of words
  const Json file = whole;
  Json normalizer = file.value("normalizer", Json()), pre_tokenizer = file.value("pre_tokenizer", Json());
  Json model = file.at("model"), added = file.value("added_tokens", Json::array());
  const bool is_plain = std::ranges::all_of(added, [&](const Json& token) {
    return !token["single_word"] && (!token["normalized"] || has_only(normalizer, {"NFC"}));
  });
  if (!is_plain || (model.value("type", "") != "BPE" && model.value("type", "") != "WordPiece") ||
      !has_only(normalizer,
                {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Prepend", "Replace", "BertNormalizer"}) ||
      !has_only(pre_tokenizer,
                {"ByteLevel", "Metaspace", "Split", "Digits", "Punctuation", "WhitespaceSplit", "BertPreTokenizer"})) {
    return nullptr;
  }
  Json before = Json::array(), behind = Json::array();
  for (const int id : tokenizer.before()) before.push_back(tokenizer.token(id));
  for (const int id : tokenizer.behind()) behind.push_back(tokenizer.token(id));
  return {{"normalizer", normalizer}, {"pre_tokenizer", pre_tokenizer},
          {"model", model},           {"added_tokens", added},
          {"before", before},         {"behind", behind}};
}

std::string why_left_out(const Model& model) {
  if (half_bytes(model) > page_model_bytes) {
    return fmt::format(
        "The model takes {:.2f} MB in float16; a page holds models of up to {:.2f} MB. inspect serve answers for any "
        "model.",
        static_cast<double>(half_bytes(model)) / 1e6, static_cast<double>(page_model_bytes) / 1e6);
  }
  if (const std::string field = uncomputed_field(model.config()); !field.empty()) {
    return fmt::format("The model has {}, which a page does not compute. inspect serve answers for any model.", field);
  }
  return "";
}

bool page_cuts_text(const Model& model) {
  const auto& pretrained = model.tokenizer.pretrained();
  if (model.head().chooses_candidates() && model.tokenizer.split() == Split::subwords) return false;
  return !pretrained || !page_tokenizer(*pretrained).is_null();
}

bool is_halved(const Model& model) { return 2 * half_bytes(model) > page_model_bytes; }

Json tensors_json(const Model& model) {
  Json tensors = Json::object();
  for (const auto& [name, tensor] : model.parameters) {
    const Tensor values = contiguous(tensor.detach().to(DType::float32));
    Json shape = Json::array();
    for (int axis = 0; axis < values.rank(); ++axis) shape.push_back(values.size(axis));
    const std::span<const float> numbers(values.data<float>(), static_cast<std::size_t>(values.numel()));
    tensors[name] = {{"shape", shape},
                     {"data", base64(is_halved(model) ? float16_bytes(numbers) : float32_bytes(numbers))}};
  }
  return tensors;
}

Json model_json(const Model& model) {
  Json unknown_word;
  Json names;  // of the words as a page shows them, if they are pieces of words
  for (const std::string& word : model.vocabulary.words()) {
    if (model.tokenizer.pretrained()) names.push_back(page_token(model, word));
  }
  std::vector<std::string> queries = model.queries;
  const auto& pretrained = model.tokenizer.pretrained();
  Json mask;
  if (model.head().fills_masks()) {  // is asked about hidden tokens alone
    if (!pretrained) mask = mask_token;
    if (pretrained && pretrained->special().mask) mask = pretrained->token(*pretrained->special().mask);
    queries = mask.is_null() ? std::vector<std::string>{} : std::vector<std::string>{mask};
  }
  if (const auto number = model.vocabulary.unknown()) unknown_word = model.vocabulary.word(*number);
  return {{"config", to_json(model.config())},
          {"split", name_of(model.tokenizer.split())},
          {"of_text", model.tokenizer.is_of_text()},
          {"step", model.step},
          {"queries", queries},
          {"mask", mask},
          {"tokenizer", pretrained ? page_tokenizer(*pretrained) : Json()},
          {"vocabulary", model.vocabulary.words()},
          {"names", names},
          {"unknown", unknown_word},
          {"tensors", tensors_json(model)}};
}

}  // namespace heed
