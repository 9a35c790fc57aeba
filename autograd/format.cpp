#include <heed/autograd/format.h>
#include <heed/autograd/half.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <ostream>
#include <type_traits>
#include <vector>

// Follows the rules of NumPy 2 (numpy/_core/arrayprint.py).
namespace heed {
namespace {

constexpr int precision = 8;  // digits after the point
constexpr std::int64_t threshold = 1000, edge_items = 3;
constexpr std::size_t line_width = 75;

// Returns the fewest digits that identify x, or exactly `digits` after the point.
std::string digits_of(auto x, std::chars_format format, int digits = -1) {
  std::string text(512, ' ');
  char *const begin = text.data(), *const end = begin + text.size();
  const auto result = digits < 0 ? std::to_chars(begin, end, x, format) : std::to_chars(begin, end, x, format, digits);
  text.resize(static_cast<std::size_t>(result.ptr - begin));
  return text;
}

// A number's text, split at the point and at the 'e': "-1.25e+05" becomes -1, 25, +05.
struct Parts {
  std::string whole, fraction, exponent;

  explicit Parts(const std::string& text) {
    const std::size_t e = std::min(text.find('e'), text.size()), point = std::min(text.find('.'), e);
    whole = text.substr(0, point);
    if (point < e) fraction = text.substr(point + 1, e - point - 1);
    if (e < text.size()) exponent = text.substr(e + 1);
  }
};

// Rounds to at most `precision` digits after the point and removes trailing zeros.
Parts shortest(auto x, std::chars_format format) {
  Parts parts(digits_of(x, format));
  if (parts.fraction.size() > precision) {
    parts = Parts(digits_of(x, format, precision));
    parts.fraction.erase(parts.fraction.find_last_not_of('0') + 1);
  }
  return parts;
}

// Returns the name of an infinity or NaN.
std::string name_of(auto value) { return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

// The format of all numbers of one tensor: common widths for their parts.
template <class T>
class NumberFormat {
 public:
  explicit NumberFormat(const std::vector<T>& values) {
    T largest = 0, least = std::numeric_limits<T>::infinity();
    for (const T value : values) {
      if (!std::isfinite(value) || value == 0) continue;
      largest = std::max(largest, std::abs(value));
      least = std::min(least, std::abs(value));
    }
    const T most = static_cast<T>(sizeof(T) == 4 ? 1e6 : 1e8);
    if (largest > 0 && (largest >= most || least < static_cast<T>(1e-4) || largest / least > T{1000})) {
      format_ = std::chars_format::scientific;
    }
    for (const T value : values) {
      if (!std::isfinite(value)) continue;
      const Parts parts = shortest(value, format_);
      whole_ = std::max(whole_, parts.whole.size());
      fraction_ = std::max(fraction_, parts.fraction.size());
      exponent_ = std::max(exponent_, parts.exponent.size());
    }
    width_ = whole_ + 1 + fraction_ + (exponent_ > 0 ? 1 + exponent_ : 0);
    for (const T value : values) {
      if (!std::isfinite(value)) width_ = std::max(width_, name_of(value).size());
    }
  }

  std::string operator()(T value) const {
    if (!std::isfinite(value)) return fmt::format("{:>{}}", name_of(value), width_);
    Parts parts = shortest(value, format_);
    if (format_ == std::chars_format::fixed) {
      return fmt::format("{:>{}}", fmt::format("{}.{:<{}}", parts.whole, parts.fraction, fraction_), width_);
    }
    parts.fraction.resize(fraction_, '0');
    parts.exponent.insert(1, exponent_ - parts.exponent.size(), '0');  // after its sign
    return fmt::format("{:>{}}", fmt::format("{}.{}e{}", parts.whole, parts.fraction, parts.exponent), width_);
  }

 private:
  std::chars_format format_ = std::chars_format::fixed;
  std::size_t whole_ = 0, fraction_ = 0, exponent_ = 0, width_ = 0;
};

// The format of all integers or booleans of one array: right-aligned.
template <class T>
class WordFormat {
 public:
  explicit WordFormat(const std::vector<T>& values) {
    for (const T value : values) width_ = std::max(width_, word(value).size());
  }
  std::string operator()(T value) const { return fmt::format("{:>{}}", word(value), width_); }

  static std::string word(T value) {
    if constexpr (std::is_same_v<T, std::uint8_t>) return value ? "True" : "False";
    return std::to_string(value);
  }

 private:
  std::size_t width_ = 0;
};

// Returns whether only the ends of an axis of n elements are shown.
bool is_shortened(std::int64_t n, bool summary) { return summary && n > 2 * edge_items; }

// Prints the elements, stored as S, of a tensor or an array along its axes as T; abbreviated for large ones.
template <class T, class Format, class S = T>
class Printer {
 public:
  Printer(const S* data, const Shape& shape, const Shape& strides)
      : data_(data), shape_(shape), strides_(strides), summary_(shape.numel() > threshold), format_(shown(0, 0)) {}

  // Returns the elements from `offset` on along `axis` and all later axes. `indent` precedes each line except the
  // first.
  std::string text(int axis, std::int64_t offset, std::size_t indent, std::size_t width) const {
    const int left = shape_.rank() - axis;
    std::string lines, line(indent, ' ');
    const std::int64_t n = shape_[axis];
    for (std::int64_t i = 0; i < n; ++i) {
      const bool is_gap = is_shortened(n, summary_) && i == edge_items;
      const std::int64_t from = offset + i * strides_[axis];
      if (is_gap) i = n - edge_items - 1;
      const bool is_last = i == n - 1;
      if (left > 1) {
        lines += std::string(indent, ' ') + (is_gap ? "..." : text(axis + 1, from, indent + 1, width - 1));
        if (!is_last) lines += std::string(static_cast<std::size_t>(left - 1), '\n');
        continue;
      }
      const std::string word = is_gap ? "..." : format_(data_[from]);
      if (line.size() > indent && line.size() + word.size() > width - 1) {
        lines += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line.assign(indent, ' ');
      }
      line += word;
      if (!is_last) line += ' ';
    }
    if (left == 1) lines += line;
    return fmt::format("[{}]", std::string_view(lines).substr(indent));
  }

 private:
  std::vector<T> shown(int axis, std::int64_t offset) const {
    if (axis == shape_.rank()) return {data_[offset]};
    std::vector<T> all;
    for (std::int64_t i = 0, n = shape_[axis]; i < n; ++i) {
      if (is_shortened(n, summary_) && i == edge_items) i = n - edge_items;
      const std::vector<T> inner = shown(axis + 1, offset + i * strides_[axis]);
      all.insert(all.end(), inner.begin(), inner.end());
    }
    return all;
  }

  const S* data_;
  Shape shape_, strides_;
  bool summary_;
  Format format_;
};

// Returns a single number with all its digits.
template <class T>
std::string scalar(T value) {
  if (!std::isfinite(value)) return name_of(value);
  const bool is_plain =
      value == 0 || (std::abs(value) >= static_cast<T>(1e-4) && std::abs(value) < static_cast<T>(1e16));
  const std::string text = digits_of(value, is_plain ? std::chars_format::fixed : std::chars_format::scientific);
  return is_plain && text.find('.') == std::string::npos ? text + ".0" : text;
}

template <class T>
std::string array_text(const Array<T>& x) {
  if (x.numel() == 0) return fmt::format("[] {}", x.shape());
  if (x.shape().rank() == 0) return WordFormat<T>::word(x[0]);
  const Printer<T, WordFormat<T>> printer(x.data(), x.shape(), row_major_strides(x.shape()));
  const std::string text = printer.text(0, 0, 1, line_width);
  return x.numel() > threshold ? fmt::format("{} {}", text, x.shape()) : text;
}

}  // namespace

std::string to_string(const Ids& x) { return array_text(x); }

std::string to_string(const Booleans& x) { return array_text(x); }

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << to_string(x); }

std::ostream& operator<<(std::ostream& out, const Ids& x) { return out << to_string(x); }

std::ostream& operator<<(std::ostream& out, const Booleans& x) { return out << to_string(x); }

std::ostream& operator<<(std::ostream& out, const Shape& x) { return out << to_string(x); }

std::ostream& operator<<(std::ostream& out, DType x) { return out << to_string(x); }

std::string to_string(const Tensor& x) {
  if (!x.defined()) return "undefined";
  const bool is_empty = x.numel() == 0;
  const Tensor shown = is_in_blocks(x.dtype()) ? x.detach().to(DType::float32) : x;
  std::string text = dispatch_stored(shown.dtype(), [&]<class S>() -> std::string {
    using T = Widened<S>;
    if (is_empty) return "[]";
    if (x.rank() == 0) return scalar<T>(*shown.data<S>());
    return Printer<T, NumberFormat<T>, S>(shown.data<S>(), shown.shape(), shown.strides()).text(0, 0, 1, line_width);
  });
  if (x.dtype() != DType::float32) text += fmt::format(" {}", to_string(x.dtype()));
  if (is_empty || x.numel() > threshold) text += fmt::format(" {}", x.shape());
  return text;
}

}  // namespace heed
