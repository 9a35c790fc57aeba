#pragma once
#include "train/config/config.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heed {

/// The kinds of values that keys have. Each refers to the value in a Config.
struct Flag {
  std::function<bool()> value;
  std::function<void(bool)> set;
};
inline Flag flag(bool* value) {
  return {[=] { return *value; }, [=](bool on) { *value = on; }};
}
struct Integer {
  int* value;
  int low, high;
};
struct Seed {
  std::uint64_t* value;  // any 64-bit value
};
struct Number {
  double* value;
  double low;
  bool above_low = false;  // low itself excluded
  bool below_one = false;
};
struct Choice {
  std::vector<std::string> names;
  std::function<std::string()> value;
  std::function<bool(std::string_view name)> set;  // returns false for an unknown name
};
template <HasNames E>
Choice choice(E* value) {
  return {names_of<E>(), [=] { return std::string(name_of(*value)); },
          [=](std::string_view name) {
            const std::optional<E> named = value_named<E>(name);
            if (named) *value = *named;
            return named.has_value();
          }};
}
struct Text {
  std::string* value;
};

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

struct Key {
  std::string name;  // "model.heads"
  std::variant<Flag, Integer, Seed, Number, Choice, Text> slot;
  std::string meaning;
  std::vector<std::string> aliases{};  // names of this setting in other programs
  // Whether a resumed run may change the key. Keys that decide the moments, the order of the data or the dumps are
  // fixed. `may_move` is a path: it may change, the content of the files may not.
  enum class OnResume { fixed, may_change, may_move } on_resume = OnResume::fixed;
  std::string old_name{};       // former name, which is still accepted
  std::string section() const;  // "model", or "" at the top
  std::string word() const;     // "heads"
};

/// Returns every key, in the order of the file, bound to `config`.
std::vector<Key> keys(Config& config);

std::string range(const Key& key);     // "1 to 64"
std::string expected(const Key& key);  // "an integer from 1 to 64"

std::string written(const Key& key);  // the value as YAML

/// Reads `text` into the key's value. Returns false, and changes nothing, when `text` is not an expected value.
bool assign(const Key& key, std::string_view text, bool quoted);

}  // namespace heed
