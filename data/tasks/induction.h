#pragma once
#include <heed/data/task.h>

namespace heed {

// [A][B] ... [A] -> [B]: signs drawn at random, 8 to T / 2 different ones, and again from the first on, to T + 1 signs. Nothing
// but what followed a sign before tells what follows it now (Elhage et al. 2021, "A Mathematical Framework for Transformer
// Circuits"; Olsson et al. 2022, arXiv:2209.11895). Predictions count where a sign came before. `held_out` of the
// result are such sequences cut after an [A] that comes for the second time: its antecedent is [B], its decider [A].
// Error for a T below 16 or above 124, of which the 62 signs have no half.
Task induction_task(int train_sequences, int held_out_sequences, int context, const Random& random);

}  // namespace heed
