#include "files/digest.h"
#include "files/half.h"
#include "files/json.h"

#include <heed/files/file.h>
#include <heed/files/safetensors.h>
#include <heed/files/utf8.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

namespace heed {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::uint64_t largest_header = 100'000'000;  // the format's own limit
constexpr int deepest_header = 3;                      // {"name": {"shape": [...]}}
constexpr const char* metadata_key = "__metadata__";
constexpr const char* digest_key = "heed.digest";

constexpr std::size_t digest_digits = 16;

// Where `digits` are in a header as the value of heed.digest.
std::size_t digest_position(std::string_view header, std::string_view digits) {
  return header.find(digits, header.find(fmt::format("\"{}\"", digest_key)));
}

// Of data and header, in which the digest's own digits are 0.
std::string digest_of(std::string_view header, std::string_view data) {
  return hexadecimal(xxh64(data, xxh64(header)));
}

// A type of the format, and what it becomes.
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

// The bytes of a tensor, and the name of their type. Error for a finite number that would become infinite.
std::pair<std::string, std::string> bytes_of(const Tensor& tensor, StoredAs stored) {
  std::string data;
  const Tensor values = tensor.is_contiguous() ? tensor : tensor.clone();
  const auto n = static_cast<std::size_t>(values.numel());
  if (stored == StoredAs::as_it_is) {
    dispatch(values.dtype(),
             [&]<class T>() { data.assign(reinterpret_cast<const char*>(values.data<T>()), n * sizeof(T)); });
    return {std::move(data), values.dtype() == DType::float32 ? "F32" : "F64"};
  }
  const bool is_f16 = stored == StoredAs::F16;
  const char* type = is_f16 ? "F16" : "BF16";
  std::vector<std::uint16_t> halves(n);
  dispatch(values.dtype(), [&]<class T>() {
    const T* from = values.data<T>();
    for (std::size_t i = 0; i < n; ++i) {
      const float x = to_odd(static_cast<double>(from[i]));
      halves[i] = is_f16 ? to_f16(x) : to_bf16(x);
      if ((halves[i] & 0x7fffU) != (is_f16 ? 0x7c00U : 0x7f80U) || std::isinf(from[i])) continue;
      fail("value {} (from 0) is {}, which {} cannot hold: its largest is {}; choose {}", i, from[i], type,
           is_f16 ? "65504" : "3.3895e+38", is_f16 ? "BF16 or as_it_is" : "as_it_is");
    }
  });
  data.assign(reinterpret_cast<const char*>(halves.data()), n * sizeof(std::uint16_t));
  return {std::move(data), type};
}

struct Entry {
  std::string name;
  Shape shape;
  DType dtype;
  std::string stored;
  std::uint64_t begin, end;
};

class Parser {
 public:
  Parser(std::string_view bytes, const std::string& source) : source_(source), bytes_(bytes) {}

  SafeTensors parse() {
    const Json header = parse_header();
    SafeTensors content;
    std::vector<Entry> entries;
    for (const auto& [name, value] : header.items()) {
      if (name == metadata_key) {
        content.metadata = metadata(value);
      } else {
        entries.push_back(entry(name, value));
      }
    }
    check_cover(entries);
    content.has_digest = check_digest(content.metadata);
    content.metadata.erase(digest_key);
    for (const Entry& e : entries) {
      Tensor tensor(e.shape, e.dtype);
      read_into(tensor, e.stored, data_.data() + e.begin);
      if (e.stored != "F32" && e.stored != "F64") {
        content.converted.push_back(fmt::format("{}: {} as {}", excerpt(e.name), e.stored, to_string(e.dtype)));
      }
      content.tensors.emplace_back(e.name, tensor);
    }
    return content;
  }

 private:
  template <class... Args>
  [[noreturn]] void wrong(fmt::format_string<Args...> format, Args&&... args) const {
    fail("{}: not a safetensors file: {}", source_, fmt::format(format, std::forward<Args>(args)...));
  }

  Json parse_header() {
    std::uint64_t length = 0;
    if (bytes_.size() < sizeof length) {
      wrong("expected 8 bytes of header length, got {} bytes. Is it cut?", bytes_.size());
    }
    std::memcpy(&length, bytes_.data(), sizeof length);
    if (length > largest_header) wrong("header length {} is above the limit of {} bytes", length, largest_header);
    if (length > bytes_.size() - sizeof length) {
      wrong("expected a header of {} bytes, got {}. Is it cut?", length, bytes_.size() - sizeof length);
    }
    header_ = bytes_.substr(sizeof length, length);
    data_ = bytes_.substr(sizeof length + length);
    if (!header_.starts_with('{')) wrong("the header must begin with '{{'");

    try {
      return parse_json(header_, deepest_header);
    } catch (const Error& error) {
      wrong("the header: {}", error.what());
    }
  }

  // Whether there is a digest. A damaged name of one, which differs in a character, does not hide it.
  bool check_digest(const std::map<std::string, std::string>& metadata) const {
    const std::string_view key = digest_key;
    auto digest = metadata.find(digest_key);
    if (digest == metadata.end()) {
      digest = std::ranges::find_if(metadata, [&](const auto& entry) {
        const std::string& name = entry.first;
        return name.size() == key.size() &&
               std::inner_product(name.begin(), name.end(), key.begin(), 0, std::plus(), std::not_equal_to()) == 1;
      });
    }
    if (digest == metadata.end()) return false;
    const auto& [name, digits] = *digest;
    std::string header(header_);
    const std::size_t at = digest_position(header_, digits);
    if (name == key && digits.size() == digest_digits && at != header.npos)
      header.replace(at, digest_digits, digest_digits, '0');
    if (digest_of(header, data_) == digits) return true;
    fail(
        "{}: its bytes are not those that were written: they do not give its digest. Is the disk damaged, or was it "
        "changed by another program? That has to leave out the metadata '{}'",
        source_, digest_key);
  }

