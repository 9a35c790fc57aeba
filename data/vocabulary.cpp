#include <heed/autograd/error.h>
#include <heed/data/vocabulary.h>

namespace heed {

Vocabulary::Vocabulary(std::vector<std::string> words) {
  for (const std::string& word : words) {
    if (contains(word)) fail("vocabulary: '{}' occurs twice", word);
    add(word);
  }
}

int Vocabulary::add(const std::string& word) {
  const auto [found, added] = numbers_.emplace(word, size());
  if (added) words_.push_back(word);
  return found->second;
}

int Vocabulary::operator[](const std::string& word) const {
  const auto found = numbers_.find(word);
  if (found == numbers_.end()) {
    fail("unknown word '{}'{}: it is not among the {} words of the vocabulary", word, did_you_mean(word, words_),
         size());
  }
  return found->second;
}

}  // namespace heed
