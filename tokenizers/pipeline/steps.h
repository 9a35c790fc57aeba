#pragma once
#include "tokenizers/pipeline/aligned_text.h"
#include "tokenizers/pipeline/part.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// The steps around the model of a tokenizer. Each is made from the part of the file that describes it; the functions throw Error
// that names an unknown type or key.
namespace heed::tokenizers {

using Normalizer = std::function<AlignedText(const AlignedText&)>;
Normalizer make_normalizer(const Part& part);

/// Divides pieces that are not added tokens.
using PreTokenizer = std::function<void(Pieces&)>;
PreTokenizer make_pre_tokenizer(const Part& part);

/// Ids of the tokens that a post-processor puts before and behind one text.
struct Template {
  std::vector<std::int64_t> before, behind;
};
Template make_template(const Part& part);

/// text: bytes that are not UTF-8 become U+FFFD, and the space that the tokenizer put in front goes.
/// part: text comes before and behind it, so all bytes stay as they are.
enum class Decoded { text, part };
/// Turns the names of tokens into texts, which are then put together.
using Decoder = std::function<std::vector<std::string>(std::vector<std::string> tokens, Decoded what)>;
Decoder make_decoder(const Part& part);

}  // namespace heed::tokenizers
