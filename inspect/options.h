#pragma once
#include <cxxopts.hpp>

#include <istream>
#include <optional>
#include <string>

namespace heed {

// The command line of `inspect`. UsageError for options that it does not have, or that do not go together.
cxxopts::ParseResult parse_options(int argc, const char* const* argv);

std::string options_help();

// A number with nothing behind it: cxxopts would read "0,8" as 0.
struct Decimal {
  double value = 0;
};
inline std::istream& operator>>(std::istream& in, Decimal& number) {
  in >> number.value;
  if (!in.eof()) in.setstate(std::ios::failbit);
  return in;
}

template <class T>
std::optional<T> given(const cxxopts::ParseResult& arguments, const char* name) {
  if (arguments.count(name) == 0) return {};
  return arguments[name].as<T>();
}

inline double given_number(const cxxopts::ParseResult& arguments, const char* name, double usual) {
  return given<Decimal>(arguments, name).value_or(Decimal{usual}).value;
}

}  // namespace heed
