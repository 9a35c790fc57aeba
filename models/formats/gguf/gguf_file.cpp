#include "models/formats/gguf/gguf_file.h"

#include "autograd/cpu/blocks.h"

#include <heed/files/utf8.h>

#include <algorithm>
#include <cstring>

namespace heed {
namespace {

// Codes of the types of metadata.
enum class Type : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, flag, text, list, u64, i64, f64 };

constexpr std::size_t smallest_value = 1, smallest_text = 8, smallest_tensor = 24;  // bytes
constexpr std::uint64_t longest_list = 1 << 24;  // an item takes more memory than its bytes in the file

// A type of numbers.
struct NumberType {
  std::uint32_t code;  // in a file
  const char* name;
  DType dtype;
};
constexpr NumberType number_types[] = {
    {0, "F32", DType::float32}, {1, "F16", DType::float16}, {30, "BF16", DType::bfloat16}, {8, "Q8_0", DType::q8_0},
    {2, "Q4_0", DType::q4_0},   {3, "Q4_1", DType::q4_1},   {6, "Q5_0", DType::q5_0},      {7, "Q5_1", DType::q5_1},
    {12, "Q4_K", DType::q4_k},  {13, "Q5_K", DType::q5_k},  {14, "Q6_K", DType::q6_k}};

// Reads a file from the front.
class GgufReader {
 public:
  GgufReader(const OpenFile& file, const std::string& path) : file_(file), path_(path) {}

  std::uint64_t at() const { return begin_ + at_; }

  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(number<std::uint64_t>())); }

  // Reads a number of items. Each item takes at least this many bytes.
  std::uint64_t count(std::size_t least_bytes) {
    const auto items = number<std::uint64_t>();
    if (items > (file_.size() - at()) / least_bytes) wrong("it ends before {} items that it announces", items);
    return items;
  }

  LargeJson value(Type type, bool in_list = false) {
    switch (type) {
      case Type::u8:
        return number<std::uint8_t>();
      case Type::i8:
        return number<std::int8_t>();
      case Type::u16:
        return number<std::uint16_t>();
      case Type::i16:
        return number<std::int16_t>();
      case Type::u32:
        return number<std::uint32_t>();
      case Type::i32:
        return number<std::int32_t>();
      case Type::f32:
        return number<float>();
      case Type::flag:
        return number<std::uint8_t>() != 0;
      case Type::text:
        return text();
      case Type::u64:
        return number<std::uint64_t>();
      case Type::i64:
        return number<std::int64_t>();
      case Type::f64:
        return number<double>();
      case Type::list:
        break;
    }
    if (type != Type::list || in_list) wrong("unknown type {} of a value", static_cast<std::uint32_t>(type));
    const auto of_items = static_cast<Type>(number<std::uint32_t>());
    const std::uint64_t items = count(of_items == Type::text ? smallest_text : smallest_value);
    if (items > longest_list) wrong("a list of {} items; heed reads up to {}", items, longest_list);
    LargeJson list = LargeJson::array();
    for (std::uint64_t i = 0; i < items; ++i) list.push_back(value(of_items, true));
    return list;
  }

  template <class... T>
  [[noreturn]] void wrong(fmt::format_string<T...> format, T&&... values) const {
    fail("{}: not a GGUF file that heed reads, at byte {}: {}", path_, at(),
         fmt::format(format, std::forward<T>(values)...));
  }

 private:
  std::string_view take(std::uint64_t bytes) {
    if (bytes > file_.size() - at()) wrong("it ends before {} bytes that it announces", bytes);
    if (bytes > held_.size() - at_) {
      constexpr std::uint64_t chunk = 1 << 20;
      begin_ = at();
      at_ = 0;
      held_ = file_.read(begin_, std::min(file_.size() - begin_, std::max(bytes, chunk)));
    }
    const std::string_view taken = std::string_view(held_).substr(at_, bytes);
    at_ += bytes;
    return taken;
  }

  const OpenFile& file_;
  const std::string& path_;
  std::string held_;  // bytes from begin_ on
  std::uint64_t begin_ = 0;
  std::size_t at_ = 0;
};

