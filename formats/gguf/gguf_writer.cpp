#include "formats/gguf/gguf_writer.h"

#include "autograd/half.h"

#include <heed/autograd/ops.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace heed {
namespace {

constexpr std::uint64_t alignment = 32;
constexpr std::int64_t block = 32;  // numbers of Q8_0 that share a scale

// Kinds of values in the metadata.
constexpr std::uint32_t uint32_kind = 4, int32_kind = 5, float32_kind = 6, bool_kind = 7, text_kind = 8, list_kind = 9;

constexpr float max_float16 = 65504;

struct StoredType {
  const char* name;
  std::uint32_t code;
  std::int64_t numbers, bytes;  // of a block
};
constexpr StoredType stored_types[] = {{"F32", 0, 1, 4}, {"F16", 1, 1, 2}, {"BF16", 30, 1, 2}, {"Q8_0", 8, block, 34}};

const StoredType& type_named(const std::string& name) {
  return *std::ranges::find_if(stored_types, [&](const StoredType& type) { return name == type.name; });
}

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void append_text(std::string& bytes, const std::string& value) {
  append(bytes, std::uint64_t{value.size()});
  bytes += value;
}

std::uint64_t padding(std::uint64_t bytes) { return (alignment - bytes % alignment) % alignment; }

// Appends 32 numbers as ggml rounds them: a float16 scale of max |x| / 127, and integers.
void append_block(std::string& bytes, const float* x) {
  float largest = 0;
  for (std::int64_t i = 0; i < block; ++i) largest = std::max(largest, std::abs(x[i]));
  const float scale = largest / 127, inverse = scale > 0 ? 1 / scale : 0;
  append(bytes, to_f16(scale));
  for (std::int64_t i = 0; i < block; ++i) append(bytes, static_cast<std::int8_t>(std::round(x[i] * inverse)));
}

// Throws Error if float16 cannot hold a number, or the scale of a block.
void check_range(const std::string& name, const float* x, std::int64_t count, const std::string& type) {
  const float most = type == "F16"    ? max_float16
                     : type == "Q8_0" ? 127 * max_float16
                                      : std::numeric_limits<float>::max();
  const float* const beyond = std::find_if(x, x + count, [most](float v) { return !(std::abs(v) <= most); });
  if (beyond == x + count) return;
  fail("export: tensor '{}' holds {}, and {} numbers of at most {:.6g}; export with --type bf16 or exact", name,
       *beyond, type, most);
}

std::string encoded(const std::string& name, const Tensor& numbers, const std::string& type) {
  const Tensor values = contiguous(numbers);
  const float* const x = values.data<float>();
  const std::int64_t count = values.numel();
  check_range(name, x, count, type);
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(count / type_named(type).numbers * type_named(type).bytes));
  if (type == "F32") {
    bytes.assign(reinterpret_cast<const char*>(x), static_cast<std::size_t>(count) * sizeof(float));
  } else if (type == "Q8_0") {
    for (std::int64_t i = 0; i < count; i += block) append_block(bytes, x + i);
  } else {
    for (std::int64_t i = 0; i < count; ++i) append(bytes, type == "F16" ? to_f16(x[i]) : to_bf16(x[i]));
  }
  return bytes;
}

}  // namespace

void GgufWriter::entry(const std::string& key, std::uint32_t type) {
  ++entries_;
  append_text(metadata_, key);
  append(metadata_, type);
}

void GgufWriter::text(const std::string& key, const std::string& value) {
  entry(key, text_kind);
  append_text(metadata_, value);
}

void GgufWriter::number(const std::string& key, std::int64_t value) {
  entry(key, uint32_kind);
  append(metadata_, static_cast<std::uint32_t>(value));
}

void GgufWriter::real(const std::string& key, double value) {
  entry(key, float32_kind);
  append(metadata_, static_cast<float>(value));
}

void GgufWriter::flag(const std::string& key, bool value) {
  entry(key, bool_kind);
  append(metadata_, static_cast<std::uint8_t>(value));
}

void GgufWriter::texts(const std::string& key, const std::vector<std::string>& values) {
  entry(key, list_kind);
  append(metadata_, text_kind);
  append(metadata_, std::uint64_t{values.size()});
  for (const std::string& value : values) append_text(metadata_, value);
}

void GgufWriter::numbers(const std::string& key, const std::vector<std::int32_t>& values) {
  entry(key, list_kind);
  append(metadata_, int32_kind);
  append(metadata_, std::uint64_t{values.size()});
  for (const std::int32_t value : values) append(metadata_, value);
}

void GgufWriter::reals(const std::string& key, const std::vector<float>& values) {
  entry(key, list_kind);
  append(metadata_, float32_kind);
  append(metadata_, std::uint64_t{values.size()});
  for (const float value : values) append(metadata_, value);
}

bool GgufWriter::fits(const Shape& shape, const std::string& type) { return shape[-1] % type_named(type).numbers == 0; }

void GgufWriter::tensor(const std::string& name, const Shape& shape, const std::string& type,
                        std::function<Tensor()> numbers) {
  const StoredType& kind = type_named(type);
  append_text(directory_, name);
  append(directory_, static_cast<std::uint32_t>(shape.rank()));
  for (int axis = shape.rank(); axis-- > 0;) append(directory_, static_cast<std::uint64_t>(shape[axis]));
  append(directory_, kind.code);
  append(directory_, data_);
  const auto bytes = static_cast<std::uint64_t>(shape.numel() / kind.numbers * kind.bytes);
  tensors_.push_back({name, shape, type, bytes, std::move(numbers)});
  data_ += bytes + padding(bytes);
}

void GgufWriter::write(const std::filesystem::path& path) const {
  std::string head = "GGUF";
  append(head, std::uint32_t{3});
  append(head, std::uint64_t{tensors_.size()});
  append(head, entries_);
  head += metadata_ + directory_;
  head.append(padding(head.size()), '\0');
  write_file(path, [&](const std::function<void(std::string_view)>& write) {
    write(head);
    for (const Planned& tensor : tensors_) {
      write(encoded(tensor.name, tensor.numbers(), tensor.type));
      write(std::string(padding(tensor.bytes), '\0'));
    }
  });
}

}  // namespace heed
