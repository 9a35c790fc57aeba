#pragma once
#include <heed/formats/saved_model.h>

#include <filesystem>

namespace heed {

/// Returns whether a file is named .gguf or begins as GGUF files do.
bool is_gguf(const std::filesystem::path& path);

/// Reads a language model from a GGUF file, as llama.cpp has them: architectures llama (with Mistral and SmolLM2), qwen2, qwen3
/// and gpt2; weights of the types F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q2_K to Q6_K, IQ4_NL and IQ4_XS; the tokenizers
/// "gpt2" (byte-level BPE) and "llama" (SentencePiece's BPE). Throws `Error` that names every value and tensor that heed does not
/// know. It allocates no more than the file's own tensors justify.
///
///     const Model model = load_gguf("SmolLM2-135M-Instruct.Q4_1.gguf");
Model load_gguf(const std::filesystem::path& path, const Loading& loading = {});

}  // namespace heed
