#pragma once
#include "data/tokenizers/pipeline/aligned_text.h"
#include "data/tokenizers/pipeline/part.h"

#include <functional>

namespace heed::tokenizers {

/// Divides pieces that are not added tokens.
using PreTokenizer = std::function<void(Pieces&)>;

/// Returns the pre-tokenizer that `part` describes. Throws Error that names an unknown type or key.
PreTokenizer make_pre_tokenizer(const Part& part);

}  // namespace heed::tokenizers
