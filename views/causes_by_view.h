#pragma once
#include "views/view.h"

#include <heed/explain/studies/causes_by.h>

namespace heed {

/// Returns the sentence that says which kinds are shown to differ, and that the verdict over all mixes them; "" if none are.
std::string differing_kinds(const CausesBy& found);
/// Returns the verdict of each kind of sentence, after a warning if kinds are shown to differ.
std::string causes_by_view(const CausesBy& found, const View& view);
/// Returns {"field":"relation","groups":[{"value":"agreement","causes":{...},"verdict":[...]}],"differences":[...]}.
Json causes_by_json(const CausesBy& found);

}  // namespace heed
