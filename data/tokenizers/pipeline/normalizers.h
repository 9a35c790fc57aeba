#pragma once
#include "data/tokenizers/pipeline/aligned_text.h"
#include "data/tokenizers/pipeline/part.h"

#include <functional>

namespace heed::tokenizers {

using Normalizer = std::function<AlignedText(const AlignedText&)>;

/// Returns the normalizer that `part` describes. Throws Error that names an unknown type or key.
Normalizer make_normalizer(const Part& part);

}  // namespace heed::tokenizers
