#include "tokenizers/internal/json.h"

#include <heed/files/text_file.h>
#include <heed/run/dump.h>
#include <heed/run/metrics.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr double no_number = Evaluation::unknown;

// null stands for NaN, which JSON does not have, and for values that older files do not have.
double number(const Json& object, const char* key) {
  if (!object.contains(key) || object[key].is_null()) return no_number;
  if (!object[key].is_number()) fail("'{}': expected a number, got {}", key, object[key].type_name());
  return object[key].get<double>();
}

// [layer][head]; each layer has at least one head.
std::vector<std::vector<double>> weights(const Json& line) {
  std::vector<std::vector<double>> result;
  if (!line.contains("antecedent_weight")) return result;
  const auto is_weight = [](const Json& weight) { return weight.is_number() || weight.is_null(); };
  for (const Json& layer : line["antecedent_weight"]) {
    if (!layer.is_array() || layer.empty() || !std::ranges::all_of(layer, is_weight)) {
      fail("'antecedent_weight': expected a list of numbers for each layer, one per head, got {}", format_json(layer));
    }
    result.emplace_back();
    for (const Json& weight : layer) result.back().push_back(weight.is_null() ? no_number : weight.get<double>());
  }
  return result;
}

Metrics metrics_of(const Json& line) {
  if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer() || line["step"] < 0) {
    fail("expected an object {{\"step\": ...}} with a step from 0");
  }
  return {.step = line["step"],
          .train_loss = number(line, "train_loss"),
          .held_out = {.loss = number(line, "held_out_loss"),
                       .accuracy = number(line, "held_out_accuracy"),
                       .counterpart_accuracy = number(line, "twin_accuracy"),
                       .perplexity = number(line, "perplexity"),
                       .bits_per_byte = number(line, "bits_per_byte"),
                       .antecedent_weight = weights(line)},
          .learning_rate = number(line, "learning_rate")};
}

}  // namespace

std::string to_line(const Metrics& m) {
  Json line{{"step", m.step},
            {"train_loss", m.train_loss},
            {"held_out_loss", m.held_out.loss},
            {"held_out_accuracy", m.held_out.accuracy},
            {"twin_accuracy", m.held_out.counterpart_accuracy},
            {"antecedent_weight", m.held_out.antecedent_weight},
            {"learning_rate", m.learning_rate}};
  if (!std::isnan(m.held_out.perplexity)) line["perplexity"] = m.held_out.perplexity;
  if (!std::isnan(m.held_out.bits_per_byte)) line["bits_per_byte"] = m.held_out.bits_per_byte;
  return format_json(line);
}

std::int64_t evaluations_since_best(const std::filesystem::path& run, std::int64_t from) {
  std::vector<Metrics> lines = read_metrics(run);
  std::erase_if(lines, [&](const Metrics& m) { return m.step < from; });
  const auto best = std::ranges::min_element(lines, {}, [](const Metrics& m) {
    return std::isnan(m.held_out.loss) ? std::numeric_limits<double>::infinity() : m.held_out.loss;
  });
  return best == lines.end() ? 0 : lines.end() - best - 1;
}

std::vector<Metrics> read_metrics(const std::filesystem::path& run) {
  std::vector<Metrics> result;
  const std::filesystem::path path = metrics_path(run);
  if (!std::filesystem::exists(path)) return result;
  TextFile file(path);
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    try {
      result.push_back(metrics_of(parse_json(file.lines()[i])));
    } catch (const Error& error) {
      file.mistake(i + 1, "{}", error.what());
    }
  }
  file.finish();
  return result;
}

}  // namespace heed
