#include "train/warm_start.h"

#include "formats/internal/config_json.h"
#include "run/internal/run_directory.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace heed {
namespace fs = std::filesystem;
namespace {

fs::path model_file(const fs::path& from) {
  if (!fs::exists(from)) fail("model.from: {}: there is no such run or model", from.string());
  if (!fs::is_directory(from)) return from;
  if (fs::exists(model_path(from))) return model_path(from);  // from itself, when it has a config.json
  const std::vector<std::string> models = models_in(from);
  fail(
      "model.from: {}: expected a run or the directory of a pretrained model, found no model.safetensors and no "
      "config.json{}",
      from.string(), models.empty() ? "" : fmt::format(". Name one of its models: {}", listed(models, ", ", 5)));
}

// Adds the fields of an object and of those in it, by their path. A list is one field, so that models of any description have
// the same fields.
void add_fields(const Json& object, const std::string& path, std::map<std::string, Json>& fields) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) {
      add_fields(value, path + name + ".", fields);
    } else {
      fields[path + name] = value;
    }
  }
}

// Returns the fields in which two models must agree, by their path: all of the architecture except the sizes of the
// tasks.
std::map<std::string, Json> architecture(const ModelConfig& config) {
  TransformerConfig shape = config.transformer;
  shape.block.attention = shape.block.attention.complete();
  Json description = to_json(bare_transformer(shape)).at("transformer");
  for (const char* name : {"max_length", "segments", "causal", "embedding_scale", "last_residual"}) {
    description.erase(name);
  }
  std::map<std::string, Json> fields;
  add_fields(description, "", fields);
  return fields;
}

void check_architecture(const ModelConfig& there, const ModelConfig& here, const fs::path& file) {
  std::string differences;
  const std::map<std::string, Json> theirs = architecture(there), mine = architecture(here);
  for (const auto& [name, value] : mine) {
    if (theirs.at(name) == value) continue;
    differences += fmt::format("\n  {}: {} in model.from, {} in this configuration", name, format_json(theirs.at(name)),
                               format_json(value));
  }
  const auto numbered = [](const ModelConfig& c) { return c.transformer.segments > 0 ? "yes" : "no"; };
  if (std::string_view(numbered(there)) != numbered(here)) {
    differences += fmt::format("\n  sentence numbers: {} in model.from, {} in this configuration", numbered(there),
                               numbered(here));
  }
  if (!differences.empty()) fail("model.from: {}: has another architecture:{}", file.string(), differences);
}

// Returns the number of a word; -1: unknown. The words of a text include the space before them.
int number_of(const std::string& word, const Model& model) {
  for (const std::string& form : {word, " " + word}) {
    if (model.vocabulary.contains(form)) return model.vocabulary[form];
  }
  return -1;
}

// Copies rows of `from`, times `scale`, to rows of `to`. Each pair is (source, target).
void copy_rows(const Tensor& from, Tensor to, const std::vector<std::pair<int, int>>& rows, double scale) {
  const std::vector<double> source = from.to_vector();
  std::vector<double> values = to.to_vector();
  const std::ptrdiff_t width = to.numel() / to.size(0);
  for (const auto& [there, here] : rows) {
    std::transform(source.begin() + there * width, source.begin() + (there + 1) * width, values.begin() + here * width,
                   [=](double value) { return scale * value; });
  }
  to.copy_from(tensor(to.shape(), values, to.dtype()));
}

constexpr const char* pointer_name = "candidates.pointer.weight";

void set_to_identity(Tensor matrix, double factor) {
  const std::int64_t d = matrix.size(0);
  std::vector<double> values(static_cast<std::size_t>(d * d));
  for (std::int64_t i = 0; i < d; ++i) values[static_cast<std::size_t>(i * (d + 1))] = factor;
  matrix.copy_from(tensor({d, d}, values, matrix.dtype()));
}

WarmStart continue_pretrained(const Model& other, const fs::path& file, const Model& model) {
  WarmStart start{.file = file, .step = other.step, .words_known = model.vocabulary.size()};
  for (const auto& [name, parameter] : model.parameters) {
    if (!other.parameters.contains(name)) {
      if (!is_of_adapter(name)) start.new_parameters.push_back(name);
    } else if (const Tensor& source = other.parameters[name]; source.shape() != parameter.shape()) {
      fail("model.from: {}: {} has shape {}, expected {}", file.string(), name, to_string(source.shape()),
           to_string(parameter.shape()));
    }
  }
  for (const auto& [name, parameter] : model.parameters) {
    if (other.parameters.contains(name)) Tensor(parameter).copy_from(other.parameters[name]);
    if (name == pointer_name && !other.parameters.contains(name)) set_to_identity(parameter, 0.1);
  }
  return start;
}

}  // namespace

WarmStart warm_start(const fs::path& from, const Model& model) {
  const fs::path file = model_file(from);
  const Model other = merged(load_model(file));
  if (!model.pretrained_config.empty()) return continue_pretrained(other, file, model);
  check_architecture(other.config(), model.config(), file);
  const double scale = other.transformer().config.embedding_scale / model.transformer().config.embedding_scale;
  std::vector<std::pair<int, int>> words;
  for (int here = 0; here < model.vocabulary.size(); ++here) {
    const int there = number_of(model.vocabulary.word(here), other);
    if (there >= 0) words.emplace_back(there, here);
  }
  for (const auto& [name, parameter] : model.parameters) {
    const bool is_of_answer = name.starts_with("candidates.") || name == "output_bias" || name == "unembedding";
    if (is_of_adapter(name)) continue;
    if (is_of_answer && !other.parameters.contains(name)) continue;  // a model with another kind of answers
    const Tensor& source = other.parameters[name];
    std::vector<std::pair<int, int>> rows;
    for (int row = 0; row < std::min(source.size(0), parameter.size(0)); ++row) rows.emplace_back(row, row);
    const bool is_of_words = name == "words.weight" || name == "output_bias" || name == "unembedding";
    copy_rows(source, parameter, is_of_words ? words : rows, name == "words.weight" ? scale : 1);
  }
  return {.file = file, .step = other.step, .words_known = static_cast<int>(words.size())};
}

}  // namespace heed
