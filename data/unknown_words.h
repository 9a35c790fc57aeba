#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/data/task.h>

namespace heed {

/// How to treat a word that is missing from the training set: throw Error, or map it to the unknown word, which has its
/// own embedding.
enum class Unknown { error, token };
template <>
inline constexpr EnumName<Unknown> enum_names<Unknown>[] = {{Unknown::error, "error"}, {Unknown::token, "token"}};

/// Rebuilds task.vocabulary with "<unk>" and the words that occur at least `min_count` times in the training set. All
/// others become "<unk>", also in the training set, so that rare words train its embedding.
void learn_unknown(Task& task, int min_count);

/// Counts the words of a set that the vocabulary does not have.
struct UnknownShare {
  std::int64_t types = 0, unknown_types = 0;  ///< distinct words
  std::int64_t words = 0, unknown_words = 0;
};
/// Counts the words of `examples`.
UnknownShare unknown_share(const std::vector<Example>& examples, const Vocabulary& vocabulary);

}  // namespace heed
