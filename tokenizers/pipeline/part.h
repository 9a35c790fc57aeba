#pragma once
#include "tokenizers/internal/json.h"

#include <heed/autograd/error.h>
#include <heed/files/utf8.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed::tokenizers {

/// An object of a tokenizer.json, and where it is. Errors begin with that place: "pre_tokenizer.pretokenizers[1]: ...".
class Part {
 public:
  Part(const LargeJson& json, std::string place);

  const std::string& place() const { return place_; }
  /// Returns the value of "type"; "" without one.
  std::string type() const { return text("type", ""); }

  // Values of a key. Each throws Error when it is of another type; without `otherwise`, when it is missing or null.
  bool flag(const char* key) const { return need(key, given_flag(key)); }
  bool flag(const char* key, bool otherwise) const { return given_flag(key).value_or(otherwise); }
  std::string text(const char* key) const { return need(key, given_text(key)); }
  std::string text(const char* key, const char* otherwise) const { return given_text(key).value_or(otherwise); }
  std::int64_t count(const char* key) const { return need(key, given_count(key)); }
  std::optional<bool> given_flag(const char* key) const;
  std::optional<std::string> given_text(const char* key) const;
  std::optional<std::int64_t> given_count(const char* key) const;  // a whole number from 0 on
  Part part(const char* key) const;
  std::vector<Part> parts(const char* key) const;
  const LargeJson& array(const char* key) const;
  const LargeJson& object(const char* key) const;
  const LargeJson* find(const char* key) const;  // nullptr when it is missing or null

  /// Throws Error that names a key other than "type" and these.
  void expect_keys(std::initializer_list<std::string_view> keys) const;

  template <class... T>
  [[noreturn]] void wrong(fmt::format_string<T...> format, T&&... values) const {
    fail("{}: {}", place_, fmt::format(format, std::forward<T>(values)...));
  }

 private:
  template <class T>
  T need(const char* key, std::optional<T> value) const {
    if (!value) wrong("'{}' is missing", key);
    return *std::move(value);
  }
  [[noreturn]] void wrong_type(const char* key, const char* expected, const LargeJson& value) const;

  const LargeJson* json_;
  std::string place_;
};

/// Returns `json` in a message.
std::string shown(const LargeJson& json);

}  // namespace heed::tokenizers
