#pragma once
#include "tokenizers/pipeline/part.h"

#include <cstdint>
#include <string>

namespace heed::tokenizers {

/// How a sign stands for spaces, in a pre-tokenizer and in a decoder.
struct Metaspace {
  enum class Scheme { always, first, never };
  std::string replacement;  // one code point
  std::int32_t code_point;
  Scheme scheme;  // which pieces get the sign in front
  bool split;
};
Metaspace read_metaspace(const Part& part);

}  // namespace heed::tokenizers
