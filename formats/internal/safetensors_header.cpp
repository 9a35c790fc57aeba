#include "formats/internal/safetensors_header.h"

#include "autograd/half.h"
#include "tokenizers/internal/json.h"

#include <heed/files/utf8.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace heed {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr int deepest_header = 3;  // {"name": {"shape": [...]}}

// A type of the format, and the dtype that it becomes.
struct StoredType {
  const char* name;
  std::int64_t bytes;
  DType dtype;
};
constexpr StoredType stored_types[] = {
    {"F32", 4, DType::float32}, {"F64", 8, DType::float64}, {"F16", 2, DType::float32}, {"BF16", 2, DType::float32},
    {"I64", 8, DType::float64}, {"I32", 4, DType::float64}, {"U8", 1, DType::float32},  {"BOOL", 1, DType::float32}};

// n numbers of type `From`, wherever they begin.
template <class From, class T, class F>
void read_numbers(const char* from, T* to, std::int64_t n, F convert) {
  for (std::int64_t i = 0; i < n; ++i) {
    From value;
    std::memcpy(&value, from + i * static_cast<std::int64_t>(sizeof value), sizeof value);
    to[i] = convert(value);
  }
}

void read_into(Tensor& tensor, const std::string& stored, const char* from) {
  const std::int64_t n = tensor.numel();
  if (n == 0) return;
  const auto as_float = [](auto value) { return static_cast<float>(value); };
  const auto as_double = [](auto value) { return static_cast<double>(value); };
  if (stored == "F16") {
    read_numbers<std::uint16_t>(from, tensor.mutable_data<float>(), n, from_f16);
  } else if (stored == "BF16") {
    read_numbers<std::uint16_t>(from, tensor.mutable_data<float>(), n, from_bf16);
  } else if (stored == "I64") {
    read_numbers<std::int64_t>(from, tensor.mutable_data<double>(), n, as_double);
  } else if (stored == "I32") {
    read_numbers<std::int32_t>(from, tensor.mutable_data<double>(), n, as_double);
  } else if (stored == "U8" || stored == "BOOL") {
    read_numbers<std::uint8_t>(from, tensor.mutable_data<float>(), n, as_float);
  } else {
    dispatch(tensor.dtype(),
             [&]<class T>() { std::memcpy(tensor.mutable_data<T>(), from, static_cast<std::size_t>(n) * sizeof(T)); });
  }
}

template <class... Args>
[[noreturn]] void not_safetensors(const std::string& source, fmt::format_string<Args...> format, Args&&... args) {
  fail("{}: not a safetensors file: {}", source, fmt::format(format, std::forward<Args>(args)...));
}

class HeaderParser {
 public:
  HeaderParser(std::uint64_t data_size, const std::string& source) : data_size_(data_size), source_(source) {}

  SafeTensorsHeader parse(std::string_view text) const {
    const Json json = parsed(text);
    SafeTensorsHeader header;
    for (const auto& [name, value] : json.items()) {
      if (name == safetensors_metadata_key) {
        header.metadata = metadata(value);
      } else {
        header.tensors.push_back(entry(name, value));
      }
    }
    check_cover(header.tensors);
    return header;
  }

 private:
  template <class... Args>
  [[noreturn]] void wrong(fmt::format_string<Args...> format, Args&&... args) const {
    not_safetensors(source_, format, std::forward<Args>(args)...);
  }

  Json parsed(std::string_view text) const {
    if (!text.starts_with('{')) wrong("the header must begin with '{{'");
    try {
      return parse_json(text, deepest_header);
    } catch (const Error& error) {
      wrong("the header: {}", error.what());
    }
  }

  std::map<std::string, std::string> metadata(const Json& value) const {
    if (!value.is_object())
      wrong("{} must be an object of strings, got {}", safetensors_metadata_key, value.type_name());
    std::map<std::string, std::string> result;
    for (const auto& [name, text] : value.items()) {
      if (!text.is_string())
        wrong("{} '{}' must be a string, got {}", safetensors_metadata_key, excerpt(name), text.type_name());
      result[name] = text.get<std::string>();
    }
    return result;
  }

  // The field, a list of integers in [0, 2^63).
  std::vector<std::int64_t> integers(const std::string& name, const Json& value, const char* field) const {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const Json& list = value[field];
    std::vector<std::int64_t> result;
    if (!list.is_array()) wrong("tensor '{}': {} must be a list, got {}", name, field, list.type_name());
    for (const Json& number : list) {
      if (!number.is_number_unsigned() || number.get<std::uint64_t>() > most) {
        wrong("tensor '{}': {} must hold integers from 0 to {}, got {}", name, field, most,
              excerpt(format_json(number)));
      }
      result.push_back(number.get<std::int64_t>());
    }
    return result;
  }

