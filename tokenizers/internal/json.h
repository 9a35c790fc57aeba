#pragma once
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace heed {

using Json = nlohmann::ordered_json;  // keeps the order of names

/// For objects with many keys, whose order does not matter.
using LargeJson = nlohmann::json;

/// Keys that an object may have: it looks them up one by one.
constexpr std::size_t max_json_keys = 20'000;

/// Returns the value in `text`. Throws Error with the reason and the byte; also for a duplicate key, for more than
/// max_json_keys keys in an object, and for nesting deeper than `deepest`.
Json parse_json(std::string_view text, int deepest = 8);

/// Does the same for the text of `source`, with which its errors begin.
Json parse_json_of(const std::string& source, std::string_view text, int deepest = 8);

/// Returns the same for objects of any number of keys.
LargeJson parse_large_json(std::string_view text, int deepest = 8);

/// Returns what an exception of this library, of JSON's or of std::filesystem says, without the mark
/// "[json.exception.type_error.302] " or "filesystem error: status". Call it where the exception is caught. It rethrows
/// std::bad_alloc, whose text says nothing about the file.
std::string message_of(const std::exception& error);

/// Returns null for NaN, which JSON cannot represent.
Json number_or_null(double value);

/// Returns the value on one line. Throws Error when a string is not UTF-8.
std::string format_json(const Json& value);

}  // namespace heed
