#include <heed/autograd/error.h>
#include <heed/data/vocabulary.h>
#include <heed/files/utf8.h>

namespace heed {

Vocabulary::Vocabulary(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (contains(word)) fail("vocabulary: '{}' occurs twice", excerpt(word));
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
    if (unknown_) return *unknown_;
    fail("unknown word '{}'{}: it is not among the {} words of the vocabulary", excerpt(word),
         did_you_mean(word, words_), size());
  }
  return found->second;
}

const std::string& Vocabulary::word(int number) const& {
  if (number < 0 || number >= size()) fail("vocabulary: no word has number {}; expected 0 to {}", number, size() - 1);
  return words_[static_cast<std::size_t>(number)];
}

}  // namespace heed
