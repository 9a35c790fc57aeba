#pragma once
#include <heed/autograd/enum_names.h>
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

/// The type of the matrices in a GGUF file. `exact`: BF16 or F16 if these hold every number, else F32.
enum class GgufType { exact, f32, f16, bf16, q8_0 };
template <>
inline constexpr EnumName<GgufType> enum_names<GgufType>[] = {{GgufType::exact, "exact"},
                                                              {GgufType::f32, "f32"},
                                                              {GgufType::f16, "f16"},
                                                              {GgufType::bf16, "bf16"},
                                                              {GgufType::q8_0, "q8_0"}};

/// Writes a language model as a GGUF file for llama.cpp, with its tokenizer. Architectures: llama (with Mistral and SmolLM2), qwen2,
/// qwen3 and gpt2, also of heed's own models with one of these shapes, whose tokenizers stay with heed. Adapters are merged.
/// Vectors and learned positions are F32; with q8_0, so are matrices whose rows are not whole blocks of 32 numbers F16. Throws
/// `Error` that names each setting of the model and each part of its tokenizer that GGUF cannot express.
///
///     export_gguf(load_model("runs/mine"), "mine.gguf", GgufType::q8_0);
void export_gguf(const Model& model, const std::filesystem::path& file, GgufType type = GgufType::exact);

}  // namespace heed
