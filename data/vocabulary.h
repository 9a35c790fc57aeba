#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heed {

/// Words and their numbers, in order of first occurrence.
///
///     Vocabulary vocabulary({"the", "cat"});
///     vocabulary["cat"];      // 1
///     vocabulary.add("sat");  // 2
class Vocabulary {
 public:
  Vocabulary() = default;
  explicit Vocabulary(const std::vector<std::string>& words);  ///< throws Error for a duplicate
  int add(const std::string& word);                            ///< returns the number of the word, added if new
  /// Returns the number of `word`. A missing word gets the number of the unknown word if there is one; else throws Error
  /// that names the word and the most similar one.
  int operator[](const std::string& word) const;
  /// Makes `word`, new or not, the unknown word, which represents all missing words.
  void let_stand_for_unknown(const std::string& word) { unknown_ = add(word); }
  const std::optional<int>& unknown() const { return unknown_; }  ///< its number
  /// Return whether the word is known; the word with this number; the number of words; all words by number.
  bool contains(const std::string& word) const { return numbers_.count(word) > 0; }
  const std::string& word(int number) const&;                                    ///< throws Error for an invalid number
  std::string word(int number) && { return std::as_const(*this).word(number); }  ///< of a temporary: a copy
  int size() const { return static_cast<int>(words_.size()); }                   ///< the number of words
  const std::vector<std::string>& words() const& { return words_; }              ///< by number
  std::vector<std::string> words() && { return std::move(words_); }              ///< of a temporary: its list itself

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, int> numbers_;
  std::optional<int> unknown_;
};

}  // namespace heed