StoredTensor read_entry(GgufReader& reader, std::uint64_t file_size) {
  StoredTensor tensor;
  tensor.name = reader.text();
  const auto axes = reader.number<std::uint32_t>();
  if (axes == 0 || axes > 4) reader.wrong("tensor '{}' has {} axes", excerpt(tensor.name), axes);
  std::vector<std::int64_t> sizes;
  double numbers = 1;
  for (std::uint32_t axis = 0; axis < axes; ++axis) {
    const auto size = reader.number<std::uint64_t>();
    numbers *= static_cast<double>(size);
    if (size == 0 || numbers > 16.0 * static_cast<double>(file_size)) {
      reader.wrong("tensor '{}' has an axis of {}, which the file cannot hold", excerpt(tensor.name), size);
    }
    sizes.insert(sizes.begin(), static_cast<std::int64_t>(size));
  }
  const auto code = reader.number<std::uint32_t>();
  const auto* const type = std::ranges::find(number_types, code, &NumberType::code);
  if (type == std::end(number_types)) {
    std::string known;
    for (const NumberType& one : number_types) known += fmt::format("{}{}", known.empty() ? "" : ", ", one.name);
    reader.wrong("tensor '{}' has the type {}; heed reads {}", excerpt(tensor.name), code, known);
  }
  const cpu::BlockLayout block = cpu::block_layout(type->dtype);
  if (sizes.back() % block.numbers != 0) {
    reader.wrong("tensor '{}' has rows of {} numbers, which {} cannot hold", excerpt(tensor.name), sizes.back(),
                 type->name);
  }
  tensor.shape = Shape(sizes);
  tensor.dtype = type->dtype;
  tensor.type = type->name;
  tensor.begin = reader.number<std::uint64_t>();
  tensor.end = static_cast<std::uint64_t>(tensor.shape.numel() / block.numbers * block.bytes);  // its length, so far
  return tensor;
}

}  // namespace

GgufFile::GgufFile(const std::filesystem::path& path) : path_(path.string()), file_(path) {
  GgufReader reader(file_, path_);
  if (file_.size() >= 8 && is_lfs_pointer(file_.read(0, 8))) fail("{}: {}", path_, lfs_pointer);
  if (file_.size() < 4 || file_.read(0, 4) != "GGUF") fail("{}: not a GGUF file: it does not begin with GGUF", path_);
  if (file_.size() < 24) fail("{}: a GGUF file of {} bytes; is it truncated?", path_, file_.size());
  reader.number<std::uint32_t>();
  const auto version = reader.number<std::uint32_t>();
  if (version != 2 && version != 3) reader.wrong("version {}; heed reads 2 and 3, of little-endian machines", version);
  const std::uint64_t tensors = reader.count(smallest_tensor), values = reader.count(smallest_text);
  for (std::uint64_t i = 0; i < values; ++i) {
    const std::string name = reader.text();
    const auto type = static_cast<Type>(reader.number<std::uint32_t>());
    if (!metadata_.emplace(name, reader.value(type)).second) reader.wrong("'{}' occurs twice", excerpt(name));
  }
  std::uint64_t alignment = 32;
  if (const auto found = metadata_.find("general.alignment"); found != metadata_.end()) {
    alignment = found->second.is_number_unsigned() ? found->second.get<std::uint64_t>() : 0;
  }
  if (alignment == 0 || alignment % 8 != 0 || alignment > 1 << 20)
    reader.wrong("general.alignment must be an unsigned multiple of 8, up to {}", 1 << 20);
  std::map<std::string, bool> names;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    tensors_.push_back(read_entry(reader, file_.size()));
    if (!names.emplace(tensors_.back().name, true).second) {
      reader.wrong("tensor '{}' occurs twice", excerpt(tensors_.back().name));
    }
  }
  data_begin_ = (reader.at() + alignment - 1) / alignment * alignment;
  const std::uint64_t room = file_.size() > data_begin_ ? file_.size() - data_begin_ : 0;
  for (StoredTensor& tensor : tensors_) {
    if (tensor.begin % alignment != 0 || tensor.begin > room || tensor.end > room - tensor.begin) {
      reader.wrong("tensor '{}' lies outside the file: {} bytes from byte {} of {}", excerpt(tensor.name), tensor.end,
                   tensor.begin, room);
    }
    tensor.end += tensor.begin;
  }
  std::vector<const StoredTensor*> in_order;
  for (const StoredTensor& tensor : tensors_) in_order.push_back(&tensor);
  std::ranges::sort(in_order, {}, &StoredTensor::begin);
  for (std::size_t i = 1; i < in_order.size(); ++i) {
    if (in_order[i]->begin >= in_order[i - 1]->end) continue;
    reader.wrong("the tensors '{}' and '{}' overlap", excerpt(in_order[i - 1]->name), excerpt(in_order[i]->name));
  }
}

Tensor GgufFile::read(const StoredTensor& stored) const {
  const auto bytes = std::make_shared<std::string>(file_.read(data_begin_ + stored.begin, stored.end - stored.begin));
  return Tensor(stored.shape, stored.dtype, bytes->data(), bytes);
}

Tensor GgufFile::map(const StoredTensor& stored) {
  if (!mapped_) mapped_.emplace(path_);
  if (mapped_->size() < data_begin_ + stored.end) fail("{}: it was cut while it was read; try again", path_);
  return Tensor(stored.shape, stored.dtype, mapped_->data() + data_begin_ + stored.begin, mapped_->owner());
}

}  // namespace heed
