#pragma once
#include <heed/data/task.h>

namespace heed {

// Chinese sentences with three kinds of question, told apart by the query alone:
//   pronoun:   小狗 没有 过 马路 ， 因为 [它] 太 累 了  ->  小狗
//   adjective: 苹果 很 [甜]  ->  苹果, the noun that it describes
//   noun:      [苹果] 很 甜  ->  甜, the adjective that describes it
// Of every nine examples two ask a pronoun, and three or four each an adjective and a noun. Twins where the
// one word decides. No pair (noun, adjective) of the held-out set occurs in training; "苹果 很 甜" is the
// first held out.
Task chinese_task(int train_examples, int held_out_examples, const Random& random);

}  // namespace heed
