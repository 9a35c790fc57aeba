#include "files/json.h"

#include <heed/autograd/error.h>
#include <heed/files/utf8.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <new>
#include <unordered_set>

namespace heed {
namespace {

// "[json.exception.parse_error.101] parse error at line 1, column 6: syntax error while parsing value - invalid literal;
// last read: '...'; expected ..." -> "invalid literal"
std::string reason(const nlohmann::detail::parse_error& error) {
  std::string_view what = error.what();
  const std::size_t found = what.find(" - ");
  if (found == std::string_view::npos) return "wrong syntax";
  what.remove_prefix(found + 3);
  return std::string(what.substr(0, what.find("; last read: '")));
}

template <class J>
J parse(std::string_view text, int deepest, std::size_t max_keys) {
  std::vector<std::unordered_set<std::string>> names;  // of each object that is open
  const auto check = [&](int depth, typename J::parse_event_t event, J& parsed) {
    using Event = typename J::parse_event_t;
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && depth >= deepest) fail("nested deeper than {} levels", deepest);
    if (event == Event::object_start) names.emplace_back();
    if (event == Event::object_end) names.pop_back();
    if (event == Event::key) {
      const auto& name = parsed.template get_ref<const std::string&>();
      if (!names.back().insert(name).second) fail("key '{}' occurs twice", excerpt(name));
      if (names.back().size() > max_keys) fail("more than {} keys in one object", max_keys);
    }
    return true;
  };
  try {
    return J::parse(text, check);
  } catch (const typename J::parse_error& error) {
    fail("not JSON at byte {}: {}", error.byte, reason(error));
  } catch (const typename J::out_of_range&) {
    fail("a number in it is too large");
  }
}

}  // namespace

Json parse_json(std::string_view text, int deepest) { return parse<Json>(text, deepest, max_json_keys); }

LargeJson parse_large_json(std::string_view text, int deepest) {
  return parse<LargeJson>(text, deepest, std::numeric_limits<std::size_t>::max());
}

std::string message_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error)) throw;
  if (const auto* failed = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
    return fmt::format("cannot read {}: {}", failed->path1().string(), failed->code().message());
  }
  const std::string_view what = error.what();
  const std::size_t mark = what.starts_with("[json.exception.") ? what.find("] ") : std::string_view::npos;
  return mark == std::string_view::npos ? std::string(what) : visible(what.substr(mark + 2));
}

Json number_or_null(double value) { return std::isnan(value) ? Json() : Json(value); }

std::string format_json(const Json& value) {
  try {
    return value.dump();
  } catch (const Json::type_error&) {
    fail("cannot be written as JSON: a string is not UTF-8");
  }
}

}  // namespace heed
