#pragma once
#include <heed/autograd/error.h>

#include <string>

namespace heed {

// The text of the Error that `function` throws; "no error" when it throws none.
template <class Function>
std::string message(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace heed
