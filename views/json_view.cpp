#include "views/view.h"

#include <nlohmann/json.hpp>

namespace heed {
namespace {

// JSON with `float` as its number type: a float32 is printed with the fewest digits that round-trip.
using JsonOfFloats =
    nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t, std::uint64_t, float>;

JsonOfFloats rows(const Tensor& weights, std::int64_t head) {
  JsonOfFloats result = JsonOfFloats::array();
  for (std::int64_t query = 0; query < weights.size(1); ++query) {
    JsonOfFloats row = JsonOfFloats::array();
    for (std::int64_t key = 0; key < weights.size(2); ++key) {
      row.push_back(static_cast<float>(weights.at({head, query, key})));
    }
    result.push_back(std::move(row));
  }
  return result;
}

}  // namespace

std::string json_view(const Dump& dump) {
  JsonOfFloats sentences = JsonOfFloats::array();
  for (const SentenceAttention& sentence : dump.sentences) {
    const bool has_answer = !sentence.predicted.empty();
    JsonOfFloats layers = JsonOfFloats::array();
    for (const Tensor& weights : sentence.layers) {
      JsonOfFloats heads = JsonOfFloats::array();
      for (std::int64_t head = 0; head < weights.size(0); ++head) heads.push_back(rows(weights, head));
      layers.push_back(std::move(heads));
    }
    JsonOfFloats one{
        {"tokens", sentence.tokens},
        {"query", sentence.query},
        {"antecedent", sentence.antecedent},
        {"predicted", has_answer ? JsonOfFloats(sentence.predicted) : JsonOfFloats()},
        {"probability", has_answer ? JsonOfFloats(static_cast<float>(sentence.probability)) : JsonOfFloats()},
        {"answer", sentence.answer.empty() ? JsonOfFloats() : JsonOfFloats(sentence.answer)}};
    for (const auto& [answer, probability] : sentence.likeliest) {
      one["likeliest"].push_back({{"answer", answer}, {"probability", static_cast<float>(probability)}});
    }
    one["layers"] = std::move(layers);
    sentences.push_back(std::move(one));
  }
  return JsonOfFloats({{"step", dump.step}, {"sentences", std::move(sentences)}}).dump() + "\n";
}

}  // namespace heed
