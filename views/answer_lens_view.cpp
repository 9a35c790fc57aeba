#include "views/answer_lens_view.h"

#include "views/sentence_text.h"

#include <heed/files/utf8.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr std::size_t shown_parts = 12;

}  // namespace

std::string answer_lens_view(const AnswerLens& lens, const View& view) {
  std::string text = sentence_text(lens.tokens, lens.query, {}, view.terminal, false) + "\n";
  text +=
      paragraph(fmt::format("The most probable answers at {} after each layer:", token_label(lens.tokens, lens.query)),
                view.terminal);
  for (const AnswerLens::Layer& layer : lens.layers) {
    std::string line = layer.layer == 0 ? "embedding" : fmt::format("layer {}", layer.layer);
    line.resize(std::max<std::size_t>(line.size(), 11), ' ');
    for (const AnswerLens::Answer& answer : layer.answers) {
      line += fmt::format("  {} {:.2f}", token_text(answer.text), answer.probability);
    }
    if (layer.rank > 1) line += fmt::format("  ({} is number {})", token_text(lens.answer), layer.rank);
    text += paragraph("  " + line, view.terminal, 15);
  }
  text += paragraph(fmt::format("The logit of {} is {:.2f}. These parts of the model add up to it:",
                                token_text(lens.answer), lens.logit),
                    view.terminal);
  double rest = lens.logit;
  const std::size_t shown = std::min(shown_parts, lens.parts.size());
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format("  {:>+7.2f}  {}\n", lens.parts[i].logit, part_name(lens.parts[i].part));
    rest -= lens.parts[i].logit;
  }
  if (shown < lens.parts.size()) text += fmt::format("  {:>+7.2f}  {} others\n", rest, lens.parts.size() - shown);
  return text + "\n";
}

Json answer_lens_json(const AnswerLens& lens) {
  Json layers = Json::array(), parts = Json::array();
  for (const AnswerLens::Layer& layer : lens.layers) {
    Json answers = Json::array();
    for (const auto& [answer, probability] : layer.answers)
      answers.push_back({{"answer", answer}, {"probability", probability}});
    layers.push_back({{"layer", layer.layer},
                      {"answers", std::move(answers)},
                      {"probability", layer.probability},
                      {"rank", layer.rank}});
  }
  for (const auto& [part, logit] : lens.parts) {
    Json one{{"what", part.what}};
    if (part.layer >= 0) one["layer"] = part.layer;
    if (part.head >= 0) one["head"] = part.head;
    one["logit"] = logit;
    parts.push_back(std::move(one));
  }
  return {{"tokens", lens.tokens}, {"query", lens.query}, {"answer", lens.answer},
          {"logit", lens.logit},   {"layers", layers},    {"parts", parts}};
}

}  // namespace heed
