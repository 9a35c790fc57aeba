#include "train/warm_start.h"

#include <algorithm>
#include <cmath>

namespace heed {
namespace fs = std::filesystem;
namespace {

fs::path model_file(const fs::path& from) {
  if (!fs::exists(from)) fail("model.from: {}: there is no such run or model", from.string());
  if (!fs::is_directory(from)) return from;
  if (!fs::exists(model_path(from))) fail("model.from: {}: has no model.safetensors", from.string());
  return model_path(from);
}

// What two models must agree in: all but the sizes of their tasks, and what is predicted and is an answer.
Json architecture(ReaderConfig config) {
  AttentionConfig& a = config.attention;
  if (a.d_k == 0) a.d_k = a.d_model / a.heads;
  if (a.d_v == 0) a.d_v = a.d_model / a.heads;
  if (a.keys() == a.heads) a.kv_heads = 0;
  Json whole = to_json(config, Usual::written);
  Json result = whole.at("attention");
  for (const char* name : {"attention", "max_length", "sentences", "predicts", "answer"}) whole.erase(name);
  if (config.answer != Answer::word) whole.erase("logits");  // it has none of words
  result.update(whole);
  return result;
}

void check_architecture(const ReaderConfig& there, const ReaderConfig& here, const fs::path& file) {
  std::string differences;
  const Json theirs = architecture(there), mine = architecture(here);
  for (const auto& [name, value] : mine.items()) {
    if (!theirs.contains(name) || theirs.at(name) == value) continue;
    differences +=
        fmt::format("\n  model.{}: {} there, {} here", name, format_json(theirs.at(name)), format_json(value));
  }
  if ((there.sentences > 0) != (here.sentences > 0)) {
    const auto answer = [](const ReaderConfig& c) { return c.sentences > 0 ? "yes" : "no"; };
    differences += fmt::format("\n  texts of numbered sentences: {} there, {} here", answer(there), answer(here));
  }
  if (!differences.empty()) fail("model.from: {}: is another architecture:{}", file.string(), differences);
}

// The number of a word; a text's words have the space before them. -1: it is not known.
int number_of(const std::string& word, const SavedModel& model) {
  for (const std::string& form : {word, " " + word}) {
    if (model.vocabulary.contains(form)) return model.vocabulary[form];
  }
  return -1;
}

// What the first layer reads is the vector of a token times this.
double scale_of_tokens(const ReaderConfig& config) {
  return config.predicts == Predicts::answer ? std::sqrt(config.attention.d_model) : 1;
}

// Copies the rows of `from`, times `scale`, to those of `to`: first of each pair to second.
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

}  // namespace

WarmStart warm_start(const fs::path& from, const SavedModel& model) {
  const fs::path file = model_file(from);
  const SavedModel other = load_model(file);
  check_architecture(other.reader->config, model.reader->config, file);
  const double scale = scale_of_tokens(other.reader->config) / scale_of_tokens(model.reader->config);
  std::vector<std::pair<int, int>> words;
  for (int here = 0; here < model.vocabulary.size(); ++here) {
    const int there = number_of(model.vocabulary.word(here), other);
    if (there >= 0) words.emplace_back(there, here);
  }
  for (const auto& [name, parameter] : model.parameters) {
    const bool is_of_answer = name.starts_with("candidates.") || name == "output_bias" || name == "unembedding";
    if (is_of_answer && !other.parameters.contains(name)) continue;  // it answered otherwise
    const Tensor& source = other.parameters[name];
    std::vector<std::pair<int, int>> rows;
    for (int row = 0; row < std::min(source.size(0), parameter.size(0)); ++row) rows.emplace_back(row, row);
    const bool is_of_words = name == "words.weight" || name == "output_bias" || name == "unembedding";
    copy_rows(source, parameter, is_of_words ? words : rows, name == "words.weight" ? scale : 1);
  }
  return {.file = file, .step = other.step, .words_known = static_cast<int>(words.size())};
}

}  // namespace heed
