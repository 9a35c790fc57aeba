#pragma once
#include "data/tokenizers/pipeline/part.h"

#include <functional>
#include <string>
#include <vector>

namespace heed::tokenizers {

/// text: bytes that are not UTF-8 become U+FFFD, and the space that the tokenizer put in front goes.
/// part: text comes before and behind it, so all bytes stay as they are.
enum class Decoded { text, part };

/// Turns the names of tokens into texts, which are then put together.
using Decoder = std::function<std::vector<std::string>(std::vector<std::string> tokens, Decoded what)>;

/// Returns the decoder that `part` describes. Throws Error that names an unknown type or key.
Decoder make_decoder(const Part& part);

}  // namespace heed::tokenizers
