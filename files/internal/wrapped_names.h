#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

namespace heed {

/// Returns the length of what torch.compile ("_orig_mod.") and DataParallel ("module.") put before the names of a state
/// dictionary: of these prefixes, those that all `names` begin with and no name of `wanted` does. 0: there is none.
std::size_t wrapper_length(std::vector<std::string_view> names, const std::vector<std::string_view>& wanted = {});

}  // namespace heed
