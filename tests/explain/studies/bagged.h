#pragma once
#include <heed/data/task.h>

#include <string>

namespace heed {

// Returns "cup hid jam it WORD" with the candidates cup and jam.
inline Example bagged(const std::string& word, int chosen, const std::string& second = "jam") {
  Example example{.tokens = {"cup", "hid", second, "it", word}, .query = 3, .candidates = {{0, 1}, {2, 3}}};
  choose(example, chosen);
  return example;
}

inline Vocabulary bagged_words() {
  Vocabulary result;
  result.let_stand_for_unknown("<unk>");
  for (const char* word : {"cup", "hid", "jam", "it", "big", "tiny", "was", "tea"}) result.add(word);
  return result;
}

}  // namespace heed
