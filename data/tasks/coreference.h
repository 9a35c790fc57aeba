#pragma once
#include <heed/data/task.h>

namespace heed {

// "The animal didn't cross the street because it was too tired" / "... too wide": at "it", which noun is
// meant? An adjective of animals or of places decides; each noun occurs on both sides of the verb (active,
// passive), the reason before or after. Each sentence has its twin next to it. No pair (antecedent,
// adjective) of the held-out set occurs in training; the two sentences above are the first held out. Error
// for odd numbers and for more sentences than there are (147,456 and 36,864).
Task coreference_task(int train_sentences, int held_out_sentences, const Random& random);

}  // namespace heed
