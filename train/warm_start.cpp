#include "train/warm_start.h"

#include <algorithm>

namespace heed {
namespace fs = std::filesystem;
namespace {

fs::path model_file(const fs::path& from) {
  if (!fs::exists(from)) fail("model.from: {}: there is no such run or model", from.string());
  if (!fs::is_directory(from)) return from;
  if (!fs::exists(model_path(from))) fail("model.from: {}: has no model.safetensors", from.string());
  return model_path(from);
}

// What two models must agree in: all but the sizes of their tasks, and what an answer is.
Json architecture(ReaderConfig config) {
  AttentionConfig& a = config.attention;
  if (a.d_k == 0) a.d_k = a.d_model / a.heads;
  if (a.d_v == 0) a.d_v = a.d_model / a.heads;
  if (a.keys() == a.heads) a.kv_heads = 0;
  Json whole = to_json(config, Usual::written);
  Json result = whole.at("attention");
  for (const char* name : {"attention", "max_length", "sentences", "answer"}) whole.erase(name);
  result.update(whole);
  return result;
}

void check_architecture(const ReaderConfig& there, const ReaderConfig& here, const fs::path& file) {
  std::string differences;
  const Json theirs = architecture(there), mine = architecture(here);
  for (const auto& [name, value] : mine.items()) {
    if (theirs.at(name) == value) continue;
    differences +=
        fmt::format("\n  model.{}: {} there, {} here", name, format_json(theirs.at(name)), format_json(value));
  }
  if ((there.sentences > 0) != (here.sentences > 0)) {
    const auto answer = [](const ReaderConfig& c) { return c.sentences > 0 ? "yes" : "no"; };
    differences += fmt::format("\n  texts of numbered sentences: {} there, {} here", answer(there), answer(here));
  }
  if (!differences.empty()) fail("model.from: {}: is another architecture:{}", file.string(), differences);
}

// Copies the rows of `from` to those of `to`: first of each pair to second.
void copy_rows(const Tensor& from, Tensor to, const std::vector<std::pair<int, int>>& rows) {
  const std::vector<double> source = from.to_vector();
  std::vector<double> values = to.to_vector();
  const std::ptrdiff_t width = to.numel() / to.size(0);
  for (const auto& [there, here] : rows) {
    std::copy_n(source.begin() + there * width, width, values.begin() + here * width);
  }
  to.copy_from(tensor(to.shape(), values, to.dtype()));
}

}  // namespace

WarmStart warm_start(const fs::path& from, const SavedModel& model) {
  const fs::path file = model_file(from);
  const SavedModel other = load_model(file);
  check_architecture(other.reader->config, model.reader->config, file);
  std::vector<std::pair<int, int>> words;
  for (int here = 0; here < model.vocabulary.size(); ++here) {
    const std::string& word = model.vocabulary.word(here);
    if (other.vocabulary.contains(word)) words.emplace_back(other.vocabulary[word], here);
  }
  for (const auto& [name, parameter] : model.parameters) {
    if (name.starts_with("candidates.") && !other.parameters.contains(name)) continue;  // it answered with words
    if (name == "output_bias" && !other.parameters.contains(name)) continue;            // it chose among candidates
    const Tensor& source = other.parameters[name];
    std::vector<std::pair<int, int>> rows;
    for (int row = 0; row < std::min(source.size(0), parameter.size(0)); ++row) rows.emplace_back(row, row);
    const bool is_of_words = name == "words.weight" || name == "output_bias" || name == "unembedding";
    copy_rows(source, parameter, is_of_words ? words : rows);
  }
  return {.file = file, .step = other.step, .words_known = static_cast<int>(words.size())};
}

}  // namespace heed
