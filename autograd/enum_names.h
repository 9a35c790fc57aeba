#pragma once
#include <heed/autograd/error.h>

#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

// An enum's value and its name in files, messages and help. The one table of them stands beside the enum:
//   enum class Positions { none, learned };
//   template <>
//   inline constexpr EnumName<Positions> enum_names<Positions>[] = {{Positions::none, "none"},
//                                                                   {Positions::learned, "learned"}};
template <class E>
struct EnumName {
  E value;
  const char* name;
};

template <class E>
inline constexpr EnumName<E> enum_names[1] = {};  // an enum without a table: refused by the functions below

template <class E>
concept HasNames = enum_names<E>
[0].name != nullptr;

// In the order of the table.
template <HasNames E>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const EnumName<E>& known : enum_names<E>) names.emplace_back(known.name);
  return names;
}

// Error for a value that the table does not have.
template <HasNames E>
const char* name_of(E value) {
  for (const EnumName<E>& known : enum_names<E>) {
    if (known.value == value) return known.name;
  }
  fail("a value, {}, has no name among {}", static_cast<int>(value), fmt::join(names_of<E>(), ", "));
}

// None where no value has this name.
template <HasNames E>
std::optional<E> value_named(std::string_view name) {
  for (const EnumName<E>& known : enum_names<E>) {
    if (known.name == name) return known.value;
  }
  return {};
}

}  // namespace heed
