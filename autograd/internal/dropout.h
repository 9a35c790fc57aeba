#pragma once

namespace heed::detail {

// Throws Error unless a probability of dropout lies in [0, 1).
void check_dropout(double p);

}  // namespace heed::detail
