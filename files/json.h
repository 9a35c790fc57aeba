#pragma once
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace heed {

using Json = nlohmann::ordered_json;  // names in the order in which they were written

// Error saying what is wrong and at which byte; also where an object names a key twice, or has more than 20,000 of them,
// or where lists and objects are nested deeper than `deepest`.
Json parse_json(std::string_view text, int deepest = 8);

// What an exception says, of this library or of JSON's, whose mark "[json.exception.type_error.302] " is left out.
// To be called where it is caught: std::bad_alloc, which says nothing of what was read, is thrown on.
std::string message_of(const std::exception& error);

// null for NaN, which JSON has no number for.
Json number_or_null(double value);

// In one line. Error where a string is not UTF-8.
std::string format_json(const Json& value);

}  // namespace heed
