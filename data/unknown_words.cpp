#include <heed/data/unknown_words.h>

#include <unordered_map>

namespace heed {

void learn_unknown(Task& task, int min_count) {
  std::vector<std::string> order;  // in order of first occurrence
  std::unordered_map<std::string, int> count;
  const auto see = [&](const std::string& word) {
    if (++count[word] == 1) order.push_back(word);
  };
  for (const Example& example : task.train) {
    for (const std::string& token : example.tokens) see(token);
    if (index_of(example.answer, example.tokens) < 0 && !example.answer.empty()) see(example.answer);
  }
  task.vocabulary = {};
  task.vocabulary.let_stand_for_unknown("<unk>");
  for (const std::string& word : order) {
    if (count[word] >= min_count) task.vocabulary.add(word);
  }
}

UnknownShare unknown_share(const std::vector<Example>& examples, const Vocabulary& vocabulary) {
  UnknownShare share;
  std::unordered_map<std::string, bool> seen;  // whether each word is unknown
  for (const Example& example : examples) {
    for (const std::string& token : example.tokens) {
      const auto [entry, is_new] = seen.try_emplace(token, !vocabulary.contains(token));
      share.types += is_new;
      share.unknown_types += is_new && entry->second;
      ++share.words;
      share.unknown_words += entry->second;
    }
  }
  return share;
}

}  // namespace heed
