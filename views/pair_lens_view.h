#pragma once
#include "tokenizers/internal/json.h"
#include "views/view.h"

#include <heed/explain/studies/pair_lens.h>

#include <string>

namespace heed {

/// Returns a line per layer: mean log odds on the clean texts, their difference to those on the corrupted ones, and the share of texts
/// whose right answers lead.
std::string pair_lens_view(const PairLens& lens, const View& view);

/// Returns {"pairs":100,"observations":100,"layers":[{"layer":0,"clean":{"mean":0.1,"low":-0.2,"high":0.4},"corrupted":{...},
/// "difference":{...},"right":{...}}, ...]}.
Json pair_lens_json(const PairLens& lens);

}  // namespace heed
