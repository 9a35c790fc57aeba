#pragma once
#include "formats/gguf/gguf_file.h"
#include "tokenizers/internal/json.h"

#include <string>
#include <vector>

namespace heed {

/// Returns the config.json of a file's metadata. Throws `Error` for an unknown architecture or value.
Json config_of_gguf(const GgufFile& file);

/// One tensor in the terms of its Hugging Face family.
struct GgufTensor {
  StoredTensor stored;  // with the name and the shape that the family expects
  std::size_t index;    // among the tensors of the file
  bool is_transposed;   // the file holds (out, in), the family (in, out)
  std::int64_t
      permuted_heads;  // number of heads whose rows llama.cpp has put in the order of its rotary embedding; 0: none
};

/// Returns the tensors of the model; those that hold tables of frequencies are part of config_of_gguf().
std::vector<GgufTensor> tensors_of_gguf(const GgufFile& file, const Json& config);

/// Returns the tokenizer of a file as a tokenizer.json; "" when the file has none. Throws `Error` for a kind
/// that heed does not know.
std::string tokenizer_of_gguf(const GgufFile& file);

/// Kinds of tokens in tokenizer.ggml.token_type.
enum TokenKind { normal_token = 1, unknown_token, control_token, user_defined_token, unused_token, byte_token };

/// Returns the pre-tokenizer of byte-level BPE to which llama.cpp gives a name ("llama-bpe"); null for a name that heed does not
/// know.
LargeJson words_of_gguf(const std::string& name);

/// Returns the name in a GGUF file of a tensor of an architecture's Hugging Face family; "" without one.
std::string name_in_gguf(const std::string& architecture, const std::string& hugging_face);

}  // namespace heed
