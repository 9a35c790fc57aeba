#pragma once
#include <heed/files/safetensors.h>

#include <filesystem>
#include <string>
#include <vector>

namespace heed {

/// The tensors of a directory: those of model.safetensors, or those of the shards that model.safetensors.index.json names.
class WeightFiles {
 public:
  /// Throws `Error` when there is no such file, and when the index does not describe its shards or names a file elsewhere.
  explicit WeightFiles(const std::filesystem::path& directory);

  struct Entry {
    StoredTensor stored;
    std::string path;  // of its file
    std::size_t file;  // its number
  };
  const std::vector<Entry>& entries() const { return entries_; }
  Tensor read(const Entry& entry) const { return files_[entry.file].read(entry.stored); }
  double elements() const;  // of all tensors together

 private:
  void add(const std::filesystem::path& file);
  std::vector<SafeTensorsFile> files_;
  std::vector<Entry> entries_;
};

}  // namespace heed
