#include "formats/gguf/gguf_file.h"

#include "autograd/cpu/blocks.h"

#include <heed/files/utf8.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

namespace heed {
namespace {

// Codes of the types of metadata.
enum class Type : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, flag, text, list, u64, i64, f64 };

constexpr std::size_t smallest_text = 8, smallest_tensor = 24;                // bytes
constexpr std::size_t bytes_of[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};  // at least, of a value of each type

// The lists that heed uses: an item takes more memory than its bytes in the file, so it keeps only the beginning of others.
constexpr std::string_view known_lists[] = {"tokenizer.ggml.tokens", "tokenizer.ggml.scores",
                                            "tokenizer.ggml.token_type", "tokenizer.ggml.merges"};
constexpr std::uint64_t longest_list = 1 << 22, longest_beginning = 8;

// A type of numbers.
struct NumberType {
  std::uint32_t code;  // in a file
  const char* name;
  DType dtype;
};
constexpr NumberType number_types[] = {
    {0, "F32", DType::float32}, {1, "F16", DType::float16},    {30, "BF16", DType::bfloat16}, {8, "Q8_0", DType::q8_0},
    {2, "Q4_0", DType::q4_0},   {3, "Q4_1", DType::q4_1},      {6, "Q5_0", DType::q5_0},      {7, "Q5_1", DType::q5_1},
    {10, "Q2_K", DType::q2_k},  {11, "Q3_K", DType::q3_k},     {12, "Q4_K", DType::q4_k},     {13, "Q5_K", DType::q5_k},
    {14, "Q6_K", DType::q6_k},  {20, "IQ4_NL", DType::iq4_nl}, {23, "IQ4_XS", DType::iq4_xs}};

// Names of the types that heed does not read (ggml.h).
constexpr std::pair<std::uint32_t, const char*> other_types[] = {
    {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},
    {21, "IQ3_S"}, {22, "IQ2_S"}, {24, "I8"},      {25, "I16"},    {26, "I32"},     {27, "I64"},
    {28, "F64"},   {29, "IQ1_M"}, {34, "TQ1_0"},   {35, "TQ2_0"},  {39, "MXFP4"}};

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
  std::uint64_t count(std::size_t min_bytes) {
    const auto items = number<std::uint64_t>();
    if (items > (file_.size() - at()) / min_bytes)
      wrong("it ends before {} items that it announces. Is it truncated?", items);
    return items;
  }

  // Returns a value of metadata with this name.
  LargeJson value(std::string_view name, Type type) {
    if (type != Type::list) return value(type);
    const auto code = number<std::uint32_t>();
    if (code >= std::size(bytes_of)) wrong("'{}' is a list of items of the unknown type {}", excerpt(name), code);
    const auto of_items = static_cast<Type>(code);
    const std::uint64_t items = count(bytes_of[code]);
    const bool is_known = std::ranges::find(known_lists, name) != std::end(known_lists);
    if (is_known && items > longest_list)
      wrong("'{}' has {} items; heed reads up to {}", excerpt(name), items, longest_list);
    const std::uint64_t kept = is_known ? items : std::min(items, longest_beginning);
    LargeJson list = LargeJson::array();
    for (std::uint64_t i = 0; i < kept; ++i) list.push_back(value(of_items));
    if (of_items != Type::text) skip((items - kept) * bytes_of[code]);
    for (std::uint64_t i = kept; i < items && of_items == Type::text; ++i) skip(number<std::uint64_t>());
    return list;
  }

  template <class... T>
  [[noreturn]] void wrong(fmt::format_string<T...> format, T&&... values) const {
    fail("{}: not a GGUF file that heed reads, at byte {}: {}", path_, at(),
         fmt::format(format, std::forward<T>(values)...));
  }

 private:
  LargeJson value(Type type) {
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
    wrong("unknown type {} of a value", static_cast<std::uint32_t>(type));
  }

  void check_room(std::uint64_t bytes) const {
    if (bytes > file_.size() - at()) wrong("it ends before {} bytes that it announces. Is it truncated?", bytes);
  }

  void skip(std::uint64_t bytes) {
    check_room(bytes);
    if (bytes <= held_.size() - at_) {
      at_ += bytes;
      return;
    }
    begin_ = at() + bytes;
    at_ = 0;
    held_.clear();
  }

