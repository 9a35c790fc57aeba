#include "train/config/suggestions.h"

#include <heed/autograd/error.h>

#include <algorithm>

namespace heed {
namespace {

std::string meant(const std::string& name) { return fmt::format(" (did you mean '{}'?)", name); }

// Suggests the name nearest to `word` among `others` and the names and aliases of all keys. Names a key in full.
std::string nearest(const std::vector<Key>& keys, const std::string& word, std::vector<std::string> others) {
  std::vector<std::string> names(others.size());
  for (const Key& key : keys) {
    others.push_back(key.word());
    others.insert(others.end(), key.aliases.begin(), key.aliases.end());
    names.resize(others.size(), key.name);
  }
  const std::string hint = did_you_mean(word, others);
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (hint == meant(others[i])) return names[i].empty() ? hint : meant(names[i]);
  }
  return hint;
}

const Key* exactly(const std::vector<Key>& keys, const std::string& word) {
  const auto found = std::ranges::find_if(keys, [&](const Key& key) {
    return !word.empty() && (word == key.word() || std::ranges::find(key.aliases, word) != key.aliases.end());
  });
  return found == keys.end() ? nullptr : &*found;
}

}  // namespace

std::string suggestion(const std::vector<Key>& keys, const std::string& section, const std::string& word) {
  std::vector<std::string> near;
  for (const Key& key : keys) {
    if (key.section() != section) {
      if (section.empty()) near.push_back(key.section());
      continue;
    }
    if (!did_you_mean(word, key.aliases).empty()) {
      return meant(key.word());
    }
    near.push_back(key.word());
  }
  const auto dotted = std::ranges::find(keys, word, &Key::name);
  if (dotted != keys.end() && !dotted->section().empty()) {
    return fmt::format(" (write '{}' inside '{}:')", dotted->word(), dotted->section());
  }
  if (const Key* key = exactly(keys, word)) {
    const char* outside = key->section().empty() ? " outside of all sections" : "";
    return fmt::format(" (did you mean '{}'{}?)", key->name, outside);
  }
  if (!section.empty()) return did_you_mean(word, near);
  near.push_back("probes");
  return nearest(keys, word, near);
}

std::string suggestion_for_setting(const std::vector<Key>& keys, const std::string& name) {
  const std::string word = name.substr(name.rfind('.') + 1);  // npos + 1 is 0
  if (const Key* key = exactly(keys, word)) return meant(key->name);
  std::vector<std::string> names{"probes"};
  for (const Key& key : keys) names.push_back(key.name);
  const std::string near = word == name ? "" : did_you_mean(name, names);
  return near.empty() ? nearest(keys, word, names) : near;
}

std::string near_choice(const Key& key, const std::string& value) {
  const auto* choice = std::get_if<Choice>(&key.slot);
  return choice ? did_you_mean(value, choice->names) : "";
}

}  // namespace heed
