#pragma once
#include "files/json.h"

#include <heed/files/file.h>
#include <heed/files/safetensors.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heed {

/// A GGUF file (github.com/ggml-org/ggml, docs/gguf.md), versions 2 and 3: metadata, a directory of tensors, and their numbers.
/// Tensors are read one by one, which takes the memory of one tensor.
class GgufFile {
 public:
  /// Reads metadata and directory. Throws `Error` with the path when the file is cut or damaged, or holds a tensor of a type
  /// that heed does not read.
  explicit GgufFile(const std::filesystem::path& path);

  const std::string& path() const { return path_; }
  /// Values by name: numbers, truth values, strings, and lists of them.
  const std::map<std::string, LargeJson>& metadata() const { return metadata_; }
  /// The directory. Shapes are those of NumPy: the contiguous axis comes last.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  /// Returns one of tensors() with the type that it has in the file, in memory of its own.
  Tensor read(const StoredTensor& tensor) const;
  /// Returns one of tensors() in the file's own memory, which MappedFile describes.
  Tensor map(const StoredTensor& tensor);

 private:
  std::string path_;
  OpenFile file_;
  std::optional<MappedFile> mapped_;  // once a tensor was mapped
  std::map<std::string, LargeJson> metadata_;
  std::vector<StoredTensor> tensors_;
  std::uint64_t data_begin_ = 0;
};

}  // namespace heed
