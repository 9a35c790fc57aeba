#pragma once
#include <heed/autograd/error.h>

#include <string>

namespace heed {

// Returns the text of the Error that `function` throws, with FILE in place of `path`; "no error" if it does not throw.
template <class Function>
std::string message(const Function& function, const std::string& path = "") {
  try {
    function();
  } catch (const Error& error) {
    std::string text = error.what();
    while (!path.empty() && text.find(path) != std::string::npos) text.replace(text.find(path), path.size(), "FILE");
    return text;
  }
  return "no error";
}

}  // namespace heed