  std::string_view take(std::uint64_t bytes) {
    check_room(bytes);
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
    const auto* const other = std::ranges::find(other_types, code, &std::pair<std::uint32_t, const char*>::first);
    std::vector<std::string_view> known;
    for (const NumberType& one : number_types) known.emplace_back(one.name);
    reader.wrong("tensor '{}' has the type {}; heed reads {}. Take another file of this model, such as Q4_K_M or Q8_0",
                 excerpt(tensor.name), other == std::end(other_types) ? std::to_string(code) : other->second,
                 fmt::join(known, ", "));
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

struct Header {
  std::map<std::string, LargeJson> metadata;
  std::vector<StoredTensor> tensors;
  std::uint64_t data_begin = 0;
};

// Turns the lengths of tensors into ends. Error for a tensor outside the data, and for two that overlap.
void place(std::vector<StoredTensor>& tensors, std::uint64_t alignment, std::uint64_t room, const GgufReader& reader) {
  std::vector<const StoredTensor*> in_order;
  for (StoredTensor& tensor : tensors) {
    if (tensor.begin % alignment != 0 || tensor.begin > room || tensor.end > room - tensor.begin) {
      reader.wrong("tensor '{}' takes {} bytes from byte {} of the data on, which has {} bytes. Is it truncated?",
                   excerpt(tensor.name), tensor.end, tensor.begin, room);
    }
    tensor.end += tensor.begin;
    in_order.push_back(&tensor);
  }
  std::ranges::sort(in_order, {}, &StoredTensor::begin);
  for (std::size_t i = 1; i < in_order.size(); ++i) {
    if (in_order[i]->begin >= in_order[i - 1]->end) continue;
    reader.wrong("the tensors '{}' and '{}' overlap", excerpt(in_order[i - 1]->name), excerpt(in_order[i]->name));
  }
}

Header read_header(const OpenFile& file, const std::string& path) {
  GgufReader reader(file, path);
  if (file.size() >= 8 && is_lfs_pointer(file.read(0, 8))) fail("{}: {}", path, lfs_pointer);
  if (file.size() < 4 || file.read(0, 4) != "GGUF") fail("{}: not a GGUF file: it does not begin with GGUF", path);
  if (file.size() < 24) fail("{}: a GGUF file of {} bytes; is it truncated?", path, file.size());
  reader.number<std::uint32_t>();
  const auto version = reader.number<std::uint32_t>();
  if (version != 0 && (version & 0xffffU) == 0)
    reader.wrong("it is of a big-endian machine; heed reads little-endian files");
  if (version != 2 && version != 3) reader.wrong("version {}; heed reads 2 and 3", version);
  const std::uint64_t tensors = reader.count(smallest_tensor), values = reader.count(smallest_text);
  Header header;
  for (std::uint64_t i = 0; i < values; ++i) {
    const std::string name = reader.text();
    const auto type = static_cast<Type>(reader.number<std::uint32_t>());
    if (!header.metadata.emplace(name, reader.value(name, type)).second)
      reader.wrong("'{}' occurs twice", excerpt(name));
  }
  std::uint64_t alignment = 32;
  if (const auto found = header.metadata.find("general.alignment"); found != header.metadata.end()) {
    alignment = found->second.is_number_unsigned() ? found->second.get<std::uint64_t>() : 0;
  }
  if (alignment == 0 || alignment % 8 != 0 || alignment > 1 << 20)
    reader.wrong("general.alignment must be an unsigned multiple of 8, up to {}", 1 << 20);
  for (std::uint64_t i = 0; i < tensors; ++i) header.tensors.push_back(read_entry(reader, file.size()));
  header.data_begin = (reader.at() + alignment - 1) / alignment * alignment;
  place(header.tensors, alignment, file.size() > header.data_begin ? file.size() - header.data_begin : 0, reader);
  return header;
}

// The numbers by which the files of a model name each other.
struct NumberedNames {
  std::int64_t number = 0, count = 1;  // of this file, from 0; of all files
  std::int64_t tensors = -1;           // in all files; -1: unknown

  bool operator==(const NumberedNames&) const = default;
};

NumberedNames numbering_of(const std::map<std::string, LargeJson>& metadata, const std::string& path) {
  NumberedNames split;
  constexpr std::int64_t max_files = 99'999;  // five digits in their names
  for (const auto& [name, value, least, most] : {std::tuple{"split.no", &split.number, 0, max_files - 1},
                                                 {"split.count", &split.count, 0, max_files},
                                                 {"split.tensors.count", &split.tensors, 0, std::int64_t{1} << 31}}) {
    const auto found = metadata.find(name);
    if (found == metadata.end()) continue;
    const bool is_integer = found->second.is_number_integer();
    *value = is_integer ? found->second.get<std::int64_t>() : -1;
    if (*value < least || *value > most) {
      fail("{}: '{}' must be an integer from {} to {}, got {}", path, name, least, most,
           excerpt(format_json(Json(found->second))));
    }
  }
  return split;
}

// The end of the name of a part (from 1) of a model in several files, as llama.cpp writes it.
std::string part_ending(std::int64_t part, std::int64_t parts) {
  return fmt::format("-{:05}-of-{:05}.gguf", part, parts);
}

// Returns what the names of a model's files begin with, given the first. Throws Error for another file.
std::string beginning_of_names(const std::string& path, const NumberedNames& split) {
  const std::int64_t part = split.number + 1;
  const std::string ending = part_ending(part, split.count);
  if (!path.ends_with(ending)) {
    fail("{}: it is part {} of {} of a model, and its name must end with {}", path, part, split.count, ending);
  }
  const std::string beginning = path.substr(0, path.size() - ending.size());
  if (part == 1) return beginning;
  fail("{}: it is part {} of {} of a model; open the first part: {}{}", path, part, split.count, beginning,
       part_ending(1, split.count));
}

}  // namespace

GgufFile::GgufFile(const std::filesystem::path& file) {
  metadata_ = open(file);
  const NumberedNames split = numbering_of(metadata_, path());
  const std::string beginning = split.count > 1 ? beginning_of_names(path(), split) : "";
  NumberedNames expected = split;
  while (++expected.number < split.count) {
    const std::string other = beginning + part_ending(expected.number + 1, split.count);
    const auto metadata = open(other);
    const auto family = metadata.find("general.architecture");  // most programs write it to the first part only
    const bool is_of_family = family == metadata.end() || family->second == text("general.architecture");
    if (numbering_of(metadata, other) == expected && is_of_family) continue;
    fail("{}: expected part {} of {} of the model in {}", other, expected.number + 1, split.count, path());
  }
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (names.insert(tensors_[i].name).second) continue;
    fail("{}: tensor '{}' occurs twice", parts_[part_of_[i]].path, excerpt(tensors_[i].name));
  }
  if (split.count > 1 && split.tensors >= 0 && split.tensors != std::ssize(tensors_)) {
    fail("{}: expected {} in the {} files of the model, got {}", path(), counted(split.tensors, "tensor"), split.count,
         tensors_.size());
  }
}

