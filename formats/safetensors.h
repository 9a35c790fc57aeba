#pragma once
#include <heed/autograd/tensor.h>
#include <heed/files/file.h>
#include <heed/files/mapped_file.h>
#include <heed/nn/parameters.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed {

/// The content of a safetensors file (github.com/huggingface/safetensors, "Format"): 8 bytes of little-endian header
/// length, a JSON header, and the tensors' bytes. `tensors` keeps the order of the file. heed adds a digest of header
/// and data (files/digest.h) as the metadata entry `heed.digest`, and checks it when present. `metadata` does not
/// include it.
struct SafeTensors {
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::map<std::string, std::string> metadata;  ///< __metadata__: strings by name
  bool has_digest = false;                      ///< the file had a digest, and it matched
  /// Tensors whose type changed during the read, for display: "position_ids: I64 as float64".
  std::vector<std::string> converted = {};

  /// Returns the tensor with this name. Throws Error that suggests the most similar name.
  const Tensor& operator[](const std::string& name) const&;
  Tensor operator[](const std::string& name) && { return std::as_const(*this)[name]; }  ///< of a temporary: a handle
};

/// One tensor as a file has it.
struct StoredTensor {
  std::string name;
  Shape shape;
  DType dtype;               ///< that it is read as
  std::string type;          ///< that it has in the file: "BF16"
  std::uint64_t begin, end;  ///< bytes of the file's data
};

/// How numbers are written: as they are, F32 or F64; or rounded to 16 bits, to the nearest, of two the even one.
enum class StoredAs { as_it_is, F16, BF16 };

/// Writes the file atomically, as write_file() does. The same content gives the same bytes. Throws Error before writing
/// anything when names are too many or too long for read_safetensors() (19,999 tensors, a header of 100 MB), and for a
/// finite number that would become infinite as F16 (at most 65504) or BF16.
void write_safetensors(const std::filesystem::path& path, const SafeTensors& content,
                       StoredAs stored = StoredAs::as_it_is);
/// Writes all parameters and buffers, as torch.save(model.state_dict(), path) does.
void write_safetensors(const std::filesystem::path& path, const Parameters& parameters,
                       StoredAs stored = StoredAs::as_it_is);

/// Reads F32 as float32 and F64 as float64. F16, BF16, U8 and BOOL become float32; I32 and I64 become float64 (integers
/// beyond 2^53 are rounded). Throws Error with the file's name and the reason (truncated, overlapping or out-of-range
/// offsets, unknown dtype, ...).
///
///     model.parameters.load(read_safetensors(path).tensors, path.string());  // matrices (in, out); PyTorch's are (out, in)
SafeTensors read_safetensors(const std::filesystem::path& path);
SafeTensors parse_safetensors(std::string_view bytes, const std::string& source);  ///< source: named in errors

/// Reads single tensors from a file of any size, which takes the memory of one tensor. heed's digest is not checked.
///
///     const SafeTensorsFile file("model.safetensors");
///     for (const StoredTensor& stored : file.tensors()) parameters[stored.name].copy_from(file.read(stored));
class SafeTensorsFile {
 public:
  /// Reads the header. Throws `Error` as read_safetensors() does.
  explicit SafeTensorsFile(const std::filesystem::path& path);
  const std::vector<StoredTensor>& tensors() const& { return tensors_; }             ///< in the order of the file
  const std::map<std::string, std::string>& metadata() const& { return metadata_; }  ///< __metadata__, with any digest
  std::vector<StoredTensor> tensors() && { return std::move(tensors_); }  ///< of a temporary: their list itself
  std::map<std::string, std::string> metadata() && { return std::move(metadata_); }  ///< of a temporary: its own
  /// Returns the values of one of tensors(), converted as read_safetensors() does. Throws `Error` when the file was cut.
  Tensor read(const StoredTensor& tensor) const;
  /// Returns one of tensors() in the file's own memory, which MappedFile describes: F32, F64, F16 and BF16 as float32,
  /// float64, float16 and bfloat16. Other types, and numbers that are not aligned, are read.
  Tensor map(const StoredTensor& tensor);

 private:
  OpenFile file_;
  std::filesystem::path path_;
  std::optional<MappedFile> mapped_;  // once a tensor was mapped
  std::uint64_t data_begin_ = 0;
  std::vector<StoredTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace heed
