#pragma once
#include <heed/autograd/error.h>

#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace heed {

/// Pairs an enum's value with its name in files, messages and help. One table per enum, next to the enum:
///
///     enum class Positions { none, learned };
///     template <>
///     inline constexpr EnumName<Positions> enum_names<Positions>[] = {{Positions::none, "none"},
///                                                                     {Positions::learned, "learned"}};
template <class E>
struct EnumName {
  E value;
  const char* name;
};

template <class E>
inline constexpr EnumName<E> enum_names[1] = {};  ///< an enum without a table; the functions below reject it

/// Holds for an enum with a table.
template <class E>
concept HasNames = std::is_enum_v<E> && static_cast<bool>(enum_names<E>[0].name);

/// Returns the names in the order of the table.
template <HasNames E>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const EnumName<E>& known : enum_names<E>) names.emplace_back(known.name);
  return names;
}

/// Returns the value's name. Throws Error for a value that is not in the table.
template <HasNames E>
const char* name_of(E value) {
  for (const EnumName<E>& known : enum_names<E>) {
    if (known.value == value) return known.name;
  }
  fail("value {} is not among {}", static_cast<int>(value), fmt::join(names_of<E>(), ", "));
}

/// Returns the value with this name, or nullopt.
template <HasNames E>
std::optional<E> value_named(std::string_view name) {
  for (const EnumName<E>& known : enum_names<E>) {
    if (known.name == name) return known.value;
  }
  return {};
}

}  // namespace heed
