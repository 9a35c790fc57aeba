#include "tokenizers/pipeline/part.h"

#include <algorithm>

namespace heed::tokenizers {

std::string shown(const LargeJson& json) {
  return excerpt(json.is_structured() ? (json.is_array() ? "a list" : "an object") : json.dump());
}

Part::Part(const LargeJson& json, std::string place) : json_(&json), place_(std::move(place)) {
  if (!json.is_object()) wrong("expected an object, got {}", shown(json));
}

const LargeJson* Part::find(const char* key) const {
  const auto found = json_->find(key);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

void Part::wrong_type(const char* key, const char* expected, const LargeJson& value) const {
  wrong("'{}': expected {}, got {}", key, expected, shown(value));
}

std::optional<bool> Part::given_flag(const char* key) const {
  const LargeJson* value = find(key);
  if (!value) return {};
  if (!value->is_boolean()) wrong_type(key, "true or false", *value);
  return value->get<bool>();
}

std::optional<std::string> Part::given_text(const char* key) const {
  const LargeJson* value = find(key);
  if (!value) return {};
  if (!value->is_string()) wrong_type(key, "a text", *value);
  return value->get<std::string>();
}

std::optional<std::int64_t> Part::given_count(const char* key) const {
  const LargeJson* value = find(key);
  if (!value) return {};
  const bool is_count = value->is_number_unsigned() && value->get<std::uint64_t>() <= INT64_MAX;
  if (!is_count) wrong_type(key, "a whole number from 0 on", *value);
  return value->get<std::int64_t>();
}

const LargeJson& Part::array(const char* key) const {
  const LargeJson* value = find(key);
  if (!value) wrong("'{}' is missing", key);
  if (!value->is_array()) wrong_type(key, "a list", *value);
  return *value;
}

const LargeJson& Part::object(const char* key) const {
  const LargeJson* value = find(key);
  if (!value) wrong("'{}' is missing", key);
  if (!value->is_object()) wrong_type(key, "an object", *value);
  return *value;
}

Part Part::part(const char* key) const { return {object(key), fmt::format("{}.{}", place_, key)}; }

std::vector<Part> Part::parts(const char* key) const {
  std::vector<Part> result;
  for (const LargeJson& value : array(key)) {
    result.emplace_back(value, fmt::format("{}.{}[{}]", place_, key, result.size()));
  }
  return result;
}

void Part::expect_keys(std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, value] : json_->items()) {
    if (key != "type" && std::ranges::find(keys, key) == keys.end()) wrong("unknown key '{}'", excerpt(key));
  }
}

}  // namespace heed::tokenizers
