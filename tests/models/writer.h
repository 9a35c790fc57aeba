#pragma once
#include "tests/models/sample.h"

#include <heed/models/generate.h>

#include <string>
#include <string_view>

namespace heed {

/// Returns an untrained model of the characters a, b and a third, which reads at most `context` of them.
inline Model writer(const char* third = "\n", int context = 4, std::uint64_t seed = 1,
                    Positions positions = TransformerConfig().positions) {
  Model model;
  for (const char* character : {"a", "b", third}) model.vocabulary.add(character);
  model.tokenizer = Tokenizer::of_text(Split::characters);
  make_network(
      model,
      decoder_of({.max_length = context, .layers = 1, .positions = positions, .block = {.attention = {.d_model = 8}}}),
      seed);
  return model;
}

/// Returns the text that generate() visits.
inline std::string continued(const Model& model, const Generation& wanted) {
  std::string text;
  generate(model, wanted, [&](std::string_view piece) {
    text += piece;
    return true;
  });
  return text;
}

}  // namespace heed
