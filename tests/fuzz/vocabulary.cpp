// Each line is a word: the vocabulary rejects duplicates, numbers the others, and suggests at most one of them.
#include "tests/fuzz/fuzz.h"

#include <heed/data/vocabulary.h>

#include <sstream>

using namespace heed;

void heed::fuzz::vocabulary(std::string_view input) {
  std::vector<std::string> words;
  std::istringstream lines{std::string(input)};
  for (std::string line; std::getline(lines, line) && words.size() < 50;) words.push_back(line.substr(0, 100));
  fuzz::accepts([&] {
    const Vocabulary vocabulary(words);
    for (int i = 0; i < vocabulary.size(); ++i) {
      fuzz::demand(vocabulary[vocabulary.word(i)] == i, "a word has the number under which it is found");
    }
    vocabulary["no word of these"];
  });
  for (const std::string& word : words) did_you_mean(word + "x", words);
}