  std::map<std::string, std::string> metadata(const Json& value) const {
    if (!value.is_object()) wrong("{} must be an object of strings, got {}", metadata_key, value.type_name());
    std::map<std::string, std::string> result;
    for (const auto& [name, text] : value.items()) {
      if (!text.is_string()) wrong("{} '{}' must be a string, got {}", metadata_key, excerpt(name), text.type_name());
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

  Entry entry(const std::string& full_name, const Json& value) const {
    const std::string name = excerpt(full_name);
    if (!value.is_object()) wrong("tensor '{}' must be an object, got {}", name, value.type_name());
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (!value.contains(field)) wrong("tensor '{}' has no {}", name, field);
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

    Entry e{full_name,
            Shape(shape),
            type->dtype,
            type->name,
            static_cast<std::uint64_t>(offsets[0]),
            static_cast<std::uint64_t>(offsets[1])};
    if (e.begin > e.end || e.end > data_.size()) {
      wrong("tensor '{}': data_offsets [{}, {}] are outside the {} bytes of data. Is it cut?", name, e.begin, e.end,
            data_.size());
    }
    std::int64_t size = type->bytes;  // of the sizes above 0: their products are strides even of an empty tensor
    for (const std::int64_t n : shape) {
      if (__builtin_mul_overflow(size, std::max<std::int64_t>(n, 1), &size)) {
        wrong("tensor '{}': shape {} overflows", name, to_string(e.shape));
      }
    }
    if (std::ranges::find(shape, 0) != shape.end()) size = 0;
    if (static_cast<std::uint64_t>(size) != e.end - e.begin) {
      wrong("tensor '{}': shape {} of {} needs {} bytes, data_offsets give {}", name, to_string(e.shape), e.stored,
            size, e.end - e.begin);
    }
    return e;
  }

  // The tensors must cover the data without a gap or an overlap.
  void check_cover(std::vector<Entry> entries) const {
    std::ranges::sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
    std::uint64_t covered = 0;
    for (const Entry& e : entries) {
      if (e.begin != covered) {
        wrong(
            "tensor '{}' begins at byte {} of the data, expected {}: tensors must neither overlap nor leave "
            "gaps",
            excerpt(e.name), e.begin, covered);
      }
      covered = e.end;
    }
    if (covered != data_.size()) {
      wrong("{} bytes of data, but its tensors cover {}", data_.size(), covered);
    }
  }

  std::string source_;
  std::string_view bytes_;
  std::string_view header_, data_;
};

}  // namespace

const Tensor& SafeTensors::operator[](const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& [key, tensor] : tensors) {
    if (key == name) return tensor;
    names.push_back(key);
  }
  fail("safetensors: no tensor '{}' among {}{}", name, tensors.size(), did_you_mean(name, names));
}

namespace {

// Error for more names than an object of the header may have. One is its own: the metadata's, or the digest's.
void check_count(const std::filesystem::path& path, const char* what, std::size_t count) {
  if (count < max_json_keys) return;
  fail("{}: {} {}; at most {} can be read from one file, so choose several", path.string(), count, what,
       max_json_keys - 1);
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const SafeTensors& content, StoredAs stored) {
  check_count(path, "tensors", content.tensors.size());
  check_count(path, "entries of metadata", content.metadata.size());
  Json header = Json::object();
  const std::string no_digest(digest_digits, '0');
  header[metadata_key] = content.metadata;
  header[metadata_key][digest_key] = no_digest;
  std::string data;
  for (const auto& [name, tensor] : content.tensors) {
    if (name == metadata_key || header.contains(name)) {
      fail("{}: tensor name '{}' is {}", path.string(), excerpt(name),
           name == metadata_key ? "reserved" : "given twice");
    }
    const std::size_t begin = data.size();
    std::string bytes, type;
    try {
      std::tie(bytes, type) = bytes_of(tensor, stored);
    } catch (const Error& error) {
      fail("{}: tensor '{}': {}", path.string(), excerpt(name), error.what());
    }
    data += bytes;
    header[name] = {{"dtype", type},
                    {"shape", std::vector<std::int64_t>(tensor.shape().begin(), tensor.shape().end())},
                    {"data_offsets", {begin, data.size()}}};
  }
  std::string text;
  try {
    text = format_json(header);
  } catch (const Error& error) {
    fail("{}: names and metadata {}", path.string(), error.what());
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begins at a multiple of 8
  if (text.size() > largest_header) {
    fail("{}: names and metadata take {} bytes; a header of at most {} can be read", path.string(), text.size(),
         largest_header);
  }
  text.replace(digest_position(text, no_digest), digest_digits, digest_of(text, data));
  const std::uint64_t length = text.size();
  write_file(path, std::string(reinterpret_cast<const char*>(&length), sizeof length) + text + data);
}

SafeTensors parse_safetensors(std::string_view bytes, const std::string& source) {
  return Parser(bytes, source).parse();
}

SafeTensors read_safetensors(const std::filesystem::path& path) {
  return parse_safetensors(read_file(path), path.string());
}
}  // namespace heed
