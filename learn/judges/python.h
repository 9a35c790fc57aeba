#pragma once
#include "given/array.h"

#include <string>
#include <utility>
#include <vector>

namespace learn {

/// An argument of a function in Python: an array, integers, or one axis of numbers.
struct PythonArgument {
  std::string text;
  PythonArgument(const Array& x);
  PythonArgument(const std::vector<int>& x);
  PythonArgument(const std::vector<double>& x);
};

/// Loads a step's file in Python, whose functions those below then call; starts python3 at the first call.
void start_python(const std::string& answer_py, const std::string& step);

/// Calls a function of the step and returns its results. Throws NotWritten, std::invalid_argument for a ValueError, and
/// std::runtime_error with the message of another exception.
std::vector<Array> python(const std::string& function, const std::vector<PythonArgument>& arguments);
/// Like python(), for a function that returns one result, or two.
Array python_one(const std::string& function, const std::vector<PythonArgument>& arguments);
std::pair<Array, Array> python_pair(const std::string& function, const std::vector<PythonArgument>& arguments);
/// Calls a function that returns a text.
std::string python_text(const std::string& function);

}  // namespace learn
