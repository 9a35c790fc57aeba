#include "files/internal/ascii.h"

#include <heed/data/overlap.h>

namespace heed {

std::uint64_t sentence_number(const Example& example) {
  std::string letters;
  for (const std::string& token : example.tokens) {
    for (const char c : lower_case(token)) {
      if (c < 0 || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_') letters += c;
    }
  }
  return fnv1a(letters);
}

std::unordered_set<std::uint64_t> sentence_numbers(const std::vector<Example>& examples) {
  std::unordered_set<std::uint64_t> numbers;
  for (const Example& example : examples) numbers.insert(sentence_number(example));
  return numbers;
}

std::size_t leave_out_if(std::vector<Example>& examples, const std::function<bool(const Example&)>& is_out) {
  std::vector<int> place(examples.size(), -1);  // new index of each example
  std::vector<Example> kept;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (is_out(examples[i])) continue;
    place[i] = static_cast<int>(kept.size());
    kept.push_back(std::move(examples[i]));
  }
  const std::size_t left_out = examples.size() - kept.size();
  for (Example& example : kept) {
    if (example.counterpart >= std::ssize(examples)) {
      fail("examples: a sentence has counterpart {} of {} sentences; set its twin to -1 if that is left out",
           example.counterpart, examples.size());
    }
    if (example.counterpart >= 0) example.counterpart = place[static_cast<std::size_t>(example.counterpart)];
  }
  examples = std::move(kept);
  return left_out;
}

std::size_t leave_out(std::vector<Example>& examples, const std::unordered_set<std::uint64_t>& known) {
  return leave_out_if(examples, [&](const Example& example) { return known.contains(sentence_number(example)); });
}

}  // namespace heed
