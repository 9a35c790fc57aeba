#pragma once
#include <heed/formats/saved_model.h>

#include <filesystem>
#include <string>
#include <vector>

namespace heed {

/// Returns whether `path` is a directory with a config.json.
bool is_hugging_face(const std::filesystem::path& path);

/// Returns the directory with a config.json that `path` is, or one of whose files it is: model.safetensors,
/// pytorch_model.bin or a .json file. Returns an empty path for other paths, and for a file that save_model() wrote.
std::filesystem::path hugging_face_directory(const std::filesystem::path& path);

/// Reads a pretrained model from a directory as Hugging Face lays it out: config.json, model.safetensors or its shards with
/// model.safetensors.index.json, and tokenizer.json. Families: BERT, Megatron BERT, DistilBERT, ELECTRA, ALBERT,
/// ModernBERT, RoBERTa, GPT-2, GPT-Neo, GPT-NeoX (Pythia), OPT, StarCoder2, StableLM, LLaMA, Arcee, Granite, SmolLM3,
/// Mistral, Qwen2, Qwen3, OLMo 2 and 3, Phi-1 to 3, Gemma 1 to 3. F16 and BF16 weights become float32 unless `loading` maps them.
///
/// A model of another head, for classes of tokens or answers in a text for example, has HeadKind::none; a classifier of texts with one
/// class each (ForSequenceClassification) has HeadKind::text_class. With rotary embeddings of the types dynamic and longrope, heed
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
/// Qwen3 (normalised heads) or BERT (masked text), without a tokenizer; biases that they do not have are 0. Throws `Error` when the model has another shape.
std::vector<std::string> export_hugging_face(const Model& model, const std::filesystem::path& directory);

/// Returns a copy of the model with a new head, drawn from `seed`, that tells which of `classes` a text is of. A pretrained model gets the
/// head that its family has in `transformers`, so that export_hugging_face() writes it as ForSequenceClassification. Adapters are merged,
/// and all parameters are float32 and not frozen. Throws `Error` for fewer than two classes, or equal ones.
///
///     Model model = with_classes(load_model("distilbert-base-uncased"), {"NEGATIVE", "POSITIVE"});
///     Batch batch = encode(model, {"a warm and funny film", "a waste of time"});
///     batch.answer = Ids({2}, {1, 0});
///     Optimizer optimizer(model.parameters, {.method = OptimizerOptions::Method::adamw});
///     const Recording recording;
///     optimizer.step(backward(model.loss(batch)), 2e-5);
Model with_classes(const Model& model, std::vector<std::string> classes, std::uint64_t seed = 1);

/// Adds the adapters (LoRA) of a directory that PEFT wrote, adapter_config.json and adapter_model.safetensors, to their base model,
/// which is a pretrained one. load_model() of such a directory finds the base model by 'base_model_name_or_path': a path, also
/// from the directory, or a name in Hugging Face's cache. Adapters of matrices that lie side by side in the files, such as
/// GPT-2's c_attn, become one for each. Throws `Error` that names every value with another meaning (DoRA, biases, saved modules,
/// patterns of ranks) and every tensor that is unknown, missing or of another shape.
///
///     Model model = load_model("SmolLM2-135M");
///     load_adapter(model, "my-adapter");
void load_adapter(Model& model, const std::filesystem::path& directory);

/// Writes the adapters of a pretrained model as PEFT has them, so that PeftModel.from_pretrained() loads them over the base model
/// with equal logits. Returns the names of the files. Where adapters of matrices that lie side by side differ in A, their
/// ranks add up. Throws `Error` for a model without adapters and for one that answers with candidates.
std::vector<std::string> export_adapter(const Model& model, const std::filesystem::path& directory);

}  // namespace heed
