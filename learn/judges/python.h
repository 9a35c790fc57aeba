#pragma once
#include "given/array.h"
#include "judge.h"

#include <heed/autograd/array.h>
#include <heed/autograd/tensor.h>
#include <heed/nn/parameters.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace learn {

/// An argument of a function in Python: an array, a list of integers, a number, or parameters by name.
struct PythonArgument {
  std::string text;
  PythonArgument(const Array& x);
  PythonArgument(const heed::Tensor& x);
  PythonArgument(const heed::Booleans& x);
  PythonArgument(const heed::Ids& x);
  PythonArgument(const heed::Parameters& x);
  PythonArgument(const std::vector<int>& x);
  PythonArgument(int x);
  PythonArgument(double x);
  PythonArgument(const std::vector<double>& x);
};

/// Loads a step's file in Python, whose functions those below then call; starts python3 at the first call. The functions of the file may use
/// `seconds` of processor time: python() throws Endless when they have used more.
void start_python(const std::string& answer_py, const std::string& step, int seconds = seconds_of_a_step);

/// A function of the judge's that a function in Python may call.
using PythonPart = std::function<heed::Tensor(const heed::Tensor&)>;

/// Calls a function of the step and returns its results. After the arguments it gets `parts`, which it may call. Throws NotWritten, std::invalid_argument for a ValueError, and
/// std::runtime_error with the message of another exception.
std::vector<Array> python(const std::string& function, const std::vector<PythonArgument>& arguments,
                          const std::vector<PythonPart>& parts = {});
/// Like python(), for a function that returns one result, or two.
Array python_one(const std::string& function, const std::vector<PythonArgument>& arguments,
                 const std::vector<PythonPart>& parts = {});
std::pair<Array, Array> python_pair(const std::string& function, const std::vector<PythonArgument>& arguments);
/// Calls a function that returns a text.
std::string python_text(const std::string& function);

}  // namespace learn
