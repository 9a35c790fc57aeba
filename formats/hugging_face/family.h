#pragma once
#include "formats/hugging_face/pretrained.h"

#include <heed/models/model.h>

#include <functional>
#include <string>
#include <vector>

namespace heed {

/// How a tensor of a file holds parameters, which lie side by side along their output features:
///   same                 as heed has them: embeddings, vectors, matrices (in, out)
///   transposed           matrices (out, in), as torch.nn.Linear has them
///   by_head, by_head_transposed  as these two, but the rows (out) are ordered by head, and by parameter within a head
enum class Layout { same, transposed, by_head, by_head_transposed };

/// One tensor of a file and the parameters that it holds. "{}" stands for the number of a layer.
struct TensorName {
  std::string theirs;
  std::vector<std::string> ours;
  Layout layout = Layout::same;
  bool is_of_head = false;  // its name is without the prefix
  std::string unless{};     // a tensor that counts in its place where a file has both
};

/// The tensors of a family. A name whose parameters the model does not have is not expected in a file. When several names lead to one
/// parameter, a file may hold any of them, or equal tensors under all.
class TensorNames : public std::vector<TensorName> {
 public:
  /// An embedding or another tensor that is the same on both sides.
  TensorNames& same(const std::string& theirs, const std::string& ours, const std::string& unless = {});
  /// theirs.weight and theirs.bias of a norm.
  TensorNames& norm(const std::string& theirs, const std::string& ours);
  /// theirs.weight (out, in) and theirs.bias of one linear layer, or of several side by side.
  TensorNames& linear(const std::string& theirs, const std::vector<std::string>& ours);
  /// The same with theirs.weight (in, out).
  TensorNames& linear_in_out(const std::string& theirs, const std::vector<std::string>& ours);
  /// The same with theirs.weight (out, in), whose rows are ordered by head.
  TensorNames& linear_by_head(const std::string& theirs, const std::vector<std::string>& ours);
  /// The matrix of the logits: the token embeddings when they are tied.
  TensorNames& logits(const std::string& theirs);
  /// The head for candidates, which transformers does not know.
  TensorNames& candidates();
  /// The layer before the logits of classes, unless it has no name here, and the layer that gives them.
  struct Classifier {
    std::string dense, logits;
  };
  TensorNames& classes(const Classifier& names);
  /// Names added from here on belong to the head.
  TensorNames& head();

 private:
  TensorNames& add(TensorName name);
  bool is_in_head_ = false;
};

/// How heed reads one family of pretrained models.
struct Family {
  std::vector<std::string> model_types;  // as config.json names it
  PretrainedConfig (*read)(ConfigReader& json);
  std::vector<std::string> prefixes;  // of names in files of models with a head
  TensorNames tensors;
  /// Tensors of a file that attention and logits do not need. A '*' at the end stands for any ending.
  std::vector<std::string> ignored;
};

Family bert_family();
Family megatron_bert_family();
Family distilbert_family();
Family electra_family();
Family albert_family();
Family modernbert_family();
Family roberta_family();
Family gpt2_family();
Family gpt_neo_family();
Family gpt_neox_family();
Family opt_family();
Family starcoder2_family();
Family stablelm_family();
Family phi_family();
Family llama_family();
Family arcee_family();
Family granite_family();
Family smollm3_family();
Family mistral_family();
Family qwen2_family();
Family qwen3_family();
Family olmo2_family();
Family olmo3_family();
Family phi3_family();
Family gemma_family();
Family gemma2_family();
Family gemma3_family();

/// Returns all families.
const std::vector<Family>& families();
/// Returns the family that the key 'model_type' names. Throws `Error` for an unknown one.
const Family& family_of(ConfigReader& json);
/// Returns the name of a tensor without the prefix of models that have a head, and with today's endings.
std::string plain_name(const Family& family, std::string name);
/// Returns a tensor of a file as the parameters in it, side by side along the last axis.
Tensor side_by_side(const Tensor& theirs, Layout layout, std::int64_t parameters, std::int64_t heads);
/// Returns the tensor of a file that holds the parameters side by side: a view of them, where it can be one.
Tensor stored_tensor(std::vector<Tensor> parameters, Layout layout, std::int64_t heads);
/// Returns all parameters of a model under the names of its family. The first name of each parameter counts. Throws `Error` for
/// parameters that the family cannot hold.
NamedTensors tensors_of_family(const Family& family, const Model& model);
/// Returns whether each number has an equal one of this type.
bool is_exact(const NamedTensors& tensors, StoredAs type);
/// Returns `pattern` with `layer` in place of "{}".
std::string of_layer(const std::string& pattern, int layer);

/// Returns the names of LLaMA's tensors, which several families have, with a norm before each part.
TensorNames llama_names();
/// Reads the sizes that most families name alike, from layers to the length of a text, into a preset such as gpt2().
TransformerConfig read_sizes(ConfigReader& json, TransformerConfig (*preset)(int layers, int heads, int d_model));
/// Notes a number of key heads that does not divide the heads, and takes one in its place.
void check_key_heads(ConfigReader& json, AttentionConfig& attention);

/// How a family's rotary embedding differs from the usual one.
struct RotaryKind {
  double fraction = 1;          // of the features, where the file says nothing
  bool is_partial = false;      // partial_rotary_factor may be below 1; transformers rotates all features of the others
  bool is_named_apart = false;  // rope_theta and partial_rotary_factor count within rope_parameters alone
  bool by_layer_type = false;   // rope_parameters has one entry per kind of layer
  bool yarn_is_longrope = false;         // the type yarn means longrope
  std::optional<int> original_length{};  // original_max_position_embeddings, where the file says nothing
};
/// Reads the rotary embedding: rope_theta, rope_scaling and partial_rotary_factor, or rope_parameters of transformers 5.
void read_rotary(ConfigReader& json, TransformerConfig& config, double default_base, const RotaryKind& kind = {});

/// Gives a window to the layers that `slides` marks, one flag per layer.
void set_windows(TransformerConfig& config, int window, const std::vector<bool>& slides);
/// Reads which layers have a window: layer_types, or `is_sliding` by the index of the layer where it is missing. Without a
/// `window`, it is sliding_window.
void read_windows(ConfigReader& json, TransformerConfig& config, const std::function<bool(int)>& is_sliding,
                  std::optional<int> window = {});

}  // namespace heed
