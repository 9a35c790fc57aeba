#pragma once
#include "train/config/keys.h"

#include <string>
#include <vector>

// Hints in messages: " (did you mean 'model.heads'?)", or "" if nothing is similar.
namespace heed {

/// Suggests the key of `section` with the alias `word` or a similar name, or a key of another section.
std::string suggestion(const std::vector<Key>& keys, const std::string& section, const std::string& word);

/// Suggests a key for the unknown name in --set NAME=VALUE.
std::string suggestion_for_setting(const std::vector<Key>& keys, const std::string& name);

/// Suggests a name for `value`, if the key has names for its values.
std::string near_choice(const Key& key, const std::string& value);

}  // namespace heed
