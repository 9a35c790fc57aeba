#pragma once
#include "tokenizers/internal/json.h"
#include "views/view.h"

#include <heed/explain/studies/restored.h>

#include <string>

namespace heed {

/// Returns how much each activation restores, in percent: a table per kind, rows are tokens or heads, columns are layers. A cell
/// that is not shown to differ from 0 is a dot.
std::string restored_view(const Restored& found, const View& view);

/// Returns {"pairs":100,"observations":100,"clean":{...},"corrupted":{...},"tokens":[...],"by_position":true,"restored":
/// {"residual":[[{"mean":0.9,"low":0.8,"high":1.0,"is_shown":true}, by layer], by token],"attention":...,"mlp":...,"head":...}}.
Json restored_json(const Restored& found);

}  // namespace heed
