#pragma once
#include "given/array.h"

#include <heed/autograd/tensor.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

/// @file
/// The judge of the course. A step is a list of checks. A check compares your numbers with the expected ones, on inputs for which
/// every known mistake gives numbers of its own. It names a mistake only when your numbers equal those of that mistake.
namespace learn {

/// A text in English and in Chinese, or the same in both.
struct Text {
  std::string en, zh;
  Text(const char* both) : Text(std::string(both)) {}
  Text(const std::string& both) : en(both), zh(both) {}
  Text(std::string english, std::string chinese) : en(std::move(english)), zh(std::move(chinese)) {}
};
inline constexpr double infinity = std::numeric_limits<double>::infinity();

enum class Language { en, zh };
/// Returns the text in one language.
inline const std::string& in(Language language, const Text& text) {
  return language == Language::zh ? text.zh : text.en;
}

/// Numbers to compare, with the shape that they have.
struct Numbers {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
  Numbers(double x) : values{x} {}
  Numbers(const Array& x) : shape(x.shape.begin(), x.shape.end()), values(x.values) {}
  Numbers(const heed::Tensor& x) : shape(x.shape().begin(), x.shape().end()), values(x.to_vector()) {}
  Numbers(std::vector<double> x) : shape{std::ssize(x)}, values(std::move(x)) {}
  Numbers(const std::vector<int>& x) : shape{std::ssize(x)}, values(x.begin(), x.end()) {}
};
/// Several results of one check, each with a name ("dx").
using Results = std::vector<std::pair<Text, Numbers>>;
using Compute = std::function<Results()>;

/// A known mistake: what is wrong, where in the formula, and the numbers that it gives.
struct Mistake {
  std::string name;  ///< of the wrong solution in learn/wrong
  Text what;
  std::string formula;  ///< the correct formula, with the parts to look at in [[ ]]
  Compute compute;
};

/// One comparison.
struct Check {
  Text what;
  std::string function;  ///< of the step that is checked
  Text input;            ///< shown when the check fails
  Compute yours, expected;
  std::vector<Mistake> mistakes{};
  double tolerance = 1e-7;   ///< relative to the largest expected number, or to 1 if that is smaller
  bool is_recorded = false;  ///< differentiates yours by heed's tape, which code in Python does not use
};

/// A step of the course.
struct Step {
  int number = 0;
  std::string name;  ///< of its files: "04_softmax"
  Text title{""};
  std::vector<Check> checks;
  bool in_python = false;                          ///< judges learn/steps/NAME.py
  std::function<std::string(Language)> picture{};  ///< shown when all checks have passed, from your functions
  std::function<std::string(Language)> svg{};      ///< the same as an SVG file, for --picture
};

/// Returns the step without what it checks in C++ alone.
Step in_python(Step step);

/// Processor time that a step may use. On a busy machine, a step that is right takes long but uses no more of it.
inline constexpr int seconds_of_a_step = 60;
/// Thrown for a function in Python that has used up this time.
struct Endless {};

/// What the judge says.
struct Verdict {
  std::size_t passed = 0;            ///< checks
  bool right = false;                ///< all of them
  std::vector<std::string> named{};  ///< the mistakes whose numbers equal yours
  std::string text;
};

/// Judges a step. Stops at the first check that fails.
Verdict judge(const Step& step, Language language);
/// Judges a step, prints the verdict as it comes, and returns the exit code: 0 when it is right. Reads --language, and with
/// --picture FILE writes the step's picture.
int run(const Step& step, int argc, char** argv);

/// Returns the derivative of f by each element of x: an 8th-order central difference.
std::vector<double> numerical_gradient(const std::function<double(const std::vector<double>&)>& f,
                                       std::vector<double> x);
/// Returns the derivative of the sum of f(x) * cotangent by each element of x.
Array numerical_gradient(const std::function<Array(const Array&)>& f, const Array& x, const Array& cotangent);
/// Returns the numbers as heed's tensor, in float64.
heed::Tensor tensor_of(const Array& x);
/// Returns the numbers as a table, one row a line, with names of rows and columns if given.
std::string table(const Numbers& x, const std::vector<std::string>& rows = {},
                  const std::vector<std::string>& columns = {}, int decimals = 4);

}  // namespace learn
