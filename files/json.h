#pragma once
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace heed {

using Json = nlohmann::ordered_json;  // names in the order in which they were written

/// For objects with many keys, whose order does not matter.
using LargeJson = nlohmann::json;

/// Keys that an object may have: it looks them up one by one.
constexpr std::size_t max_json_keys = 20'000;

/// Returns the value that `text` holds. Throws Error that says what is wrong and at which byte; also where an object has a
/// key twice or more than max_json_keys keys, or where lists and objects are nested deeper than `deepest`.
Json parse_json(std::string_view text, int deepest = 8);

/// Returns the same for objects of any number of keys.
LargeJson parse_large_json(std::string_view text, int deepest = 8);

/// Returns what an exception of this library, of JSON's or of std::filesystem says, without the mark
/// "[json.exception.type_error.302] " or "filesystem error: status". Call it where the exception is caught. It rethrows
/// std::bad_alloc, whose text says nothing about the file.
std::string message_of(const std::exception& error);

// null for NaN, which JSON has no number for.
Json number_or_null(double value);

// In one line. Error where a string is not UTF-8.
std::string format_json(const Json& value);

}  // namespace heed
