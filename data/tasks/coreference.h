#pragma once
#include <heed/data/task.h>

namespace heed {

/// "The animal didn't cross the street because it was too tired" / "... too wide": which noun does "it" refer to? An
/// adjective for animals or for places decides. Each noun occurs on both sides of the verb (active, passive), with the
/// reason before or after. Each sentence is next to its counterpart. Pairs (antecedent, adjective) of the held-out set
/// do not occur in training; the two sentences above are the first held-out ones. Throws Error for odd numbers and for
/// more sentences than exist (147,456 and 36,864).
Task coreference_task(int train_sentences, int held_out_sentences, const Random& random);

}  // namespace heed
