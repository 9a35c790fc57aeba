#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/tensor.h>

#include <fmt/ranges.h>  // before Shape, which is a range, is formatted

#include <concepts>
#include <iosfwd>
#include <string>
#include <string_view>

/// @file
/// Tensors, arrays, shapes and dtypes as text: fmt::print("{}\n", x) or std::cout << x. Format specifications are those
/// of strings: {:>20}. With a precision or a type of numbers, {:.4} or {:8.2f}, they are those of the number in a tensor of one
/// element; formatting a tensor of more throws Error.
namespace heed {

/// Returns the values as NumPy's str() prints them: 8 digits after the point, aligned columns, lines of up to 75
/// characters. Above 1000 values it shows the first and last 3 along each axis. The dtype follows when it is not float32;
/// the shape follows when values are omitted and when the tensor is empty. An undefined tensor gives "undefined".
///
///     [[1.   2.5 ]
///      [3.   4.25]]
std::string to_string(const Tensor& x);

/// Returns the values in the same form: integers, or True and False for Booleans.
std::string to_string(const Ids& x);
std::string to_string(const Booleans& x);  ///< True and False

/// Write to_string() of the value.
std::ostream& operator<<(std::ostream& out, const Tensor& x);
std::ostream& operator<<(std::ostream& out, const Ids& x);       ///< writes to_string(x)
std::ostream& operator<<(std::ostream& out, const Shape& x);     ///< writes to_string(x)
std::ostream& operator<<(std::ostream& out, DType x);            ///< writes to_string(x)
std::ostream& operator<<(std::ostream& out, const Booleans& x);  ///< writes to_string(x)

#ifndef HEED_DOXYGEN
namespace detail {

template <class T>
struct StringFormatter : fmt::formatter<std::string_view> {
  auto format(const T& value, auto& context) const {
    return fmt::formatter<std::string_view>::format(std::string_view(to_string(value)), context);
  }
};

class TensorFormatter {
 public:
  constexpr auto parse(fmt::format_parse_context& context) {
    for (auto at = context.begin(); at != context.end() && *at != '}'; ++at) {
      is_number_ = is_number_ || *at == '.' || std::string_view("aAeEfFgG").find(*at) != std::string_view::npos;
    }
    return is_number_ ? number_.parse(context) : text_.parse(context);
  }
  auto format(const Tensor& x, auto& context) const {
    return is_number_ ? number_.format(x.item(), context) : text_.format(x, context);
  }

 private:
  bool is_number_ = false;
  fmt::formatter<double> number_{};
  StringFormatter<Tensor> text_{};
};

}  // namespace detail
}  // namespace heed

template <std::derived_from<heed::Tensor> T>  // Parameter, too
struct fmt::formatter<T> : heed::detail::TensorFormatter {};
template <>
struct fmt::formatter<heed::Ids> : heed::detail::StringFormatter<heed::Ids> {};
template <>
struct fmt::formatter<heed::Booleans> : heed::detail::StringFormatter<heed::Booleans> {};
template <>
struct fmt::formatter<heed::Shape> : heed::detail::StringFormatter<heed::Shape> {};
template <>
struct fmt::formatter<heed::DType> : heed::detail::StringFormatter<heed::DType> {};
#endif
