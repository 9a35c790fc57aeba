#pragma once
#include "views/view.h"

#include <heed/explain/studies/causes_by.h>

namespace heed {

/// Returns the sentence that says which kinds are shown to differ, and that the verdict over all mixes them; "" if none are.
std::string differing_kinds(const CausesBy& found);
/// Returns the sentence that says that the sentences do not show which kinds differ; "" if they do, or with fewer than two kinds.
std::string undecided_kinds(const CausesBy& found);
/// Returns the verdict of each kind of sentence, with a sentence that says whether kinds are shown to differ.
std::string causes_by_view(const CausesBy& found, const View& view);
/// Returns {"field":"relation","groups":[{"value":"agreement","causes":{...},"verdict":[...]}],"differences":[...]}.
Json causes_by_json(const CausesBy& found);

}  // namespace heed
