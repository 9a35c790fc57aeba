#pragma once
#include <heed/data/task.h>

namespace heed {

// What becomes of a word that training never saw: an Error, or the unknown word, which has a vector of its own.
enum class Unknown { error, token };
template <>
inline constexpr EnumName<Unknown> enum_names<Unknown>[] = {{Unknown::error, "error"}, {Unknown::token, "token"}};

// Makes task.vocabulary anew: "<unk>", and the words of the training set that are there `min_count` times or more. All
// others, of the training set, too, are then "<unk>": the rare words of training teach what an unknown word is like.
void learn_unknown(Task& task, int min_count);

// How many words of a set the vocabulary knows nothing of.
struct UnknownShare {
  std::int64_t types = 0, unknown_types = 0;  // different words
  std::int64_t words = 0, unknown_words = 0;
};
UnknownShare unknown_share(const std::vector<Example>& examples, const Vocabulary& vocabulary);

}  // namespace heed
