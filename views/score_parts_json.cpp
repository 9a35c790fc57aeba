#include "views/view.h"

#include <heed/explain/score_parts.h>

namespace heed {

Json score_parts_json(const ScoreParts& parts) {
  const auto list = [](const std::vector<ScoreParts::Part>& side) {
    Json result = Json::array();
    for (const auto& [what, layer, head, token, score, ahead] : side) {
      Json one = {{"what", what}, {"score", score}, {"ahead", ahead}};
      if (layer >= 0) one["layer"] = layer;
      if (head >= 0) one["head"] = head;
      if (token >= 0) one["token"] = token;
      result.push_back(std::move(one));
    }
    return result;
  };
  Json products = Json::array(), cuts = Json::array();
  for (const auto& [query, key, score, ahead] : parts.products) {
    products.push_back({{"query", query}, {"key", key}, {"score", score}, {"ahead", ahead}});
  }
  for (const auto& [of_query, part, weight, probability] : parts.cuts) {
    cuts.push_back(
        {{"of", of_query ? "query" : "key"}, {"part", part}, {"weight", weight}, {"probability", probability}});
  }
  return {{"tokens", parts.tokens},
          {"layer", parts.layer},
          {"head", parts.head},
          {"from", parts.from},
          {"to", parts.to},
          {"score", parts.score},
          {"rather", parts.rather >= 0 ? Json(parts.rather) : Json()},
          {"reference_score", parts.reference},
          {"weight", parts.weight},
          {"answer", parts.answer},
          {"probability", parts.probability},
          {"query", list(parts.query)},
          {"key", list(parts.key)},
          {"products", std::move(products)},
          {"other_products", {{"score", parts.others.score}, {"ahead", parts.others.ahead}}},
          {"cuts", std::move(cuts)}};
}

}  // namespace heed
