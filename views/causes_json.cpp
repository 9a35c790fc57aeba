#include "views/view.h"

#include <heed/explain/studies/causes.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace heed {
namespace {

Json row_json(const Cause& row, bool loses) {
  constexpr std::array names{"head zero",
                             "head mean",
                             "edge",
                             "only edge",
                             "edge all heads",
                             "edge everywhere",
                             "zero weight",
                             "zero weight all heads",
                             "zero weight everywhere",
                             "patch head",
                             "patch layer"};
  Json json = {{"what", names.at(static_cast<std::size_t>(row.what))},
               {"layer", row.layer < 0 ? Json() : Json(row.layer)},
               {"head", row.head < 0 ? Json() : Json(row.head)}};
  if (!row.from.empty()) {
    json["from"] = row.from;
    json["to"] = row.to;
  }
  json["sentences"] = row.sentences;
  json["weight"] = number_or_null(row.weight);
  json["probability"] = number_or_null(row.probability);
  json["spread"] = number_or_null(row.spread);
  json["accuracy"] = number_or_null(row.accuracy.share);
  json["accuracy_error"] = number_or_null(row.accuracy.error());
  json["accuracy_low"] = number_or_null(row.accuracy.low);
  json["accuracy_high"] = number_or_null(row.accuracy.high);
  json["before"] = number_or_null(row.before.share);
  json["lost_error"] = number_or_null(row.lost.error());
  json["lost_low"] = number_or_null(row.lost.low);
  json["lost_high"] = number_or_null(row.lost.high);
  json["p"] = number_or_null(row.p);
  json["loses"] = loses;
  json["verdict"] = verdict_json(row.verdict);
  if (!std::isnan(row.flipped.share)) {
    json["flipped"] = row.flipped.share;
    json["flipped_error"] = row.flipped.error();
    json["flipped_low"] = row.flipped.low, json["flipped_high"] = row.flipped.high;
  }
  if (!std::isnan(row.unmoved.share)) {
    json["unmoved"] = row.unmoved.share;
    json["unmoved_low"] = row.unmoved.low, json["unmoved_high"] = row.unmoved.high;
  }
  return json;
}

Json attribution_json(const Attribution& attribution) {
  Json terms = Json::array(), rest = Json::array();
  for (const auto& [head, source, logit] : attribution.terms) {
    terms.push_back({{"layer", attribution.layer}, {"head", head}, {"source", source}, {"logit", logit}});
  }
  for (const auto& [what, logit] : attribution.rest) rest.push_back({{"what", what}, {"logit", logit}});
  return {{"tokens", attribution.tokens}, {"query", attribution.query}, {"answer", attribution.answer},
          {"logit", attribution.logit},   {"terms", std::move(terms)},  {"rest", std::move(rest)}};
}

}  // namespace

Json causes_json(const Causes& causes) {
  Json rows = Json::array(), attribution = Json::array();
  std::vector<const Cause*> all;
  for (const Cause& row : causes.rows) all.push_back(&row);
  const std::vector<const Cause*> with_loss = Causes::with_loss(all);
  for (const Cause& row : causes.rows)
    rows.push_back(row_json(row, std::ranges::find(with_loss, &row) != with_loss.end()));
  for (const Attribution& one : causes.attribution) attribution.push_back(attribution_json(one));
  Json pointing;
  if (causes.pointing) {
    pointing = {
        {"layer", causes.pointing->layer}, {"head", causes.pointing->head}, {"weight", causes.pointing->weight}};
  }
  return {{"step", causes.step},
          {"sentences", causes.sentences},
          {"held_out", causes.held_out},
          {"pairs", causes.pairs},
          {"accuracy", number_or_null(causes.accuracy.share)},
          {"accuracy_error", number_or_null(causes.accuracy.error())},
          {"accuracy_low", number_or_null(causes.accuracy.low)},
          {"accuracy_high", number_or_null(causes.accuracy.high)},
          {"probability", number_or_null(causes.probability)},
          {"twin_accuracy", number_or_null(causes.counterpart_accuracy.share)},
          {"twin_accuracy_low", number_or_null(causes.counterpart_accuracy.low)},
          {"twin_accuracy_high", number_or_null(causes.counterpart_accuracy.high)},
          {"chance", number_or_null(causes.chance)},
          {"pointing", std::move(pointing)},
          {"verdict", causes_verdict(causes)},
          {"rows", std::move(rows)},
          {"left_out", causes.left_out},
          {"rank_correlation",
           {{"last_layer", number_or_null(causes.rank_correlation_last)},
            {"all_layers", number_or_null(causes.rank_correlation_all)}}},
          {"attribution", std::move(attribution)}};
}

}  // namespace heed
