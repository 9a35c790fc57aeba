#pragma once
#include <heed/nn/parameters.h>

#include <string>
#include <string_view>

// Lists of tensors that one file holds side by side: the names of each list begin with a prefix.
namespace heed {

/// Appends tensors whose names get a prefix.
inline void append_with_prefix(NamedTensors& all, std::string_view prefix, const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) all.emplace_back(std::string(prefix) + name, tensor);
}

/// Returns the tensors whose names have a prefix, without it.
inline NamedTensors with_prefix(const NamedTensors& all, std::string_view prefix) {
  NamedTensors result;
  for (const auto& [name, tensor] : all) {
    if (name.starts_with(prefix)) result.emplace_back(name.substr(prefix.size()), tensor);
  }
  return result;
}

}  // namespace heed
