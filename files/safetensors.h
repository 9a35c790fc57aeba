#pragma once
#include <heed/autograd/tensor.h>
#include <heed/files/file.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed {

// A safetensors file (github.com/huggingface/safetensors, "Format"): 8 bytes little-endian header length, a
// JSON header, the tensors' bytes. Order of `tensors` is kept. What is written has
// a digest (files/digest.h) of header and data in the metadata, as `heed.digest`, which is checked where a file has one
// and is not part of `metadata`.
struct SafeTensors {
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::map<std::string, std::string> metadata;  // __metadata__: strings by name
  bool has_digest = false;                      // it was read from a file with a digest, which agreed
  // What was read as another type than it has in the file, for whoever shows it: "position_ids: I64 as float64".
  std::vector<std::string> converted = {};

  const Tensor& operator[](const std::string& name) const;  // Error naming the nearest when missing
};

/// One tensor as a file has it.
struct StoredTensor {
  std::string name;
  Shape shape;
  DType dtype;               // that it is read as
  std::string type;          // that it has in the file: "BF16"
  std::uint64_t begin, end;  // bytes of the file's data
};

/// How numbers are written: as they are, F32 or F64; or rounded to 16 bits, to the nearest, of two the even one.
enum class StoredAs { as_it_is, F16, BF16 };

/// Writes the file whole or not at all, as write_file() does. The same content gives the same bytes. Throws Error, before
/// anything is written, for more names or longer ones than read_safetensors() takes (19,999 tensors, a header of 100 MB),
/// and for a finite number that F16 (at most 65504) or BF16 would make infinite.
void write_safetensors(const std::filesystem::path& path, const SafeTensors& content,
                       StoredAs stored = StoredAs::as_it_is);

// F32 is read as float32 and F64 as float64; F16, BF16, U8 and BOOL become float32, I32 and I64 float64 (integers beyond 2^53
// are rounded). Error naming the file and what is wrong with it (cut, overlapping or out-of-range offsets, unknown dtype,
// ...).
//
//   model.parameters.load(read_safetensors(path).tensors, path.string());  // matrices (in, out); PyTorch's are (out, in)
SafeTensors read_safetensors(const std::filesystem::path& path);
SafeTensors parse_safetensors(std::string_view bytes, const std::string& source);  // source: named in errors

/// Reads tensors one by one from a file of any size, which takes the memory of one tensor. heed's digest is not checked.
///
///   const SafeTensorsFile file("model.safetensors");
///   for (const StoredTensor& stored : file.tensors()) parameters[stored.name].copy_from(file.read(stored));
class SafeTensorsFile {
 public:
  /// Reads the header. Throws `Error` as read_safetensors() does.
  explicit SafeTensorsFile(const std::filesystem::path& path);
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  /// Returns the values of one of tensors(), converted as read_safetensors() does. Throws `Error` when the file was cut.
  Tensor read(const StoredTensor& tensor) const;

 private:
  OpenFile file_;
  std::uint64_t data_begin_ = 0;
  std::vector<StoredTensor> tensors_;
};

}  // namespace heed
