#include "views/picture.h"

#include <heed/autograd/ops.h>
#include <heed/formats/numpy.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heed {
namespace {

// Quotes a field if a separator would be misread, and doubles its quotes (RFC 4180).
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string attention_csv(const Dump& dump, const View& view) {
  std::string text = "sentence,layer,head,from,to,query token,key token,weight\r\n";
  for (std::size_t i = 0; i < dump.sentences.size(); ++i) {
    const SentenceAttention& sentence = dump.sentences[i];
    std::vector<std::string> tokens;
    for (const std::string& token : sentence.tokens) tokens.push_back(field(token));
    const Range layers = chosen_range("layer", view.layer, static_cast<int>(sentence.layers.size()));
    for (int layer = layers.begin; layer < layers.end; ++layer) {
      const Tensor weights = contiguous(sentence.layers[static_cast<std::size_t>(layer)]);
      const Range heads = chosen_range("head", view.head, static_cast<int>(weights.size(0)));
      const float* weight = weights.data<float>() + heads.begin * weights.size(1) * weights.size(2);
      for (int head = heads.begin; head < heads.end; ++head) {
        for (std::size_t from = 0; from < tokens.size(); ++from) {
          for (std::size_t to = 0; to < tokens.size(); ++to) {
            text += fmt::format("{},{},{},{},{},{},{},{}\r\n", i + 1, layer + 1, head + 1, from + 1, to + 1,
                                tokens[from], tokens[to], *weight++);
          }
        }
      }
    }
  }
  return text;
}

std::string attention_npy(const SentenceAttention& sentence, const View& view) {
  const Range layers = chosen_range("layer", view.layer, static_cast<int>(sentence.layers.size()));
  std::vector<Tensor> parts;
  for (int layer = layers.begin; layer < layers.end; ++layer) {
    const Tensor& weights = sentence.layers[static_cast<std::size_t>(layer)];
    if (weights.size(0) != sentence.layers[static_cast<std::size_t>(layers.begin)].size(0)) {
      fail("layers {} and {} differ in heads ({} and {}), so one array cannot hold them; choose one with --layer",
           layers.begin + 1, layer + 1, sentence.layers[static_cast<std::size_t>(layers.begin)].size(0),
           weights.size(0));
    }
    const Range heads = chosen_range("head", view.head, static_cast<int>(weights.size(0)));
    parts.push_back(slice(weights, 0, heads.begin, heads.end));
  }
  const Tensor all = concat(parts, 0);  // (layers heads, T, T)
  const auto count = std::ssize(parts);
  return format_npy(reshape(all, {count, all.size(0) / count, all.size(1), all.size(2)}));
}

}  // namespace heed
