#pragma once
#include "data/tokenizers/pipeline/part.h"

#include <vector>

namespace heed::tokenizers {

/// Ids of the tokens that a post-processor puts before and behind a text.
struct Template {
  std::vector<std::int64_t> before, behind;
};

/// Returns the template of one text that `part` describes. Throws Error that names an unknown type, key or token.
Template make_template(const Part& part);

}  // namespace heed::tokenizers
