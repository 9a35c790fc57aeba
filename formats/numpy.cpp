#include "formats/internal/named_tensor.h"
#include "formats/internal/zip.h"

#include <heed/autograd/half.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/files/file.h>
#include <heed/files/utf8.h>
#include <heed/formats/numpy.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

namespace heed {
namespace {

static_assert(std::endian::native == std::endian::little);

struct NpyHeader {
  char kind = '\0';  // 'f', 'i', 'u' or 'b'
  int bytes = 0;     // of an element
  bool is_big_endian = false, is_fortran = false;
  Shape shape;
  std::string_view data;  // shape.numel() elements
};

// Reads the header of a .npy file: a dictionary of Python, {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class NpyHeaderParser {
 public:
  NpyHeaderParser(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  NpyHeader parse() {
    NpyHeader header;
    std::set<std::string_view> keys;
    expect("{");
    while (!accept("}")) {
      const std::string_view key = string();
      if (!keys.insert(key).second) refuse();
      expect(":");
      if (key == "descr") {
        set_type(header);
      } else if (key == "fortran_order") {
        header.is_fortran = accept("True");
        if (!header.is_fortran) expect("False");
      } else if (key == "shape") {
        header.shape = shape();
      } else {
        refuse();
      }
      if (!accept(",")) {
        expect("}");
        break;
      }
    }
    skip_spaces();
    if (keys.size() != 3 || !text_.empty()) refuse();
    return header;
  }

 private:
  [[noreturn]] void refuse() const { fail("{}: damaged header of a .npy file: '{}'", source_, excerpt(whole_)); }
  void skip_spaces() { text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size())); }
  bool accept(std::string_view word) {
    skip_spaces();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) {
    if (!accept(word)) refuse();
  }
  std::string_view string() {
    skip_spaces();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) refuse();
    const std::size_t end = text_.find(text_[0], 1);
    if (end == std::string_view::npos) refuse();
    const std::string_view value = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return value;
  }
  Shape shape() {
    std::vector<std::int64_t> sizes;
    expect("(");
    while (!accept(")")) {
      skip_spaces();
      std::int64_t size = -1;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) refuse();
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      sizes.push_back(size);
      if (sizes.size() > Shape::max_rank) fail("{}: the array has more than {} axes", source_, Shape::max_rank);
      if (accept(",")) continue;
      expect(")");
      break;
    }
    return Shape(sizes);
  }
  void set_type(NpyHeader& header) {
    if (accept("[")) fail("{}: the array holds records; save each of its fields, x['field']", source_);
    const std::string_view type = string();
    if (type.size() < 2) refuse();
    const char order = type[0];
    header.kind = type[1];
    if (header.kind == 'O') {
      fail("{}: the array holds Python objects, which only Python can read; save numbers, x.astype('float32')",
           source_);
    }
    const std::string_view size = type.substr(2);
    header.bytes = size.size() == 1 ? size[0] - '0' : 0;
    const bool is_known = (header.kind == 'b' && header.bytes == 1) ||
                          (header.kind == 'f' && (header.bytes == 2 || header.bytes == 4 || header.bytes == 8)) ||
                          ((header.kind == 'i' || header.kind == 'u') &&
                           (header.bytes == 1 || header.bytes == 2 || header.bytes == 4 || header.bytes == 8));
    if (!is_known || std::string_view("<>|=").find(order) == std::string_view::npos) {
      fail(
          "{}: elements of type '{}' are not supported; expected floating-point numbers of 2, 4 or 8 bytes, integers "
          "or booleans",
          source_, excerpt(type));
    }
    header.is_big_endian = order == '>';
  }

  std::string_view text_;
  const std::string_view whole_ = text_;
  const std::string& source_;
};

