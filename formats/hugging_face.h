#pragma once
#include <heed/formats/saved_model.h>

#include <filesystem>
#include <string>
#include <vector>

namespace heed {

/// Returns whether `path` is a directory with a config.json.
bool is_hugging_face(const std::filesystem::path& path);

/// Throws `Error` that tells what to do when the directory holds an adapter (LoRA), which changes another model.
void refuse_adapter(const std::filesystem::path& directory);

/// Returns the directory with a config.json that `path` is, or one of whose files it is: model.safetensors,
/// pytorch_model.bin or a .json file. Returns an empty path for other paths, and for a file that save_model() wrote.
std::filesystem::path hugging_face_directory(const std::filesystem::path& path);

/// Reads a pretrained model from a directory as Hugging Face lays it out: config.json, model.safetensors or its shards with
/// model.safetensors.index.json, and tokenizer.json. Families: BERT, Megatron BERT, DistilBERT, ELECTRA, ALBERT,
/// ModernBERT, RoBERTa, GPT-2, GPT-Neo, GPT-NeoX (Pythia), OPT, StarCoder2, StableLM, LLaMA, Arcee, Granite, SmolLM3,
/// Mistral, Qwen2, Qwen3, OLMo 2 and 3, Phi-1 to 3, Gemma 1 to 3. F16 and BF16 weights become float32 unless `loading` maps them.
///
/// A model without a head has HeadKind::none. With rotary embeddings of the types dynamic and longrope, heed
/// reads texts up to the length from which on all frequencies would change. Throws `Error` that names every key of
/// config.json that heed does not know or cannot compute, and every tensor that is missing, unknown or of another
/// shape. It allocates no more than the files' own tensors justify.
///
///     const Model model = load_hugging_face("all-MiniLM-L6-v2");
Model load_hugging_face(const std::filesystem::path& directory, const Loading& loading = {});

/// Writes config.json, model.safetensors and, when the model came with a tokenizer, tokenizer.json and
/// tokenizer_config.json, so that `transformers` loads the model with equal logits. Returns the names of the files, sorted. A
/// model of a Hugging Face directory gets its Model::kept_files back. A pretrained model keeps its
/// configuration, except for the class of its head, and the type of its weights: what was not trained is bit-equal.
/// Weights that were trained are float32. The head for candidates is written as candidates.pointer.weight, (out,
/// in), which load_hugging_face() reads and `transformers` leaves out. heed's own models are written as GPT-2, LLaMA,
/// Qwen3 (normalised heads) or BERT (masked text), without a tokenizer; biases that they lack are 0. Throws `Error` when the model has another shape.
std::vector<std::string> export_hugging_face(const Model& model, const std::filesystem::path& directory);

}  // namespace heed
