#include "autograd/half.h"
#include "files/digest.h"
#include "formats/internal/named_tensor.h"
#include "formats/internal/safetensors_header.h"
#include "tokenizers/internal/json.h"

#include <heed/files/utf8.h>
#include <heed/formats/safetensors.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace heed {
namespace {

constexpr const char* digest_key = "heed.digest";

constexpr std::size_t digest_digits = 16;

// Returns the position of `digits` in a header, as the value of heed.digest.
std::size_t digest_position(std::string_view header, std::string_view digits) {
  return header.find(digits, header.find(fmt::format("\"{}\"", digest_key)));
}

// Computes the digest of header and data, with the digest's own digits set to 0.
std::string digest_of(std::string_view header, std::string_view data) {
  return hexadecimal(xxh64(data, xxh64(header)));
}

// Returns the name of a tensor's type in a file, and the bytes of one number.
std::pair<const char*, int> type_of(const Tensor& tensor, StoredAs stored) {
  if (stored == StoredAs::F16) return {"F16", 2};
  if (stored == StoredAs::BF16) return {"BF16", 2};
  constexpr std::pair<const char*, int> types[] = {{"F32", 4}, {"F64", 8}, {"BF16", 2}, {"F16", 2}};
  return is_in_blocks(tensor.dtype()) ? types[0] : types[static_cast<std::size_t>(tensor.dtype())];
}

// Calls use(bytes) with a tensor's numbers as the file has them. Error for a finite number that would become infinite.
void with_bytes(const Tensor& tensor, StoredAs stored, const std::function<void(std::string_view)>& use) {
  const auto use_all = [&](const auto* numbers, std::size_t n) {
    use({reinterpret_cast<const char*>(numbers), n * sizeof *numbers});
  };
  const Tensor values = tensor.is_contiguous() && !is_in_blocks(tensor.dtype()) ? tensor : tensor.clone();
  const auto n = static_cast<std::size_t>(values.numel());
  if (stored == StoredAs::as_it_is) {
    dispatch_stored(values.dtype(), [&]<class T>() { use_all(values.data<T>(), n); });
    return;
  }
  const bool is_f16 = stored == StoredAs::F16;
  std::vector<std::uint16_t> halves(n);
  dispatch_stored(values.dtype(), [&]<class S>() {
    const S* from = values.data<S>();
    for (std::size_t i = 0; i < n; ++i) {
      const Widened<S> number = from[i];
      const float x = to_odd(static_cast<double>(number));
      halves[i] = is_f16 ? to_f16(x) : to_bf16(x);
      if ((halves[i] & 0x7fffU) != (is_f16 ? 0x7c00U : 0x7f80U) || std::isinf(number)) continue;
      fail("value {} (from 0) is {}, which {} cannot hold: its largest is {}; choose {}", i, number,
           type_of(tensor, stored).first, is_f16 ? "65504" : "3.3895e+38", is_f16 ? "BF16 or as_it_is" : "as_it_is");
    }
  });
  use_all(halves.data(), n);
}

// Whether there is a digest. A damaged name of one, which differs in a character, does not hide it.
bool check_digest(const std::map<std::string, std::string>& metadata, std::string_view bytes, std::string_view data,
                  const std::string& source) {
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
  std::string header(bytes);
  const std::size_t at = digest_position(bytes, digits);
  if (name == key && digits.size() == digest_digits && at != header.npos)
    header.replace(at, digest_digits, digest_digits, '0');
  if (digest_of(header, data) == digits) return true;
  fail(
      "{}: the file is damaged: its bytes do not match its digest. Was it changed by another program? Such a program "
      "must remove the metadata entry '{}'",
      source, digest_key);
}

}  // namespace

const Tensor& SafeTensors::operator[](const std::string& name) const& {
  return named_tensor(tensors, name, "safetensors: no tensor");
}