// Reads the header of a file of `size` bytes that begins with `bytes`, which hold the header.
NpyHeader header_of(std::string_view bytes, std::uint64_t size_of_file, const std::string& source) {
  constexpr std::string_view magic = "\x93NUMPY";
  if (!bytes.starts_with(magic)) fail("{}: is not a .npy file: it does not begin with \\x93NUMPY", source);
  const std::size_t wide = bytes.size() > 6 && bytes[6] > 1 ? 4 : 2;  // bytes of the header's length
  if (bytes.size() < 8 + wide) fail("{}: the .npy file was cut off within its header", source);
  if (bytes[6] < 1 || bytes[6] > 3) {
    fail("{}: version {} of the .npy format is not known; expected 1 to 3", source,
         static_cast<unsigned char>(bytes[6]));
  }
  std::size_t length = 0;
  for (std::size_t i = wide; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[8 + i]);
  if (length > size_of_file - 8 - wide) fail("{}: the .npy file was cut off within its header", source);
  if (length > bytes.size() - 8 - wide) fail("{}: the header of {} bytes is too long", source, length);
  NpyHeader header = NpyHeaderParser(bytes.substr(8 + wide, length), source).parse();
  header.data = bytes.substr(8 + wide + length);
  const std::int64_t count = checked_numel(source.c_str(), header.shape);
  const std::uint64_t size = static_cast<std::uint64_t>(header.bytes), given = size_of_file - 8 - wide - length;
  if (given / size != static_cast<std::uint64_t>(count) || given % size != 0) {
    fail("{}: shape {} needs {} elements of {} bytes, but the file has {} bytes of them", source,
         to_string(header.shape), count, header.bytes, given);
  }
  return header;
}

NpyHeader header_of(std::string_view bytes, const std::string& source) {
  return header_of(bytes, bytes.size(), source);
}

// Calls f(T) with the elements' type.
template <class Function>
void with_type(const NpyHeader& header, const Function& f) {
  if (header.kind == 'f') {
    return header.bytes == 2 ? f(Float16{}) : header.bytes == 4 ? f(float{}) : f(double{});
  }
  const bool is_signed = header.kind == 'i';
  switch (header.bytes) {
    case 1:
      return is_signed ? f(std::int8_t{}) : f(std::uint8_t{});
    case 2:
      return is_signed ? f(std::int16_t{}) : f(std::uint16_t{});
    case 4:
      return is_signed ? f(std::int32_t{}) : f(std::uint32_t{});
    default:
      return is_signed ? f(std::int64_t{}) : f(std::uint64_t{});
  }
}

// Passes each element to put(index in row-major order, element).
template <class From, class Put>
void for_each(const NpyHeader& header, const Put& put) {
  const std::int64_t count = header.shape.numel();
  const int rank = header.shape.rank();
  std::array<std::int64_t, Shape::max_rank> index{};  // in Fortran order, the first axis runs fastest
  const Shape strides = row_major_strides(header.shape);
  std::int64_t place = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::array<char, sizeof(From)> bytes;
    std::memcpy(bytes.data(), header.data.data() + static_cast<std::size_t>(i) * sizeof(From), sizeof(From));
    if (header.is_big_endian) std::ranges::reverse(bytes);
    put(header.is_fortran ? place : i, std::bit_cast<From>(bytes));
    for (int axis = 0; header.is_fortran && axis < rank; ++axis) {
      place += strides[axis];
      if (++index[static_cast<std::size_t>(axis)] < header.shape[axis]) break;
      place -= strides[axis] * header.shape[axis];
      index[static_cast<std::size_t>(axis)] = 0;
    }
  }
}

std::string npy_bytes(const char* type, const Shape& shape, std::string_view data) {
  std::string sizes;
  for (const std::int64_t size : shape) sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", size);
  if (shape.rank() == 1) sizes += ",";
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, sizes);
  constexpr std::size_t before = 10, alignment = 64;  // magic, version and length; the data begin at a multiple of 64
  header.append(alignment - 1 - (before + header.size()) % alignment, ' ');
  header += '\n';
  std::string text = "\x93NUMPY\x01";
  text += '\0';
  text += static_cast<char>(header.size() & 0xFF);
  text += static_cast<char>(header.size() >> 8);
  return text + header + std::string(data);
}

template <class T>
std::string npy_bytes(const char* type, const Array<T>& x) {
  return npy_bytes(type, x.shape(),
                   {reinterpret_cast<const char*>(x.data()), static_cast<std::size_t>(x.numel()) * sizeof(T)});
}

}  // namespace