  StoredTensor entry(const std::string& full_name, const Json& value) const {
    const std::string name = excerpt(full_name);
    if (!value.is_object()) wrong("tensor '{}' must be an object, got {}", name, value.type_name());
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (!value.contains(field)) wrong("tensor '{}': the field {} is missing", name, field);
    }
    for (const auto& [field, unused] : value.items()) {
      if (field != "dtype" && field != "shape" && field != "data_offsets") {
        wrong("tensor '{}': unknown field '{}'", name, excerpt(field));
      }
    }
    const Json& dtype = value["dtype"];
    const auto type = std::ranges::find_if(stored_types, [&](const StoredType& t) { return dtype == t.name; });
    if (type == std::end(stored_types)) {
      fail("{}: tensor '{}': dtype must be F32, F64, F16, BF16, I64, I32, U8 or BOOL, got {}", source_, name,
           excerpt(format_json(dtype)));
    }
    const std::vector<std::int64_t> shape = integers(name, value, "shape");
    if (shape.size() > Shape::max_rank) {
      fail("{}: tensor '{}' has {} axes: at most {} are supported", source_, name, shape.size(), Shape::max_rank);
    }
    const std::vector<std::int64_t> offsets = integers(name, value, "data_offsets");
    if (offsets.size() != 2) wrong("tensor '{}': expected 2 data_offsets, got {}", name, offsets.size());

    StoredTensor e{full_name,
                   Shape(shape),
                   type->dtype,
                   type->name,
                   static_cast<std::uint64_t>(offsets[0]),
                   static_cast<std::uint64_t>(offsets[1])};
    if (e.begin > e.end || e.end > data_size_) {
      wrong("tensor '{}': data_offsets [{}, {}] are outside the {} bytes of data. Is it truncated?", name, e.begin,
            e.end, data_size_);
    }
    std::int64_t size = type->bytes;  // of the sizes above 0: their products are strides even of an empty tensor
    for (const std::int64_t n : shape) {
      if (__builtin_mul_overflow(size, std::max<std::int64_t>(n, 1), &size)) {
        wrong("tensor '{}': shape {} overflows", name, to_string(e.shape));
      }
    }
    if (std::ranges::find(shape, 0) != shape.end()) size = 0;
    if (static_cast<std::uint64_t>(size) != e.end - e.begin) {
      wrong("tensor '{}': shape {} of {} needs {} bytes, data_offsets give {}", name, to_string(e.shape), e.type, size,
            e.end - e.begin);
    }
    return e;
  }

  // The tensors must cover the data without a gap or an overlap.
  void check_cover(std::vector<StoredTensor> entries) const {
    std::ranges::sort(entries, {}, [](const StoredTensor& e) { return std::pair(e.begin, e.end); });
    std::uint64_t covered = 0;
    for (const StoredTensor& e : entries) {
      if (e.begin != covered) {
        wrong(
            "tensor '{}' begins at byte {} of the data, expected {}: tensors must not overlap or leave "
            "gaps",
            excerpt(e.name), e.begin, covered);
      }
      covered = e.end;
    }
    if (covered != data_size_) {
      wrong("{} bytes of data, but its tensors cover {}", data_size_, covered);
    }
  }

  std::uint64_t data_size_;
  const std::string& source_;
};

}  // namespace

std::uint64_t safetensors_header_length(std::string_view bytes, std::uint64_t size, const std::string& source) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) {
    not_safetensors(source, "expected 8 bytes of header length, got {} bytes. Is it truncated?", bytes.size());
  }
  if (is_lfs_pointer(bytes)) fail("{}: {}", source, lfs_pointer);
  if (bytes.starts_with("PK\x03\x04")) not_safetensors(source, "it is a ZIP archive, as torch.save() writes");
  const std::string_view first = bytes.substr(0, sizeof length);
  if (std::ranges::all_of(first, [](unsigned char c) { return c == '\r' || c == '\n' || (c >= ' ' && c <= '~'); })) {
    not_safetensors(source, "expected the length of a header in its first 8 bytes, got the text '{}'", excerpt(first));
  }
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > largest_safetensors_header) {
    not_safetensors(source, "header length {} is above the limit of {} bytes. Is it a file of another kind?", length,
                    largest_safetensors_header);
  }
  if (length > size - sizeof length) {
    not_safetensors(source, "expected a header of {} bytes, got {}. Is it truncated?", length, size - sizeof length);
  }
  return length;
}

SafeTensorsHeader parse_safetensors_header(std::string_view header, std::uint64_t data_size,
                                           const std::string& source) {
  return HeaderParser(data_size, source).parse(header);
}

Tensor widened(const StoredTensor& stored, const char* bytes) {
  Tensor tensor(stored.shape, stored.dtype);
  read_into(tensor, stored.type, bytes);
  return tensor;
}

}  // namespace heed
