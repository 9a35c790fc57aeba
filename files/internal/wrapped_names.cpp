#include "files/internal/wrapped_names.h"

#include <algorithm>

namespace heed {

std::size_t wrapper_length(std::vector<std::string_view> names, const std::vector<std::string_view>& wanted) {
  std::size_t length = 0;
  const auto all_begin_with = [&](std::string_view prefix) {
    const auto begins = [&](std::string_view name) { return name.starts_with(prefix) && name != prefix; };
    return !names.empty() && std::ranges::all_of(names, begins) && std::ranges::none_of(wanted, begins);
  };
  for (bool found = true; found;) {  // a compiled DataParallel has both, in either order
    found = false;
    for (const std::string_view prefix : {std::string_view("_orig_mod."), std::string_view("module.")}) {
      if (!all_begin_with(prefix)) continue;
      found = true;
      length += prefix.size();
      for (std::string_view& name : names) name.remove_prefix(prefix.size());
    }
  }
  return length;
}

}  // namespace heed
