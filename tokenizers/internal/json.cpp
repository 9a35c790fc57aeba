#include "tokenizers/internal/json.h"

#include <heed/files/file.h>
#include <heed/files/utf8.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <new>

namespace heed {
namespace {

// "[json.exception.parse_error.101] parse error at line 1, column 6: syntax error while parsing value - invalid literal;
// last read: '...'; expected ..." -> "invalid literal"
std::string reason(const nlohmann::detail::exception& error) {
  std::string_view what = error.what();
  const std::size_t found = what.find(" - ");
  if (found == std::string_view::npos) return "wrong syntax";
  what.remove_prefix(found + 3);
  return std::string(what.substr(0, what.find("; last read: '")));
}

// Throws Error for text that is not JSON, with the line and the byte (from 1).
[[noreturn]] void fail_syntax(std::string_view text, std::size_t byte, const nlohmann::detail::exception& error) {
  if (text.find_first_not_of(" \t\r\n") == text.npos) fail("not JSON: it is empty");
  if (is_lfs_pointer(text)) fail("{}", lfs_pointer);
  const auto line = 1 + std::ranges::count(text.substr(0, byte), '\n');
  std::string said = reason(error);
  if (said == "invalid literal") {
    constexpr const char* around = ",:[]{} \t\r\n";
    const std::size_t begin = byte < 2 ? 0 : text.find_last_of(around, byte - 2) + 1;
    said += fmt::format(" '{}'", excerpt(text.substr(begin, text.find_first_of(around, begin) - begin), 20));
  }
  fail("not JSON at {}byte {}: {}", line > 1 ? fmt::format("line {}, ", line) : "", byte, said);
}

// Builds a value from the events of a parser.
template <class Value>
class JsonBuilder {
 public:
  JsonBuilder(std::string_view text, int deepest, std::size_t max_keys)
      : text_(text), deepest_(static_cast<std::size_t>(deepest)), max_keys_(max_keys) {
    Value::sax_parse(text, this);
  }
  Value result() { return std::move(root_); }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(typename Value::binary_t&) { return false; }  // not in texts
  bool start_object(std::size_t) { return open(Value::object()); }
  bool start_array(std::size_t) { return open(Value::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    const auto [entry, is_new] = open_.back()->emplace(name, nullptr);
    if (!is_new) fail("key '{}' occurs twice", excerpt(name));
    if (open_.back()->size() > max_keys_) fail("more than {} keys in one object", max_keys_);
    value_ = &*entry;
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& error) const {
    constexpr int out_of_range = 406;
    if (error.id == out_of_range) fail("a number in it is too large");
    fail_syntax(text_, byte, error);
  }

 private:
  Value* place(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) {
      open_.back()->push_back(std::move(value));
      return &open_.back()->back();
    }
    *value_ = std::move(value);
    return value_;
  }
  bool add(Value value) { return place(std::move(value)) != nullptr; }
  bool open(Value value) {
    if (open_.size() >= deepest_) fail("nested deeper than {} levels", deepest_);
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  std::size_t deepest_, max_keys_;
  Value root_;
  std::vector<Value*> open_;  // objects and lists, from the outermost
  Value* value_ = nullptr;    // of the last key
};

}  // namespace

LargeJson parse_large_json(std::string_view text, int deepest) {
  return JsonBuilder<LargeJson>(text, deepest, SIZE_MAX).result();
}

Json parse_json(std::string_view text, int deepest) { return JsonBuilder<Json>(text, deepest, max_json_keys).result(); }

Json parse_json_of(const std::string& source, std::string_view text, int deepest) {
  try {
    return parse_json(text, deepest);
  } catch (const Error& error) {
    fail("{}: {}", source, error.what());
  }
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