Tensor parse_npy(std::string_view bytes, const std::string& source) {
  const NpyHeader header = header_of(bytes, source);
  const bool is_double = header.kind == 'f' ? header.bytes == 8 : header.bytes > 1;
  Tensor result(header.shape, is_double ? DType::float64 : DType::float32, source.c_str());
  dispatch(result.dtype(), [&]<class T>() {
    T* const to = result.mutable_data<T>();
    with_type(header, [&]<class From>(From) {
      for_each<From>(header, [&](std::int64_t i, From x) { to[i] = static_cast<T>(x); });
    });
  });
  return result;
}

Ids parse_npy_ids(std::string_view bytes, const std::string& source) {
  const NpyHeader header = header_of(bytes, source);
  if (header.kind == 'f') fail("{}: expected integers, got floating-point numbers; read_npy() reads them", source);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(header.shape.numel()));
  with_type(header, [&]<class From>(From) {
    if constexpr (std::is_integral_v<From>) {
      for_each<From>(header, [&](std::int64_t i, From x) {
        if (!std::in_range<std::int32_t>(x)) fail("{}: {} does not fit in 32 bits", source, x);
        ids[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(x);
      });
    }
  });
  return Ids(header.shape, std::move(ids));
}

Tensor read_npy(const std::filesystem::path& path) { return parse_npy(read_file(path), path.string()); }
Ids read_npy_ids(const std::filesystem::path& path) { return parse_npy_ids(read_file(path), path.string()); }

std::string format_npy(const Tensor& x) {
  check_defined("write_npy", {&x});
  if (x.dtype() == DType::bfloat16 || is_in_blocks(x.dtype())) {
    fail("write_npy: NumPy has no type {}; write x.to(DType::float32), or x.clone() of a type of blocks",
         to_string(x.dtype()));
  }
  const NoRecording constants;
  const Tensor dense = x.is_contiguous() ? x.detach() : x.detach().clone();
  return dispatch_stored(dense.dtype(), [&]<class T>() {
    const char* const type = sizeof(T) == 2 ? "<f2" : sizeof(T) == 4 ? "<f4" : "<f8";
    return npy_bytes(type, x.shape(),
                     {reinterpret_cast<const char*>(dense.data<T>()), static_cast<std::size_t>(x.numel()) * sizeof(T)});
  });
}

void write_npy(const std::filesystem::path& path, const Tensor& x) { write_file(path, format_npy(x)); }
void write_npy(const std::filesystem::path& path, const Ids& x) { write_file(path, npy_bytes("<i4", x)); }
void write_npy(const std::filesystem::path& path, const Booleans& x) {
  std::vector<std::uint8_t> values;
  for (const std::uint8_t value : x) values.push_back(value != 0);
  write_file(path, npy_bytes("|b1", Booleans(x.shape(), std::move(values))));
}

const Tensor& NumpyArrays::operator[](const std::string& name) const& {
  return named_tensor(*this, name, "read_npz: no array");
}

NumpyArrays parse_npz(std::string_view bytes, const std::string& source) {
  NumpyArrays arrays;
  const auto where = [&](const std::string& name) { return fmt::format("{}: '{}'", source, excerpt(name)); };
  const auto check = [&](const std::string& name, std::string_view beginning, std::uint64_t size) {
    if (!name.ends_with(".npy")) fail("{} is not a .npy file; expected an archive of numpy.savez", where(name));
    header_of(beginning, size, where(name));
  };
  for (auto& [name, text] : read_zip(bytes, source, check)) {
    arrays.emplace_back(name.substr(0, name.size() - 4), parse_npy(text, where(name)));
    text = {};
  }
  return arrays;
}

NumpyArrays read_npz(const std::filesystem::path& path) { return parse_npz(read_file(path), path.string()); }

void write_npz(const std::filesystem::path& path, const NamedTensors& arrays) {
  std::vector<std::pair<std::string, std::string>> files;
  std::set<std::string> names;
  for (const auto& [name, tensor] : arrays) {
    if (name.empty() || name.size() > 1000 || !names.insert(name).second) {
      fail("write_npz: expected names that differ, of 1 to 1000 bytes, got '{}'", excerpt(name));
    }
    files.emplace_back(name + ".npy", format_npy(tensor));
  }
  write_file(path, write_zip(files));
}

}  // namespace heed