namespace {

// Throws Error for more names than the header may have. One key is reserved: the metadata's, or the digest's.
void check_count(const std::filesystem::path& path, const char* what, std::size_t count) {
  if (count < max_json_keys) return;
  fail("{}: expected at most {} {} in one file, got {}; use several files", path.string(), max_json_keys - 1, what,
       count);
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const SafeTensors& content, StoredAs stored) {
  check_count(path, "tensors", content.tensors.size());
  check_count(path, "entries of metadata", content.metadata.size());
  Json header = Json::object();
  const std::string no_digest(digest_digits, '0');
  header[safetensors_metadata_key] = content.metadata;
  header[safetensors_metadata_key][digest_key] = no_digest;
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : content.tensors) {
    if (name == safetensors_metadata_key || header.contains(name)) {
      fail("{}: tensor name '{}' is {}", path.string(), excerpt(name),
           name == safetensors_metadata_key ? "reserved" : "given twice");
    }
    const auto [type, size] = type_of(tensor, stored);
    const std::uint64_t begin = std::exchange(end, end + static_cast<std::uint64_t>(tensor.numel() * size));
    header[name] = {{"dtype", type},
                    {"shape", std::vector<std::int64_t>(tensor.shape().begin(), tensor.shape().end())},
                    {"data_offsets", {begin, end}}};
  }
  std::string text;
  try {
    text = format_json(header);
  } catch (const Error& error) {
    fail("{}: names and metadata {}", path.string(), error.what());
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begins at a multiple of 8
  if (text.size() > largest_safetensors_header) {
    fail("{}: names and metadata take {} bytes; expected at most {} in a header", path.string(), text.size(),
         largest_safetensors_header);
  }
  Xxh64 digest(xxh64(text));  // stands before the data, so each tensor is converted once for it and once to be written
  for (const auto& [name, tensor] : content.tensors) {
    try {
      with_bytes(tensor, stored, [&](std::string_view bytes) { digest.add(bytes); });
    } catch (const Error& error) {
      fail("{}: tensor '{}': {}", path.string(), excerpt(name), error.what());
    }
  }
  text.replace(digest_position(text, no_digest), digest_digits, hexadecimal(digest.value()));
  const std::uint64_t length = text.size();
  write_file(path, [&](const auto& write) {
    write({reinterpret_cast<const char*>(&length), sizeof length});
    write(text);
    for (const auto& [name, tensor] : content.tensors) with_bytes(tensor, stored, write);
  });
}

void write_safetensors(const std::filesystem::path& path, const Parameters& parameters, StoredAs stored) {
  write_safetensors(path, SafeTensors{{parameters.begin(), parameters.end()}, {}}, stored);
}

SafeTensors parse_safetensors(std::string_view bytes, const std::string& source) {
  const std::uint64_t length = safetensors_header_length(bytes, bytes.size(), source);
  const std::string_view header = bytes.substr(sizeof length, length), data = bytes.substr(sizeof length + length);
  SafeTensorsHeader parsed = parse_safetensors_header(header, data.size(), source);
  SafeTensors content;
  content.metadata = std::move(parsed.metadata);
  content.has_digest = check_digest(content.metadata, header, data, source);
  content.metadata.erase(digest_key);
  for (const StoredTensor& stored : parsed.tensors) {
    if (stored.type != "F32" && stored.type != "F64") {
      content.converted.push_back(
          fmt::format("{}: {} as {}", excerpt(stored.name), stored.type, to_string(stored.dtype)));
    }
    content.tensors.emplace_back(stored.name, widened(stored, data.data() + stored.begin));
  }
  return content;
}

SafeTensors read_safetensors(const std::filesystem::path& path) {
  return parse_safetensors(read_file(path), path.string());
}

SafeTensorsFile::SafeTensorsFile(const std::filesystem::path& path) : file_(path), path_(path) {
  const std::string source = path.string();
  std::uint64_t length = 0;
  const std::string first = file_.read(0, std::min<std::uint64_t>(sizeof length, file_.size()));
  length = safetensors_header_length(first, file_.size(), source);
  data_begin_ = sizeof length + length;
  SafeTensorsHeader header =
      parse_safetensors_header(file_.read(sizeof length, length), file_.size() - data_begin_, source);
  tensors_ = std::move(header.tensors);
  metadata_ = std::move(header.metadata);
}

Tensor SafeTensorsFile::read(const StoredTensor& tensor) const {
  return widened(tensor, file_.read(data_begin_ + tensor.begin, tensor.end - tensor.begin).data());
}

Tensor SafeTensorsFile::map(const StoredTensor& tensor) {
  const DType dtype = tensor.type == "BF16" ? DType::bfloat16 : tensor.type == "F16" ? DType::float16 : tensor.dtype;
  const bool is_number = dtype != tensor.dtype || tensor.type == "F32" || tensor.type == "F64";
  const std::uint64_t begin = data_begin_ + tensor.begin;
  if (!is_number || tensor.begin == tensor.end || begin % static_cast<std::uint64_t>(size_of(dtype)) != 0) {
    return read(tensor);
  }
  if (!mapped_) mapped_.emplace(path_);
  if (mapped_->size() < data_begin_ + tensor.end) {
    fail_truncated(path_, file_.size(), mapped_->size());
  }
  return Tensor(tensor.shape, dtype, mapped_->data() + begin, mapped_->owner());
}

}  // namespace heed
