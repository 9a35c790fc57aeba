#pragma once
#include <heed/data/task.h>

namespace heed {

/// [A][B] ... [A] -> [B]: 8 to T / 2 distinct random signs, repeated from the first on up to T + 1 signs. The sign
/// after [A] can be predicted only from the one that followed the earlier [A] (Elhage et al. 2021, "A Mathematical
/// Framework for Transformer Circuits"; Olsson et al. 2022, arXiv:2209.11895). Only predictions after a repeated sign
/// count.
/// `held_out` of the result has such sequences, cut after a second [A]: the antecedent is [B], the cue word [A]. Throws
/// Error for a T below 16 or above 124, twice the number of signs.
Task induction_task(int train_sequences, int held_out_sequences, int context, const Random& random);

}  // namespace heed