std::map<std::string, LargeJson> GgufFile::open(const std::filesystem::path& path) {
  const Part& part = parts_.emplace_back(Part{path.string(), OpenFile(path), 0, {}});
  Header header = read_header(part.file, part.path);
  parts_.back().data_begin = header.data_begin;
  for (StoredTensor& tensor : header.tensors) {
    tensors_.push_back(std::move(tensor));
    part_of_.push_back(parts_.size() - 1);
  }
  return std::move(header.metadata);
}

std::string GgufFile::text(const std::string& name) const {
  const auto found = metadata_.find(name);
  return found != metadata_.end() && found->second.is_string() ? found->second.get<std::string>() : "";
}

Tensor GgufFile::read(const StoredTensor& stored) const {
  const Part& part = parts_[part_of_[index_of(stored)]];
  const auto bytes =
      std::make_shared<std::string>(part.file.read(part.data_begin + stored.begin, stored.end - stored.begin));
  return Tensor(stored.shape, stored.dtype, bytes->data(), bytes);
}

Tensor GgufFile::map(const StoredTensor& stored) {
  Part& part = parts_[part_of_[index_of(stored)]];
  if (!part.mapped) part.mapped.emplace(part.path);
  const MappedFile& mapped = *part.mapped;
  if (mapped.size() < part.data_begin + stored.end) fail("{}: it was cut while it was read; try again", part.path);
  return Tensor(stored.shape, stored.dtype, mapped.data() + part.data_begin + stored.begin, mapped.owner());
}

}  // namespace heed
