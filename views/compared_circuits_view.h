#pragma once
#include "tokenizers/internal/json.h"
#include "views/view.h"

#include <heed/explain/circuits/matched_circuits.h>

#include <string>

namespace heed {

/// Returns a line per model with its circuit, then the edges that they share: "in k of n".
std::string compared_circuits_view(const ComparedCircuits& compared, const View& view);
/// Returns the edges between heads that do the same: "in k of n", and how many there would be by chance.
std::string matched_circuits_view(const MatchedCircuits& matched, int found, const View& view);
/// Returns {"models":[{"name":"seed-1","step":300,"study":{...}}],"found":3,"rows":[{"name":"...","circuits":3,...}]}.
Json compared_circuits_json(const ComparedCircuits& compared);
/// Returns {"reference":"seed-2","similarity":0.72,...,"rows":[{"name":"...","circuits":3,...,"by_chance":1.9}]}.
Json matched_circuits_json(const MatchedCircuits& matched);

}  // namespace heed
