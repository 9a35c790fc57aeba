#pragma once
#include <heed/data/task.h>

namespace heed {

/// "The bank of the river was where the farmer waited": does "bank" mean a shore or a financial institution? One cue
/// word decides (river, stream, ... / money, loan, ...). Sentence shapes, people and times occur with both meanings.
/// The answer is "shore" or "finance", the antecedent is the cue word, and each sentence is next to its counterpart. In
/// a third of the sentences the word leaves the question open ("the bank of the letter"): the answer is "unclear",
/// without antecedent and counterpart. Pairs (cue word, person) of the held-out set do not occur in training. Throws
/// Error for odd numbers and for more sentences than exist.
Task bank_task(int train_sentences, int held_out_sentences, const Random& random);

}  // namespace heed
