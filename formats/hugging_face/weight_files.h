#pragma once
#include <heed/formats/safetensors.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace heed {

/// The tensors of a directory: those of model.safetensors, or those of the shards that model.safetensors.index.json names; or
/// the tensors of a file in another format.
class WeightFiles {
 public:
  struct Entry {
    StoredTensor stored;
    std::string path;  // of its file
    std::size_t file;  // its number
  };

  /// With `mapped`, read() returns tensors in the files' own memory (SafeTensorsFile::map()). Throws `Error` when there is
  /// no such file, and when the index does not describe its shards or names a file elsewhere.
  WeightFiles(const std::filesystem::path& directory, bool mapped);

  /// Takes tensors with the function that reads one.
  WeightFiles(std::vector<Entry> entries, std::function<Tensor(const Entry&)> read)
      : entries_(std::move(entries)), read_(std::move(read)) {}

  const std::vector<Entry>& entries() const { return entries_; }
  Tensor read(const Entry& entry);
  double elements() const;  // of all tensors together

 private:
  void add(const std::filesystem::path& file);
  void unwrap();  // removes what wrapper_length() counts from all names
  bool mapped_ = false;
  std::vector<SafeTensorsFile> files_;
  std::vector<Entry> entries_;
  std::function<Tensor(const Entry&)> read_;  // empty for a directory
};

}  // namespace heed
