#pragma once
#include <heed/data/task.h>

namespace heed {

/// Chinese sentences with three kinds of question, which only the query distinguishes:
///
///     pronoun:   小狗 没有 过 马路 ， 因为 [它] 太 累 了  ->  小狗
///     adjective: 苹果 很 [甜]  ->  苹果, the noun that it describes
///     noun:      [苹果] 很 甜  ->  甜, the adjective that describes it
/// Two of nine examples ask about a pronoun; three or four each ask about an adjective and a noun. Sentences that a
/// single word decides are minimal pairs. Pairs (noun, adjective) of the held-out set do not occur in training; "苹果 很 甜"
/// is the first held-out sentence.
Task chinese_task(int train_examples, int held_out_examples, const Random& random);

}  // namespace heed
