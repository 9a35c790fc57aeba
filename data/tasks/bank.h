#pragma once
#include <heed/data/task.h>

namespace heed {

// "The bank of the river was where the farmer waited": at "bank", is a shore meant or a house of finance? One
// word of the text decides (river, stream, ... / money, loan, ...); shapes, people and times occur with both.
// The answer is "shore" or "finance", the antecedent is the deciding word, and the sentence's twin is next
// to it. In one sentence of three that word leaves it open ("the bank of the letter"): the answer is
// "unclear", without antecedent and twin. No pair (deciding word, person) of the held-out set occurs in
// training. Error for odd numbers and for more than there are.
Task bank_task(int train_sentences, int held_out_sentences, const Random& random);

}  // namespace heed
