#include "views/evaluation_view.h"

#include <heed/files/utf8.h>

#include <fmt/format.h>

#include <cmath>

namespace heed {
namespace {

// A mean that is not a share.
std::string figure_row(const std::string& name, const Interval& figure, const Terminal& terminal) {
  const std::string interval =
      std::isnan(figure.low) ? "unknown" : fmt::format("{:.4g} to {:.4g}", figure.low, figure.high);
  return share_row(name, fmt::format("{:.4g}", figure.share), interval, terminal);
}

Interval perplexity_of(const Interval& loss) { return {std::exp(loss.share), std::exp(loss.low), std::exp(loss.high)}; }

}  // namespace

std::string evaluation_view(const std::string& file, const TextEvaluation& found, const Terminal& terminal) {
  const std::string how = found.is_masked ? "hidden as in training, and predicted from the others of its window"
                                          : "predicted from those before it in its window";
  std::string text = paragraph(fmt::format("{}: {} tokens in windows of {}; {} of them, each {}", file, found.tokens,
                                           found.context, found.predictions, how),
                               terminal);
  text += share_row("", "mean", "95 % interval", terminal);
  text += figure_row("loss, nats per token", found.loss, terminal);
  text += figure_row("perplexity", perplexity_of(found.loss), terminal);
  if (!std::isnan(found.bits_per_byte)) {
    text += share_row("bits per byte", fmt::format("{:.4g}", found.bits_per_byte), "", terminal);
  }
  text += share_row("right first guess", found.accuracy, terminal);
  if (std::isnan(found.loss.low))
    text += paragraph("Too few tokens for an interval: at least 10 are needed.", terminal);
  return text;
}

std::string evaluation_view(const std::string& file, const AnswerEvaluation& found, const Terminal& terminal) {
  std::string head = fmt::format("{}: {}", file, counted(found.sentences, "sentence"));
  if (found.pairs > 0) head += ", " + counted(found.pairs, "minimal pair");
  if (found.too_long > 0) head += fmt::format("; {} left out because they are too long for the model", found.too_long);
  std::string text = paragraph(head, terminal, 2);
  text += share_row("", "mean", "95 % interval", terminal);
  text += share_row("right", found.accuracy, terminal);
  text += share_row("  both of a minimal pair", found.both_of_pair, terminal);
  for (const AnswerEvaluation::Group& group : found.groups) {
    const std::string name = group.name.empty() ? "without a relation" : excerpt(group.name, 20);
    text += share_row(fmt::format("  {} ({})", name, group.sentences), group.accuracy, terminal);
  }
  if (!std::isnan(found.loss.share)) text += figure_row("loss, nats per answer", found.loss, terminal);
  if (found.without_answer > 0) {
    text += paragraph(fmt::format("The model cannot give the answer to {}: they count as wrong, and not for the loss.",
                                  counted(found.without_answer, "sentence")),
                      terminal);
  }
  return text;
}

Json evaluation_json(const std::string& file, const TextEvaluation& found) {
  return {{"file", file},
          {"tokens", found.tokens},
          {"bytes", found.bytes},
          {"context", found.context},
          {"windows", found.windows},
          {"predictions", found.predictions},
          {"masked", found.is_masked},
          {"loss", interval_json(found.loss)},
          {"perplexity", interval_json(perplexity_of(found.loss))},
          {"bits_per_byte", number_or_null(found.bits_per_byte)},
          {"accuracy", interval_json(found.accuracy)}};
}

Json evaluation_json(const std::string& file, const AnswerEvaluation& found) {
  Json groups = Json::array();
  for (const AnswerEvaluation::Group& group : found.groups) {
    groups.push_back(
        {{"relation", group.name}, {"sentences", group.sentences}, {"accuracy", interval_json(group.accuracy)}});
  }
  return {{"file", file},
          {"sentences", found.sentences},
          {"pairs", found.pairs},
          {"too_long", found.too_long},
          {"without_answer", found.without_answer},
          {"accuracy", interval_json(found.accuracy)},
          {"both_of_pair", interval_json(found.both_of_pair)},
          {"loss", interval_json(found.loss)},
          {"groups", std::move(groups)}};
}

}  // namespace heed
