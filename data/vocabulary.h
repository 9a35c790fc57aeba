#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace heed {

// Words and their numbers, in order of first occurrence.
class Vocabulary {
 public:
  Vocabulary() = default;
  explicit Vocabulary(const std::vector<std::string>& words);  // Error for a duplicate
  int add(const std::string& word);                            // its number, new or not
  // Where there is an unknown word, its number stands for all that are not known; else an Error naming the word and the
  // nearest known.
  int operator[](const std::string& word) const;
  // From now on `word`, new or not, stands for all words that are not known.
  void let_stand_for_unknown(const std::string& word) { unknown_ = add(word); }
  const std::optional<int>& unknown() const { return unknown_; }  // its number
  // Whether it is known; the word of a number; how many; all, by number.
  bool contains(const std::string& word) const { return numbers_.count(word) > 0; }
  const std::string& word(int number) const;  // Error when it is none's
  int size() const { return static_cast<int>(words_.size()); }
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, int> numbers_;
  std::optional<int> unknown_;
};

}  // namespace heed
