#pragma once
#include "tokenizers/internal/json.h"

#include <heed/files/file.h>
#include <heed/formats/safetensors.h>

#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heed {

/// A GGUF file (github.com/ggml-org/ggml, docs/gguf.md), versions 2 and 3: metadata, a directory of tensors, and their numbers;
/// or the files of a model that llama.cpp has split. Tensors are read one by one, which takes the memory of one tensor.
class GgufFile {
 public:
  /// Reads metadata and directory. `file` names the only file, or the first: NAME-00001-of-00003.gguf. Throws `Error` with the
  /// path when a file is missing, cut or damaged, or holds a tensor of a type that heed does not read.
  explicit GgufFile(const std::filesystem::path& file);

  const std::string& path() const { return parts_.front().path; }
  /// Values by name: numbers, truth values, strings, and lists of them. Lists that heed does not use are cut to their beginning.
  const std::map<std::string, LargeJson>& metadata() const { return metadata_; }
  /// Returns the value of a name that is a string; "" for another value or none.
  std::string text(const std::string& name) const;
  /// The directory. Shapes are those of NumPy: the contiguous axis comes last.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  /// Returns one of tensors() with the type that it has in the file, in memory of its own.
  Tensor read(const StoredTensor& tensor) const;
  /// Returns one of tensors() in the file's own memory, which MappedFile describes.
  Tensor map(const StoredTensor& tensor);

 private:
  struct Part {
    std::string path;
    OpenFile file;
    std::uint64_t data_begin;
    std::optional<MappedFile> mapped;  // once a tensor was mapped
  };
  // Appends a file and returns its metadata.
  std::map<std::string, LargeJson> open(const std::filesystem::path& path);
  std::size_t index_of(const StoredTensor& tensor) const { return static_cast<std::size_t>(&tensor - tensors_.data()); }

  std::deque<Part> parts_;
  std::map<std::string, LargeJson> metadata_;  // of the first part
  std::vector<StoredTensor> tensors_;          // of all parts
  std::vector<std::size_t> part_of_;           // the number of each tensor's part
};

}  // namespace heed
