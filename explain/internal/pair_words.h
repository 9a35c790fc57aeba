#pragma once
#include <heed/explain/generated_pairs.h>

#include <string>
#include <utility>
#include <vector>

// The templates and words of generate_pairs().
namespace heed {

/// A text with slots in braces: "Then {A} gave a {object} to". Behind a mask comes `tail`.
struct PairTemplate {
  const char *group, *text, *tail;
};

/// Two words that replace each other, and the answers to texts with them.
struct WordPair {
  std::string first, second;
  std::vector<std::string> of_first, of_second;
};

/// The words that fill a slot, and what they are in a message.
struct SlotWords {
  std::string slot, kind;
  std::vector<std::string> words;
};

/// What generate_pairs() knows of a behaviour in a language. The slots {A}, {B} and {S} of a template take people, {X} words of
/// `swapped`, {C}{Y} a year; others take those of `slots`.
struct PairVocabulary {
  std::vector<PairTemplate> templates;
  std::vector<std::string> people;  ///< of ioi: names; one of them is the answer
  std::vector<WordPair> swapped;    ///< of agreement and gender
  std::vector<SlotWords> slots;
  std::string before;  ///< the text behind which words are tested to be single tokens
};

/// Returns the words and templates of a behaviour; of induction, whose words are the model's, none.
PairVocabulary pair_vocabulary(Behaviour behaviour, PairLanguage language);

}  // namespace heed
