#pragma once
#include "tokenizers/internal/json.h"

#include <heed/formats/saved_model.h>

#include <cstdint>
#include <string>

// Models in the page. Read by inspect/page/model.js.
namespace heed {

/// Parameters of up to this many bytes are included: in float32, or if they are too many in float16.
constexpr std::int64_t page_model_bytes = 2 << 20;

/// Returns why a page does not hold the model: it is too large, or has what a page does not compute. Returns "" if it does.
std::string why_left_out(const Model& model);

/// Returns whether a page holds the model's parameters in float16, because they are too many in float32.
bool is_halved(const Model& model);

/// Returns the parts of a tokenizer.json for inspect/page/tokenizer.js, without the vocabulary; null if one of them is missing.
Json page_tokenizer(const PretrainedTokenizer& tokenizer);

/// Returns whether inspect/page/tokenizer.js can cut a typed text into the model's tokens. It has the common parts of a
/// tokenizer.json; a model that chooses among candidates in subwords is served instead.
bool page_cuts_text(const Model& model);

/// Returns the parameters of a model by name: {"shape": ..., "data": ...}.
Json tensors_json(const Model& model);

/// Returns the configuration, vocabulary and parameters of a model.
Json model_json(const Model& model);

}  // namespace heed
