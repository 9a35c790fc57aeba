#pragma once
#include <heed/autograd/error.h>
#include <heed/nn/parameters.h>

#include <string>
#include <vector>

namespace heed {

// Returns the tensor with this name. Throws Error that begins with `what` and suggests the most similar name.
inline const Tensor& named_tensor(const NamedTensors& tensors, const std::string& name, const char* what) {
  std::vector<std::string> names;
  for (const auto& [key, tensor] : tensors) {
    if (key == name) return tensor;
    names.push_back(key);
  }
  fail("{} '{}' among {}{}", what, name, tensors.size(), did_you_mean(name, names));
}

}  // namespace heed
